/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dsm.pml for more ranks than there are bits: the first and the last of three share one, among the
 * waiters and among the copies.
 */
#define N      3
#define GROUPS 2
#include "dsm.pml"
