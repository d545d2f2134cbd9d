/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checker (RHINET_DSM_CHECK=on): finds accesses to shared memory that is not held, data races,
 * memory that is bound twice, and variables that go to and fro. Called by the public calls only;
 * what the library does itself goes through another mapping of the same memory (rh_dsm.heap) and is
 * never in its way.
 *
 * It handles a signal, SIGSEGV, which beside it only shared pages do (page/faults.h), and only
 * while it is on: the address is looked up, a line is written, and then the handler that was there
 * before has its turn.
 */
#pragma once

#include "dsm/dsm.h"

/* All ranks together. */
int dsm_check_open(struct rh_dsm *dsm);
/* Reports, with all ranks that live, then frees. */
void dsm_check_close(struct rh_dsm *dsm);

/* The variable is held from now on, or not any more; is_write as acquired. */
void dsm_check_hold(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write);
void dsm_check_drop(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_write);

/* Its regions are new; it is between drop and hold. */
void dsm_check_bound(struct rh_dsm *dsm, rh_dsm_variable variable);

/* What this rank has done happened before what they do who are signalled. */
void dsm_check_signal(struct rh_dsm *dsm, rh_dsm_variable variable);
/* The barrier of all ranks, which orders what they do. */
int dsm_check_barrier(struct rh_dsm *dsm, int64_t timeout_ns);
