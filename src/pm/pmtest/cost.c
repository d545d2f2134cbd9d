/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a message costs its receiver, by number of senders.
 *
 * This must not measure how two cores share hundreds of processes. So a round has two parts: the
 * senders, on another core than the receiver, each send their share, for which there is room; when
 * all have, the receiver takes everything with the clock running. What it pays for is finding the
 * messages, moving their lines here and giving the places back. Rounds with two senders and rounds
 * with many alternate, so that the ratio holds though the machine changes.
 */
#include "pm/pmtest/pmtest.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>

#define LENGTH    8
#define FEW       2   /* senders, with which more of them are compared */
#define SHARE_MAX 60  /* messages of one sender in a round: below what a ring holds */
#define TOTAL_MAX 256 /* of all: what a queue holds */
#define FIRST     16  /* are not timed: the receiver comes from a wait, its caches are cold */

/* The receiver has the first of our cores for itself. */
static void choose_core(const struct pmtest *test)
{
    cpu_set_t ours, wanted;
    CPU_ZERO(&wanted);
    if (sched_getaffinity(0, sizeof(ours), &ours) < 0 || CPU_COUNT(&ours) < 2)
        return;
    int first = 0;
    while (!CPU_ISSET(first, &ours))
        first++;
    if (test->rank == 0) {
        CPU_SET(first, &wanted);
    } else {
        wanted = ours;
        CPU_CLR(first, &wanted);
    }
    (void)sched_setaffinity(0, sizeof(wanted), &wanted); /* without it figures are only noisier */
}

static unsigned share_of(unsigned sender_count)
{
    unsigned share = TOTAL_MAX / sender_count;
    return share < SHARE_MAX ? share : SHARE_MAX;
}

static int send_share(struct pmtest *test, struct pm_context *pm, unsigned share)
{
    int result = 0;
    for (unsigned i = 0; i < share && result == 0; i++)
        result = pmtest_send(pm, 0, LENGTH);
    return result < 0 ? result : pmtest_add(test, offsetof(struct pmtest_words, sent));
}

static int follow(struct pmtest *test, struct pm_context *pm, unsigned share)
{
    int result = pmtest_await(test, &test->words->round, test->trips + 1);
    test->trips = __atomic_load_n(&test->words->round, __ATOMIC_ACQUIRE);
    return result < 0 ? result : send_share(test, pm, share);
}

static int be_sender(struct pmtest *test, struct pm_context *pm, unsigned sender_count)
{
    int result = 0;
    for (unsigned i = 0; i < test->options->rounds && result == 0; i++) {
        if (test->rank <= FEW)
            result = follow(test, pm, share_of(FEW));
        if (result == 0)
            result = follow(test, pm, share_of(sender_count));
    }
    return result;
}

static int receive_round(struct pmtest *test, struct pm_context *pm, unsigned sender_count,
                         double *ns)
{
    unsigned share = share_of(sender_count);
    uint64_t sent = test->words->sent + sender_count;
    uint64_t round = ++test->trips;
    int result = 0;
    for (unsigned i = 1; i <= sender_count && result == 0; i++)
        result = pmtest_tell(test, (int)i, offsetof(struct pmtest_words, round), round);
    if (result == 0)
        result = pmtest_await(test, &test->words->sent, sent);
    for (unsigned i = 0; i < FIRST && result == 0; i++)
        result = pmtest_take(pm, LENGTH);
    unsigned timed = share * sender_count - FIRST;
    int64_t start_ns = pmtest_now_ns(test);
    for (unsigned i = 0; i < timed && result == 0; i++)
        result = pmtest_take(pm, LENGTH);
    *ns = (double)(pmtest_now_ns(test) - start_ns) / timed;
    return result;
}

static int be_receiver(struct pmtest *test, struct pm_context *pm, unsigned sender_count)
{
    static double ns[PMTEST_ROUNDS_MAX], few_ns[PMTEST_ROUNDS_MAX];
    unsigned rounds = test->options->rounds;
    struct pm_info info = {.struct_size = sizeof(info)};
    for (unsigned i = 0; i < rounds; i++) {
        int result = receive_round(test, pm, FEW, &few_ns[i]);
        if (result == 0)
            result = receive_round(test, pm, sender_count, &ns[i]);
        if (result < 0)
            return result;
    }
    pmGetInfo(pm, &info);
    struct pmtest_figure figure = {.test = "cost",
                                   .pm = info.implementation,
                                   .unit = "ns a message",
                                   .amount_name = "senders",
                                   .amount = sender_count,
                                   .value = pmtest_median(ns, rounds),
                                   .raw = pmtest_median(few_ns, rounds)};
    pmtest_note(test, &figure);
    return 0;
}

static int measure(struct pmtest *test, struct pm_context *pm, unsigned sender_count)
{
    int result = 0;
    if (test->rank == 0)
        result = be_receiver(test, pm, sender_count);
    else if ((unsigned)test->rank <= sender_count)
        result = be_sender(test, pm, sender_count);
    return result < 0 ? result : pmtest_meet(test);
}

/* Contexts of its own: senders that need no memory for receiving can be many. */
static int measure_pm(struct pmtest *test, const char *name)
{
    struct pm_context *pm;
    struct pm_options options = {.struct_size = sizeof(options),
                                 .implementation = name,
                                 .flags = test->rank == 0 ? 0 : PM_SEND_ONLY};
    unsigned most = (unsigned)test->size - 1;
    int result = pmtest_meet(test); /* the last one's contexts are closed */
    if (result == 0)
        result = pmOpenContext(&pm, test->job, &options);
    if (result < 0)
        return result;
    for (unsigned senders = FEW; result == 0; senders *= 2) {
        result = measure(test, pm, senders < most ? senders : most);
        if (senders >= most)
            break;
    }
    int closed = pmCloseContext(pm);
    return result < 0 ? result : closed;
}

int pmtest_cost(struct pmtest *test)
{
    int result = 0;
    if (test->size <= FEW) {
        fprintf(stderr, "pmtest: the test cost needs %d ranks\n", FEW + 1);
        return RH_EINVALID;
    }
    choose_core(test);
    test->trips = 0;
    for (unsigned i = 0; i < test->options->pm_count && result == 0; i++)
        result = measure_pm(test, test->options->pm[i]);
    return result < 0 ? result : pmtest_meet(test);
}
