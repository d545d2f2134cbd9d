/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See doubt.h. While nothing is in doubt, which is nearly always, all of this costs one load.
 */
#include "dsm/doubt.h"

#include <pthread.h>
#include <stdlib.h>

struct doubt {
    struct doubt *next;
    struct rh_remote word;
    struct nic_atomic_operands operands;
    struct nic_ticket ticket;
    bool is_known; /* what it gave: */
    uint64_t old;
};

struct dsm_doubts {
    pthread_mutex_t lock; /* also held while one is settled: others must know how that ends */
    _Atomic unsigned count;
    struct doubt *first;
};

int dsm_doubts_open(struct rh_dsm *dsm)
{
    dsm->doubts = calloc(1, sizeof(*dsm->doubts));
    if (!dsm->doubts)
        return error_no_memory("shared memory");
    pthread_mutex_init(&dsm->doubts->lock, NULL);
    return 0;
}

void dsm_doubts_close(struct rh_dsm *dsm)
{
    struct dsm_doubts *doubts = dsm->doubts;
    while (doubts && doubts->first) {
        struct doubt *doubt = doubts->first;
        doubts->first = doubt->next;
        free(doubt);
    }
    if (doubts)
        pthread_mutex_destroy(&doubts->lock);
    free(doubts);
}

static bool is_same(const struct nic_atomic_operands *a, const struct nic_atomic_operands *b)
{
    return a->operation == b->operation && a->operand == b->operand &&
           (a->operation != NIC_COMPARE_SWAP || a->expected == b->expected);
}

/* ---- Under the lock ------------------------------------------------------------------------- */

static struct doubt **find(struct dsm_doubts *doubts, struct rh_remote word)
{
    struct doubt **link = &doubts->first;
    while (*link && ((*link)->word.rank != word.rank || (*link)->word.offset != word.offset))
        link = &(*link)->next;
    return link;
}

static void forget(struct dsm_doubts *doubts, struct doubt **link)
{
    struct doubt *doubt = *link;
    *link = doubt->next;
    atomic_fetch_sub(&doubts->count, 1);
    free(doubt);
}

/* Go on with one. 0: it is known, and stands at *link while it matters. */
static int settle(struct rh_dsm *dsm, struct doubt **link)
{
    struct doubt *doubt = *link;
    int result = 0;
    if (!doubt->is_known) {
        doubt->operands.ticket = &doubt->ticket;
        doubt->ticket.deadline_ns = rma_deadline_ns(dsm->job, RH_TIMEOUT_DEFAULT);
        result = rma_atomic(dsm->job, doubt->word, &doubt->operands, &doubt->old);
    }
    if (result == RH_ETIMEOUT && doubt->ticket.is_open)
        return result;
    doubt->is_known = true;
    bool is_swap_if = doubt->operands.operation == NIC_COMPARE_SWAP;
    bool has_failed = is_swap_if && doubt->old != doubt->operands.expected;
    if (result < 0 || has_failed || doubt->operands.operation == NIC_FETCH_OR)
        forget(dsm->doubts, link); /* nothing was done, or it does not matter how often */
    return 0;
}

/* Settle what is in doubt about a word. 1: this is the result of the wanted operation. */
static int settle_for(struct rh_dsm *dsm, struct rh_remote word,
                      const struct nic_atomic_operands *wanted, uint64_t *old)
{
    struct doubt **link = find(dsm->doubts, word);
    if (!*link)
        return 0;
    int result = settle(dsm, link);
    link = find(dsm->doubts, word);
    if (result < 0 || !*link)
        return result;
    bool is_result = is_same(&(*link)->operands, wanted);
    if (!is_result && (*link)->operands.operation == NIC_COMPARE_SWAP)
        forget(dsm->doubts, link); /* the word goes on: it says nothing of a later one */
    if (!is_result)
        return 0;
    *old = (*link)->old;
    forget(dsm->doubts, link);
    return 1;
}

static void keep(struct dsm_doubts *doubts, struct rh_remote word,
                 const struct nic_atomic_operands *operands, const struct nic_ticket *ticket)
{
    struct doubt *doubt = malloc(sizeof(*doubt));
    if (!doubt)
        return; /* it happens at most once in any case */
    *doubt = (struct doubt){
        .next = doubts->first, .word = word, .operands = *operands, .ticket = *ticket};
    doubts->first = doubt;
    atomic_fetch_add(&doubts->count, 1);
}

/* ---- The operations ------------------------------------------------------------------------- */

static bool has_doubts(const struct rh_dsm *dsm)
{
    return unlikely(atomic_load(&dsm->doubts->count) > 0);
}

int dsm_doubt_atomic(struct rh_dsm *dsm, struct rh_remote word,
                     const struct nic_atomic_operands *operands, uint64_t *old)
{
    struct nic_ticket ticket = {.deadline_ns = rma_deadline_ns(dsm->job, RH_TIMEOUT_DEFAULT)};
    struct nic_atomic_operands asked = *operands;
    int result = 0;
    asked.ticket = &ticket;
    if (has_doubts(dsm)) {
        pthread_mutex_lock(&dsm->doubts->lock);
        result = settle_for(dsm, word, operands, old);
        pthread_mutex_unlock(&dsm->doubts->lock);
        if (result != 0)
            return result < 0 ? result : 0;
    }
    do
        result = rma_atomic(dsm->job, word, &asked, old);
    while (result == RH_ETIMEOUT && ticket.is_open && rh_clock_ns(dsm->job) < ticket.deadline_ns);
    if (result == RH_ETIMEOUT && ticket.is_open) {
        pthread_mutex_lock(&dsm->doubts->lock);
        keep(dsm->doubts, word, operands, &ticket);
        pthread_mutex_unlock(&dsm->doubts->lock);
    }
    return result;
}
