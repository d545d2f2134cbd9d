/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random programs with several threads per rank: pages_workers SEED COUNT [deaths].
 *
 * Workers lock at random and add one to every cell of the lock, which must all have been the same;
 * cells lie scattered over pages, among those of other locks. Meanwhile the first thread of each
 * rank writes bytes of its own and meets the others at barriers, after which all see them; a few
 * pages are written by one rank nearly alone, so that their homes move.
 *
 * With `deaths` a rank is killed at a moment of chance. Everybody else ends soon: by being told, or
 * by a fault that cannot be satisfied.
 */
#include "pages_member.h"

#include <pthread.h>
#include <stdatomic.h>

#define SHARED  12u /* pages that all write */
#define LONELY  4u  /* pages that nearly only one rank writes */
#define WORKERS 2
#define LOCKS   6u
#define CELLS   16u
#define ROUNDS  10
#define BYTES   64u /* per page, of the first threads; above the cells */

struct program {
    struct pages_member *me;
    uint64_t seed;
    bool has_deaths;
    _Atomic bool is_over;
};

struct worker {
    struct program *program;
    pthread_t thread;
    uint64_t random;
};

static volatile unsigned char *cell(const struct program *program, uint32_t lock, size_t number)
{
    size_t i = lock * CELLS + number;
    size_t page = lock == LOCKS - 1 ? SHARED + i % LONELY : i * 7 % SHARED;
    return (unsigned char *)program->me->base + page * PAGE + i * 523 % (PAGE - BYTES * 2);
}

static volatile unsigned char *byte_of(const struct program *program, size_t page, int rank)
{
    return (unsigned char *)program->me->base + page * PAGE + (PAGE - BYTES) + rank;
}

static bool is_bereft(const struct program *program)
{
    const struct pages_member *me = program->me;
    for (int rank = 0; rank < me->size && program->has_deaths; rank++)
        if (rh_peer_state(me->member.job, rank) >= RH_PEER_LEFT)
            return true;
    return false;
}

/* Whether to go on. Only a death is an excuse. */
static bool is_well(const struct program *program, int result, const char *what)
{
    if (result == 0)
        return true;
    if (result != RH_EDEAD || !is_bereft(program))
        MEMBER_FAIL(&program->me->member, "seed %llu: %s: %d", (unsigned long long)program->seed,
                    what, result);
    return false;
}

static bool is_right(const struct program *program, unsigned got, unsigned expected, uint32_t what)
{
    if (got == expected)
        return true;
    member_sleep_us(program->has_deaths ? 300000 : 0); /* until a death is known */
    if (!is_bereft(program))
        MEMBER_FAIL(&program->me->member, "seed %llu: %u instead of %u (%u)",
                    (unsigned long long)program->seed, got, expected, what);
    return false;
}

static bool add_one(struct program *program, uint32_t lock, bool for_reading)
{
    struct pages_member *me = program->me;
    if (!is_well(program,
                 rh_dsm_pages_lock(me->pages, lock, for_reading ? RH_DSM_READ : RH_DSM_WRITE,
                                   RH_TIMEOUT_DEFAULT),
                 "lock"))
        return false;
    unsigned char value = *cell(program, lock, 0);
    bool goes_on = true;
    for (size_t i = 0; i < CELLS && goes_on; i++) {
        goes_on = is_right(program, *cell(program, lock, i), value, lock);
        if (goes_on && !for_reading)
            *cell(program, lock, i) = (unsigned char)(value + 1);
    }
    /* also after a death in the middle of it: others wait for the lock */
    return is_well(program, rh_dsm_pages_unlock(me->pages, lock), "unlock") && goes_on;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct program *program = worker->program;
    bool goes_on = true;
    while (goes_on && !atomic_load(&program->is_over)) {
        uint64_t dice = member_next(&worker->random);
        uint32_t lock = dice % 16 == 0 ? LOCKS - 1 : (uint32_t)(dice >> 8) % (LOCKS - 1);
        goes_on = add_one(program, lock, (dice >> 24) % 4 == 0);
        if ((dice >> 32) % 8 == 0)
            member_sleep_us((unsigned)(dice >> 40) % 500);
    }
    return NULL;
}

static bool meet(struct program *program)
{
    int result = rh_dsm_pages_barrier(program->me->pages, RH_TIMEOUT_DEFAULT);
    return is_well(program, result, "barrier");
}

/* Own bytes are written, all bytes are compared; nobody writes them between the two barriers. */
static bool one_round(struct program *program, int round)
{
    struct pages_member *me = program->me;
    int lonely = (int)(program->seed % (unsigned)me->size);
    for (size_t page = 0; page < SHARED + LONELY; page++)
        if (page < SHARED || me->rank == lonely)
            *byte_of(program, page, me->rank) = (unsigned char)(round + (int)page);
    if (!meet(program))
        return false;
    for (size_t page = 0; page < SHARED + LONELY; page++)
        for (int rank = 0; rank < me->size; rank++)
            if ((page < SHARED || rank == lonely) &&
                !is_right(program, *byte_of(program, page, rank),
                          (unsigned char)(round + (int)page), LOCKS))
                return false;
    return meet(program);
}

static void run(uint64_t seed, struct pages_member *me, bool has_deaths)
{
    struct program program = {.me = me, .seed = seed, .has_deaths = has_deaths};
    struct worker workers[WORKERS];
    struct rh_dsm_pages_options options = {.struct_size = sizeof(options),
                                           .length = (uint64_t)(SHARED + LONELY) * PAGE,
                                           .home = (enum rh_dsm_home)(seed % 2),
                                           .lock_count = LOCKS};
    MEMBER_OK(&me->member, rh_dsm_pages_open(&me->pages, me->dsm, &options));
    me->base = rh_dsm_pages_base(me->pages);
    if (has_deaths && me->rank == (int)(seed / 2 % (unsigned)me->size))
        member_die_soon(&me->member, 60000);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){
            .program = &program, .random = member_mix(seed << 16 | (unsigned)(me->rank * 8 + i))};
        MEMBER_OK(&me->member, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    bool goes_on = true;
    for (int round = 1; goes_on && (round <= ROUNDS || has_deaths); round++)
        goes_on = one_round(&program, round);
    atomic_store(&program.is_over, true);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    for (uint32_t lock = 0; goes_on && lock < LOCKS; lock++)
        goes_on = add_one(&program, lock, false);
    if (has_deaths) {
        printf("ok %d\n", me->rank);
        fflush(stdout);
        _exit(0);
    }
    MEMBER_OK(&me->member, rh_dsm_pages_close(me->pages));
}

int main(int count, char **arguments)
{
    if (count < 3)
        return 2;
    uint64_t seed = strtoull(arguments[1], NULL, 0), runs = strtoull(arguments[2], NULL, 0);
    struct rh_dsm_options dsm = {.struct_size = sizeof(dsm), .heap_length = 1 << 20};
    struct pages_member me = {0};
    member_start(&me.member, seed);
    me.rank = me.member.rank;
    me.size = me.member.size;
    dsm.msg = me.member.msg;
    MEMBER_OK(&me.member, rh_dsm_open(&me.dsm, me.member.job, &dsm));
    for (uint64_t i = 0; i < runs; i++)
        run(seed + i, &me, count > 3);
    MEMBER_OK(&me.member, rh_dsm_close(me.dsm));
    member_end(&me.member);
    return 0;
}
