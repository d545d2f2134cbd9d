/* SPDX-License-Identifier: BSD-3-Clause
 *
 * After rh_flush() what was written lies in the other rank's memory, whoever looks. Over the
 * network nobody sees the difference, since packets stay in order; here all ranks are fibers of one
 * process, and the writer itself looks into the other's memory the moment the flush returns.
 */
#include "check.h"
#include "simulation.h"

#include <rhinet/msg.h>
#include <stdio.h>

#define SID         3u
#define ROUNDS      40
#define PATIENCE_NS RH_MILLISECONDS(400)

static uint64_t *words[2]; /* rank -> its segment */

static uint64_t seen(int rank)
{
    return __atomic_load_n(words[rank], __ATOMIC_ACQUIRE);
}

/* Writes by each of the ways that do not wait, then flushes. */
static int rounds_run(struct rh_job *job, int other)
{
    int early = 0;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        CHECK_OK(rh_push_inline(job, rh_at(other, SID, 0), &i, sizeof(i)));
        early += seen(other) != i; /* else this test would notice nothing */
        CHECK_OK(rh_flush(job, i % 2 ? other : RH_ANY_RANK));
        if (seen(other) != i)
            FAIL("round %d: rank %d has %d after the flush", (int)i, other, (int)seen(other));
    }
    return early;
}

struct flush {
    struct check checks[2];
    int early; /* writes that were not there before the flush */
};

struct member {
    struct rh_job *job;
    struct flush *flush;
};

static void live(void *argument)
{
    struct member *member = argument;
    struct rh_msg *msg;
    struct rh_set *all;
    struct rh_set_spec spec = {
        .struct_size = sizeof(spec), .id = 1, .ranks = (int[]){0, 1}, .rank_count = 2};
    void *base;
    int rank = rh_rank(member->job);
    CHECK_OK(rh_segment_alloc(member->job, SID, 64, &base));
    words[rank] = base;
    CHECK_OK(rh_msg_open(&msg, member->job));
    CHECK_OK(rh_set_create(msg, &spec, &all));
    CHECK_OK(rh_barrier(all, PATIENCE_NS));
    if (rank == 0)
        member->flush->early = rounds_run(member->job, 1);
    CHECK_OK(rh_barrier(all, PATIENCE_NS));
    CHECK_OK(rh_set_destroy(all));
    CHECK_OK(rh_msg_close(msg));
}

static int rank_main(struct rh_job *job, void *context)
{
    struct flush *flush = context;
    struct member member = {job, flush};
    return check_run(&flush->checks[rh_rank(job)], live, &member) == CHECK_PASSED ? 0 : RH_ECORRUPT;
}

int main(void)
{
    static struct flush flush;
    struct simulated_report report;
    struct simulation_options options = {
        .size = 2, .seed = 1, .rank_main = rank_main, .context = &flush};
    int result = simulation_run(&options, &report);
    for (int rank = 0; rank < 2 && result != 0; rank++)
        printf("rank %d: %s\n", rank, flush.checks[rank].text);
    if (result == 0 && flush.early == 0)
        printf("every write was there before its flush: this test notices nothing\n");
    return result == 0 && flush.early > 0 ? 0 : 1;
}
