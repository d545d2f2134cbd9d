/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A long message at one go: the receiver pulls it out of the sender's memory.
 */
#include "msg/rendezvous/parts.h"

/* The sender gives the memory another message once it has heard that this one is here, and it may
 * have heard although we do not know it: what was pulled is not pulled again. */
int pull_message(struct mail *mail, struct rh_request *receive)
{
    const struct rts *rts = &receive->in.rts;
    size_t part = rts->length < receive->length ? rts->length : receive->length;
    if (receive->in.is_pulled)
        return receive->in.pull_result;
    int result = rh_pull(mail->job, rh_at(receive->status.source, rts->pull_sid, 0),
                         receive->buffer, part);
    if (is_for_later(result))
        return RH_EAGAIN;
    receive->in.is_pulled = true;
    receive->in.pull_result = result;
    return result;
}
