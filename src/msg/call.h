/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the public calls of send and receive share: request.c has it.
 */
#pragma once

#include "msg/mail.h"

int call_send_refuse(const struct mail *mail, int rank, int tag);
int call_receive_refuse(const struct mail *mail, int rank, int tag);

static inline int call_send_check(const struct mail *mail, int rank, int tag)
{
    if (likely((unsigned)rank < (unsigned)mail->size && tag >= 0))
        return 0;
    return call_send_refuse(mail, rank, tag);
}

static inline int call_receive_check(const struct mail *mail, int rank, int tag)
{
    bool rank_is_valid = rank == RH_ANY_RANK || (unsigned)rank < (unsigned)mail->size;
    if (likely(rank_is_valid && (tag >= 0 || tag == RH_ANY_TAG)))
        return 0;
    return call_receive_refuse(mail, rank, tag);
}

/* Why a request failed, said in the thread that asks, not in the one that found out. */
int call_explain(const struct rh_request *request);

static inline int call_result(const struct rh_request *request)
{
    return likely(request->result == 0) ? 0 : call_explain(request);
}

/* Waits for a request of ours on the stack; it is over in any case when this returns. */
int call_finish(struct rh_request *request);
