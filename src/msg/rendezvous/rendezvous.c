/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Long messages as the rest of the mailbox sees them: opening, news from the other end, progress.
 */
#include "msg/rendezvous/parts.h"

#include <string.h>

int rendezvous_open(struct mail *mail)
{
    mail->rendezvous = calloc(1, sizeof(*mail->rendezvous));
    return mail->rendezvous ? 0 : error_no_memory("a mailbox");
}

void rendezvous_close(struct mail *mail)
{
    receive_close(mail);
    name_close(mail);
    if (mail->rendezvous->memory)
        rh_segment_detach(mail->job, MSG_SID_BLOCKS);
    free(mail->rendezvous);
}

bool rendezvous_control(struct mail *mail, int source, enum slot_kind kind, const void *data)
{
    struct cts cts;
    uint64_t send_id;
    if (kind == SLOT_CTS) {
        memcpy(&cts, data, sizeof(cts));
        return send_cts_take(mail, source, &cts);
    }
    memcpy(&send_id, data, sizeof(send_id));
    switch (kind) {
    case SLOT_WITHDRAW:
        return receive_withdraw_take(mail, source, send_id);
    case SLOT_WITHDRAW_ACK:
        name_take_ack(mail, source, send_id);
        return true;
    case SLOT_HOLD:
        return receive_hold_take(mail, source, send_id);
    case SLOT_HELD:
        return send_held_take(mail, source, send_id);
    case SLOT_LET_GO:
        receive_let_go_take(mail, source, send_id);
        return true;
    default: /* messages */
        return true;
    }
}

void rendezvous_progress(struct mail *mail)
{
    ASSERT(turn_is_taken(&mail->turn));
    send_progress(mail);
    receive_progress(mail);
    if (unlikely(mail->rendezvous->withdraw_count > 0))
        name_progress(mail);
}

static uint64_t moved(enum way way, uint64_t chunk, const struct both_ends *both_ends)
{
    return way == WAY_RING ? chunk * STREAM_BLOCK : both_ends_moved(both_ends);
}

uint64_t rendezvous_moved(const struct rh_request *request)
{
    const struct send_part *out = &request->out;
    const struct stream *stream = request->in.stream;
    if (request->state != STATE_UNDERWAY)
        return 0;
    if (request->is_send)
        return out->has_cts ? moved(out->way, out->ring.chunk, &out->both_ends) : 0;
    return stream ? moved(stream->way, stream->chunk, &stream->both_ends) : 0;
}

void rendezvous_gone_end(struct mail *mail)
{
    receive_gone_end(mail);
    send_gone_end(mail);
    name_gone_end(mail);
}
