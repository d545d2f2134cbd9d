/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A barrier for tests, made of nothing but an 8-byte notified push and a wait on a word, so that it
 * works on a NIC of which little else works. Every rank tells every other how far it is; nobody
 * passes before it has heard from all. A rank that gives up calls the meeting off, and the others
 * learn it at once instead of waiting for their deadline.
 */
#pragma once

#include <rhinet/rma.h>

#define MEETING_SID       0xC0FFEE00u
#define MEETING_RANKS_MAX 64

struct meeting {
    struct rh_job *job;
    uint64_t *heard; /* one word per rank, written by that rank */
    uint64_t round;
    bool is_gone[MEETING_RANKS_MAX]; /* ranks that are not expected any more */
};

/* Collective. Errors: RH_EINVALID (too many ranks), and those of segments. */
int meeting_open(struct meeting *meeting, struct rh_job *job);
void meeting_close(struct meeting *meeting);

/* Wait for all ranks that are not gone. Errors: RH_ETIMEOUT, RH_EDEAD, RH_ECANCELED: some rank
 * called the meeting off; rh_error_rank() may not name it, *missing does. */
int meeting_hold(struct meeting *meeting, int64_t timeout_ns, int *missing);

/* Begin another series: a meeting called off in an earlier one counts no more. All ranks must
 * agree on the number, which only grows. */
void meeting_begin_series(struct meeting *meeting, uint32_t series);

/* Tell the others not to wait for us in this series. */
void meeting_call_off(struct meeting *meeting);
