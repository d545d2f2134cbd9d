/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening and closing a mailbox: the memory that peers write, and what we know of each peer.
 */
#include "base/settings.h"
#include "msg/match.h"
#include "msg/rendezvous/rendezvous.h"

#include <stdlib.h>

static size_t returns_length(int size)
{
    return sizeof(struct returns) + (size_t)size * sizeof(((struct returns *)0)->peer[0]);
}

static int open_memory(struct mail *mail)
{
    struct rh_job *job = mail->job;
    struct rh_queue_shape shape = {.slot_count = INBOX_SLOTS,
                                   .slot_length = INBOX_LENGTH + sizeof(struct slot_head)};
    int result = rh_segment_alloc(job, MSG_SID_LANES, sizeof(struct lanes), (void **)&mail->lanes);
    if (result < 0)
        return result;
    result = rh_segment_alloc(job, MSG_SID_RETURNS, returns_length(mail->size),
                              (void **)&mail->returns);
    if (result < 0)
        goto close_lanes;
    /* Last, because peers take its presence for "the mailbox is open". */
    result = rh_queue_create(job, MSG_SID_INBOX, shape, &mail->inbox);
    if (result < 0)
        goto close_returns;
    return 0;
close_returns:
    rh_segment_detach(job, MSG_SID_RETURNS);
close_lanes:
    rh_segment_detach(job, MSG_SID_LANES);
    return result;
}

static int mail_open(struct rh_msg *msg)
{
    struct rh_job *job = msg->job;
    struct mail *mail = calloc(1, sizeof(*mail));
    struct peer *peer = calloc((size_t)rh_size(job), sizeof(*peer));
    if (!mail || !peer) {
        free(mail);
        free(peer);
        return error_no_memory("a mailbox");
    }
    turn_init(&mail->turn);
    mail->msg = msg;
    mail->job = job;
    mail->counters = rma_counters(job);
    mail->is_crowded = rma_is_crowded(job);
    mail->deaths = rma_deaths(job);
    mail->joins = rma_joins(job);
    mail->rank = rh_rank(job);
    mail->size = rh_size(job);
    mail->way = (enum way)setting_number(rma_settings(job), SETTING_MSG_WAY);
    mail->peer = peer;
    mail->unexpected_end = &mail->unexpected_first;
    for (int rank = 0; rank < mail->size; rank++)
        peer[rank].lane = peer[rank].lane_in = -1;
    for (int lane = 0; lane < LANE_COUNT; lane++)
        mail->lane_in[lane].source = -1;
    int result = rendezvous_open(mail);
    if (result < 0)
        goto free_mail;
    result = open_memory(mail);
    if (result < 0)
        goto close_rendezvous;
    msg->mail = mail;
    return 0;
close_rendezvous:
    rendezvous_close(mail);
free_mail:
    free(mail);
    free(peer);
    return result;
}

static void mail_close(struct rh_msg *msg)
{
    struct mail *mail = msg->mail;
    wire_close(mail);
    rh_queue_destroy(mail->inbox);
    rh_segment_detach(mail->job, MSG_SID_LANES);
    rh_segment_detach(mail->job, MSG_SID_RETURNS);
    rendezvous_close(mail);
    match_close(mail);
    parcels_close(mail);
    free(mail->peer);
    free(mail);
}

static void close_all(struct rh_msg *msg)
{
    rma_mailbox_keep(msg->job, NULL, NULL);
    mail_close(msg);
    sets_close(msg);
    locks_close(msg);
    free(msg);
}

/* The program leaves the job. A mailbox that it has not closed goes with the job's memory, since
 * its requests may still be looked at. */
static void close_ours(void *state)
{
    struct rh_msg *msg = state;
    if (!msg->is_lent)
        close_all(msg);
}

int mailbox_open(struct rh_msg **msg, struct rh_job *job)
{
    struct rh_msg *made = calloc(1, sizeof(*made));
    if (!made)
        return error_no_memory("a mailbox");
    made->job = job;
    int result = locks_open(made);
    if (result < 0)
        goto free_made;
    result = sets_open(made);
    if (result < 0)
        goto close_locks;
    result = mail_open(made);
    if (result < 0)
        goto close_sets;
    rma_mailbox_keep(job, made, close_ours);
    *msg = made;
    return 0;
close_sets:
    sets_close(made);
close_locks:
    locks_close(made);
free_made:
    free(made);
    return result;
}

int rh_msg_open(struct rh_msg **msg, struct rh_job *job)
{
    struct rh_msg *kept = rma_mailbox(job);
    if (kept && kept->is_lent)
        return error_fail(RH_EEXIST, "the mailbox of this job is open already");
    int result = kept ? 0 : mailbox_open(&kept, job);
    if (result < 0)
        return result;
    kept->is_lent = true;
    *msg = kept;
    return 0;
}

int rh_msg_close(struct rh_msg *msg)
{
    if (msg->all)
        msg->is_lent = false; /* rh_barrier_all() needs it as long as the job */
    else
        close_all(msg);
    return 0;
}
