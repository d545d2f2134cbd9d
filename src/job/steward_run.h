/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of a steward; steward.c starts it. Private to these two.
 */
#ifndef JOB_STEWARD_RUN_H
#define JOB_STEWARD_RUN_H

#include "job/steward.h"

#include <stdnoreturn.h>

#define STEWARD_PROOF_BYTES 32

/* What shows that a caller belongs to the job, and as which rank. */
void steward_proof(const struct cluster *cluster, int rank, uint8_t proof[STEWARD_PROOF_BYTES]);

/* Says "+" and its addresses, or "-" and what went wrong, on report_fd; then serves until the job
 * is over, as far as this host goes. */
noreturn void steward_run(const struct steward_plan *plan, int report_fd);

#endif
