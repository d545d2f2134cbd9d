/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lock.pml with a request that times out and may still happen; nobody dies.
 */
#define DEATHS 0
#define DOUBTS 1
#include "lock.pml"
