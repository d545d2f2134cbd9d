/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network fails when a new owner pulls the data, although the former one lives: the acquire
 * fails, the variable is the former owner's again, and no count is lost. dsm-give-back SEED.
 */
#include "../msg/member.h"
#include "dsm/bulk.h"

#define ROUNDS 300
#define LOSSES 3 /* one pull in so many fails */

static struct member member;
static struct rh_dsm *dsm;
static uint64_t *counter;
static bool is_broken; /* each pull fails; else some do, by chance */
static bool is_sound;

static int pull_or_fail(const struct dsm_move *move)
{
    if (is_broken || (!is_sound && member_next(&member.random) % LOSSES == 0))
        return error_set(RH_ETIMEOUT, move->rank, "the test has lost it");
    return dsm_bulk_rdma.pull(move);
}

static void meet(void)
{
    MEMBER_OK(&member, rh_dsm_barrier(dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
}

static int add_one(void)
{
    int result = rh_dsm_acquire(dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT);
    if (result < 0)
        return result;
    ++*counter;
    MEMBER_OK(&member, rh_dsm_release(dsm, 0));
    return 0;
}

/* Rank 0 owns it, free or held, when rank 1 fails to get it. Returns how often it was counted. */
static uint64_t fail_once(bool is_held)
{
    is_sound = true;
    if (member.rank == 0)
        MEMBER_OK(&member, rh_dsm_acquire(dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
    if (member.rank == 0 && !is_held)
        MEMBER_OK(&member, rh_dsm_release(dsm, 0));
    meet();
    if (member.rank == 0 && is_held) {
        member_sleep_us(5000);
        MEMBER_OK(&member, rh_dsm_release(dsm, 0));
    }
    is_broken = member.rank == 1;
    if (is_broken)
        MEMBER_CODE(&member, add_one(), RH_ETIMEOUT);
    is_broken = false;
    meet();
    MEMBER_OK(&member, add_one());
    meet();
    return 1;
}

static uint64_t fail_by_chance(void)
{
    uint64_t done = 0;
    is_sound = false;
    for (int i = 0; i < ROUNDS; i++) {
        int result = add_one();
        if (result != RH_ETIMEOUT)
            MEMBER_OK(&member, result);
        done += result == 0;
    }
    is_sound = true;
    meet();
    return done;
}

/* All that was counted is there, and the data can still be had. */
static void compare(uint64_t done)
{
    uint64_t *all = calloc((size_t)member.size, sizeof(*all)), sum = 0;
    MEMBER_CHECK(&member, all != NULL);
    MEMBER_OK(&member, rh_gather(dsm->set, 0, &done, all, sizeof(done)));
    for (int rank = 0; rank < member.size; rank++)
        sum += all[rank];
    MEMBER_OK(&member, rh_dsm_acquire(dsm, 0, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    if (member.rank == 0 && *counter != sum)
        MEMBER_FAIL(&member, "counted %llu, found %llu", (unsigned long long)sum,
                    (unsigned long long)*counter);
    MEMBER_OK(&member, rh_dsm_release(dsm, 0));
    free(all);
}

static void open_counter(void)
{
    uint64_t offset;
    struct rh_dsm_options options = {.struct_size = sizeof(options),
                                     .heap_length = 1 << 20,
                                     .variable_count = 1,
                                     .msg = member.msg};
    MEMBER_OK(&member, rh_dsm_open(&dsm, member.job, &options));
    MEMBER_OK(&member, rh_dsm_alloc_named(dsm, 0, 4096, &offset));
    counter = rh_dsm_ptr(dsm, offset);
    struct rh_dsm_region region = {.offset = offset, .length = 4096};
    if (member.rank == 0) {
        MEMBER_OK(&member, rh_dsm_acquire(dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        MEMBER_OK(&member, rh_dsm_bind(dsm, 0, &region, 1));
        *counter = 0;
        MEMBER_OK(&member, rh_dsm_release(dsm, 0));
    }
    meet();
}

int main(int count, char **arguments)
{
    static struct dsm_bulk_ops bulk;
    if (count != 2)
        return 2;
    member_start(&member, strtoull(arguments[1], NULL, 10));
    open_counter();
    bulk = dsm_bulk_rdma;
    bulk.pull = pull_or_fail;
    dsm->bulk = &bulk;
    compare(fail_once(false) + fail_once(true) + fail_by_chance());
    MEMBER_OK(&member, rh_dsm_close(dsm));
    member_end(&member);
    return 0;
}
