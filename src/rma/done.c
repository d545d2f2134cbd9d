/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Done flags: waiting for an operation that was started, looking, and giving it up.
 */
#include "rma/rma.h"

static int done_result(const struct rh_done *done)
{
    int64_t state = __atomic_load_n(&done->state, __ATOMIC_ACQUIRE);
    return state < 0 ? (int)state : 0;
}

int rh_wait_done(struct rh_job *job, struct rh_done *done, int64_t timeout_ns)
{
    struct nic_wait request = {
        .done = done, .from = done->rank, .timeout_ns = rma_timeout_ns(job, timeout_ns)};
    if (!rma_rank_is_valid(job, done->rank))
        return rma_refuse_rank(job, done->rank);
    counter_add(job->counters, COUNTER_WAIT, 1);
    int result = job->nic->ops->wait(job->nic, &request);
    return result < 0 ? result : done_result(done);
}

int rh_test_done(struct rh_job *job, struct rh_done *done)
{
    struct nic_wait request = {.done = done, .from = done->rank, .timeout_ns = 0};
    if (!rma_rank_is_valid(job, done->rank))
        return rma_refuse_rank(job, done->rank);
    int result = job->nic->ops->wait(job->nic, &request);
    return result < 0 ? result : done_result(done);
}

int rh_withdraw(struct rh_job *job, struct rh_done *done)
{
    if (!rma_rank_is_valid(job, done->rank))
        return rma_refuse_rank(job, done->rank);
    job->nic->ops->withdraw(job->nic, done);
    if (__atomic_load_n(&done->state, __ATOMIC_ACQUIRE) == 0) /* pairs with whoever sets it */
        done->state = error_set(RH_ECANCELED, done->rank, "a transfer with rank %d was withdrawn",
                                done->rank);
    return done_result(done);
}
