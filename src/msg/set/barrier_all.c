/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The set of all ranks, and a barrier over it, for programs that need nothing else: mailbox and set
 * come along with the first call and stay as long as the job.
 */
#include "msg/set/set.h"

/* Threads that come here at once, though only one of them may: let one open the mailbox. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static int open_all(struct rh_job *job, struct rh_set **all)
{
    struct rh_msg *msg = rma_mailbox(job);
    int result = msg ? 0 : mailbox_open(&msg, job);
    if (result == 0 && !msg->all)
        result = set_create_all(msg, SET_ID_BARRIER, &msg->all);
    *all = result == 0 ? msg->all : NULL;
    return result;
}

int rh_set_all(struct rh_job *job, struct rh_set **set)
{
    struct rh_set *all;
    if (rma_is_open(job))
        return error_fail(RH_EUNSUP,
                          "rh_barrier_all: an open job has no \"all ranks\", since more may come; "
                          "make a set of those that are meant");
    pthread_mutex_lock(&opening);
    int result = open_all(job, &all);
    pthread_mutex_unlock(&opening);
    if (result == 0)
        *set = all;
    return result;
}

int rh_barrier_all(struct rh_job *job)
{
    struct rh_set *all;
    int result = rh_set_all(job, &all);
    return result < 0 ? result : rh_barrier(all, RH_TIMEOUT_DEFAULT);
}
