/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dsm.pml for two ranks, of which the first has two threads. The mutants are those of dsm.pml that
 * threads of one rank must not hurt.
 */
#define N     2
#define EXTRA 1
#include "dsm.pml"
