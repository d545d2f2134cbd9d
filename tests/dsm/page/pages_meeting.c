/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barriers of shared pages that meet something: other threads of the same rank, ranks that come
 * late, pages that move just now. pages_meeting CASE SEED; each rank that is content prints
 * "ok RANK".
 *
 * Longer than most files: cases that share the ranks' threads and their meetings.
 */
#include "pages_member.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#define SOON_US 200000
#define MOVING  16u

static struct rh_set *plain; /* of all ranks; its barrier does nothing to pages */

static void start(struct pages_member *me, size_t pages, enum rh_dsm_home home)
{
    struct rh_dsm_pages_options options = {.length = pages * PAGE, .home = home};
    struct rh_set_spec all = {.struct_size = sizeof(all), .id = 7};
    pages_member_start(me, 1, &options);
    MEMBER_OK(&me->member, rh_set_create(me->member.msg, &all, &plain));
}

static void end(struct pages_member *me)
{
    pages_member_barrier(me);
    MEMBER_OK(&me->member, rh_set_destroy(plain));
    pages_member_end(me);
}

static void plain_barrier(struct pages_member *me)
{
    MEMBER_OK(&me->member, rh_barrier(plain, RH_TIMEOUT_DEFAULT));
}

static volatile char *byte(struct pages_member *me, size_t page, size_t offset)
{
    return me->base + page * PAGE + offset;
}

/* Rank 1 alone writes these pages, of which rank 0 is the home: they move at the next barrier. */
static void wear_in(struct pages_member *me, size_t pages)
{
    for (int round = 1; round <= 4; round++) { /* the first one makes it known to its home */
        for (size_t page = 0; page < pages && me->rank == 1; page++)
            *byte(me, page, 0) = (char)round;
        plain_barrier(me); /* not before its home knows */
        pages_member_barrier(me);
    }
    MEMBER_CHECK(&me->member, rh_dsm_pages_home(me->pages, me->base) == 0);
}

static void check_moved(struct pages_member *me)
{
    MEMBER_CHECK(&me->member, rh_dsm_pages_home(me->pages, me->base) == 1);
}

struct second {
    struct pages_member *me;
    pthread_t thread;
    _Atomic int step;
};

static void second_start(struct second *second, void *(*work)(void *))
{
    MEMBER_OK(&second->me->member, pthread_create(&second->thread, NULL, work, second));
}

static void await_step(struct second *second, int step)
{
    while (atomic_load(&second->step) < step)
        member_sleep_us(1000);
}

/* ---- A thread of the old home writes while its barrier waits --------------------------------- */

static void *write_late(void *argument)
{
    struct second *second = argument;
    pages_member_lock(second->me, 0);
    atomic_store(&second->step, 1);
    member_sleep_us(SOON_US); /* the barrier waits for rank 1 by now */
    *byte(second->me, 0, 99) = 'w';
    await_step(second, 2); /* over: the page has moved */
    pages_member_unlock(second->me, 0);
    return NULL;
}

static void parting(struct pages_member *me)
{
    start(me, 3, RH_DSM_HOME_BLOCK);
    wear_in(me, 1);
    struct second second = {.me = me};
    char before = *byte(me, 0, 99); /* everybody has a copy, which nothing but a notice drops */
    MEMBER_CHECK(&me->member, before == 0);
    plain_barrier(me);
    if (me->rank == 0) {
        second_start(&second, write_late);
        await_step(&second, 1);
    }
    if (me->rank == 1)
        member_sleep_us(2 * SOON_US);
    pages_member_barrier(me);
    check_moved(me);
    atomic_store(&second.step, 2);
    pages_member_lock(me, 0);
    MEMBER_CHECK(&me->member, *byte(me, 0, 99) == 'w');
    pages_member_unlock(me, 0);
    if (me->rank == 0)
        pthread_join(second.thread, NULL);
    end(me);
}

/* ---- A thread unlocks what a late rank waits for, while its barrier waits for that rank ----- */

static void *unlock_late(void *argument)
{
    struct second *second = argument;
    pages_member_lock(second->me, 0);
    atomic_store(&second->step, 1);
    member_sleep_us(SOON_US);
    *byte(second->me, 0, 5) = 'u';
    pages_member_unlock(second->me, 0);
    return NULL;
}

static void unlocking(struct pages_member *me)
{
    start(me, 3, RH_DSM_HOME_BLOCK);
    struct second second = {.me = me};
    if (me->rank == 0) {
        second_start(&second, unlock_late);
        await_step(&second, 1);
    }
    plain_barrier(me); /* rank 0 has the lock */
    if (me->rank > 0) {
        pages_member_lock(me, 0);
        MEMBER_CHECK(&me->member, *byte(me, 0, 5) == 'u');
        pages_member_unlock(me, 0);
    }
    pages_member_barrier(me);
    if (me->rank == 0)
        pthread_join(second.thread, NULL);
    end(me);
}

/* ---- A third rank wants a page that its new home does not have yet -------------------------- */

/* Rank 1 pulls slowly (RHINET_FAULT), so that it is long in taking the pages over. */
static void *read_on(void *argument)
{
    struct second *second = argument;
    struct pages_member *me = second->me;
    for (size_t page = MOVING; page-- > 0;) {
        member_sleep_us(30000);
        if (*byte(me, page, 99) != 'z')
            MEMBER_FAIL(&me->member, "page %zu is an old one", page);
    }
    return NULL;
}

static void following(struct pages_member *me)
{
    start(me, 3 * MOVING, RH_DSM_HOME_BLOCK);
    wear_in(me, MOVING);
    if (me->rank == 0) {
        pages_member_lock(me, 0);
        for (size_t page = 0; page < MOVING; page++)
            *byte(me, page, 99) = 'z';
        pages_member_unlock(me, 0);
    }
    plain_barrier(me);
    struct second second = {.me = me};
    if (me->rank == 2) {
        pages_member_lock(me, 0); /* so that 'z' is to be seen, barrier or not */
        second_start(&second, read_on);
    }
    pages_member_barrier(me);
    if (me->rank == 2) {
        pthread_join(second.thread, NULL);
        pages_member_unlock(me, 0);
    }
    check_moved(me);
    end(me);
}

/* ---- Time-outs ------------------------------------------------------------------------------ */

/* Rank 1 comes only when the others have given up, and then all go on with the same barrier. */
static void lateness(struct pages_member *me)
{
    start(me, 3, RH_DSM_HOME_BLOCK);
    wear_in(me, 1); /* the page moves at the barrier that takes long */
    *byte(me, 0, 10 + (size_t)me->rank) = 'l';
    if (me->rank != 1) {
        MEMBER_CODE(&me->member, rh_dsm_pages_barrier(me->pages, 20000000), RH_ETIMEOUT);
        MEMBER_CODE(&me->member, rh_dsm_pages_barrier(me->pages, 0), RH_ETIMEOUT);
        pages_member_lock(me, 0); /* nobody is kept from anything else meanwhile */
        *byte(me, 0, 20 + (size_t)me->rank) = 'm';
        pages_member_unlock(me, 0);
    }
    plain_barrier(me);
    pages_member_barrier(me);
    for (size_t rank = 0; rank < (size_t)me->size; rank++)
        MEMBER_CHECK(&me->member, *byte(me, 0, 10 + rank) == 'l');
    check_moved(me);
    pages_member_barrier(me);
    for (size_t rank = 0; rank < (size_t)me->size; rank++)
        MEMBER_CHECK(&me->member, rank == 1 || *byte(me, 0, 20 + rank) == 'm');
    end(me);
}

/* A rank that comes no more: close ends all the same. */
static void closing(struct pages_member *me)
{
    start(me, 3, RH_DSM_HOME_BLOCK);
    if (me->rank == 0)
        MEMBER_CODE(&me->member, rh_dsm_pages_barrier(me->pages, 1000000), RH_ETIMEOUT);
    plain_barrier(me);
    if (me->rank != 0)
        pages_member_barrier(me);
    MEMBER_OK(&me->member, rh_set_destroy(plain));
    pages_member_end(me);
}

/* ---- Writing while another thread releases -------------------------------------------------- */

#define RACES 400

static void *release_on(void *argument)
{
    struct second *second = argument;
    while (atomic_load(&second->step) == 0) {
        pages_member_lock(second->me, 1);
        pages_member_unlock(second->me, 1);
    }
    return NULL;
}

/* Whenever a write happens, before a release sees the page, while it does, or after: it is sent
 * with this one or with the next. */
static void racing(struct pages_member *me)
{
    start(me, 8, RH_DSM_HOME_BLOCK);
    struct second second = {.me = me};
    if (me->rank == 1)
        second_start(&second, release_on);
    for (int round = 1; round <= RACES; round++) {
        for (size_t i = 0; i < 64 && me->rank == 1; i++)
            *byte(me, i % 4, i) = (char)(round + (int)i);
        if (me->rank == 1) {
            pages_member_lock(me, 0);
            pages_member_unlock(me, 0);
        }
        plain_barrier(me);
        pages_member_lock(me, 0);
        for (size_t i = 0; i < 64; i++)
            MEMBER_CHECK(&me->member, *byte(me, i % 4, i) == (char)(round + (int)i));
        pages_member_unlock(me, 0);
        plain_barrier(me);
    }
    atomic_store(&second.step, 1);
    if (me->rank == 1)
        pthread_join(second.thread, NULL);
    end(me);
}

/* ---- Logs ----------------------------------------------------------------------------------- */

/* A lock says how far a log has to be read, and there stands something newer by now: whoever reads
 * it must not take that for what it looked for. */
static void overtaken(struct pages_member *me)
{
    start(me, 64, RH_DSM_HOME_BLOCK);
    for (size_t page = 0; page < 32; page++)
        MEMBER_CHECK(&me->member, *byte(me, page, 0) == 0);
    plain_barrier(me);
    if (me->rank == 0) {
        pages_member_lock(me, 0);
        *byte(me, 5, 0) = 'o';
        pages_member_unlock(me, 0);
        for (unsigned i = 0; i < 4200; i++) {
            pages_member_lock(me, 1);
            *byte(me, 10, i % PAGE) += 1;
            *byte(me, 12, i % PAGE) += 1;
            pages_member_unlock(me, 1);
        }
    }
    plain_barrier(me);
    if (me->rank == 1) { /* nobody has had this lock since: it says how far the log was then */
        pages_member_lock(me, 0);
        MEMBER_CHECK(&me->member, *byte(me, 5, 0) == 'o');
        pages_member_unlock(me, 0);
    }
    end(me);
}

/* The same when the log has come round so often that places look alike in 20 bits. */
static void lapped(struct pages_member *me)
{
    start(me, 128, RH_DSM_HOME_BLOCK);
    for (size_t page = 0; page < 64; page++)
        MEMBER_CHECK(&me->member, *byte(me, page, 0) == 0);
    plain_barrier(me);
    if (me->rank == 0) {
        pages_member_lock(me, 0);
        *byte(me, 5, 0) = 'o';
        pages_member_unlock(me, 0);
        uint64_t noted = pages_member_stat(me).noted_pages;
        for (unsigned i = 0; i < (1u << 20) / 16; i++) {
            pages_member_lock(me, 1);
            for (size_t page = 10; page < 42; page += 2)
                *byte(me, page, 0) = (char)i;
            pages_member_unlock(me, 1);
        }
        MEMBER_CHECK(&me->member, pages_member_stat(me).noted_pages == noted + (1u << 20));
    }
    plain_barrier(me);
    if (me->rank == 1) { /* nobody has had this lock since: it says how far the log was then */
        pages_member_lock(me, 0);
        MEMBER_CHECK(&me->member, *byte(me, 5, 0) == 'o');
        pages_member_unlock(me, 0);
    }
    end(me);
}

/* ---- Homes that die ------------------------------------------------------------------------- */

static void await_death(struct pages_member *me, int rank)
{
    while (rh_peer_state(me->member.job, rank) < RH_PEER_DIED)
        member_sleep_us(1000);
    rh_deaths_acknowledge(me->member.job);
}

/* The set of all ranks but one, which has none. */
static struct rh_set *without(struct pages_member *me, int victim)
{
    int living[8];
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 8, .ranks = living};
    struct rh_set *set = NULL;
    for (int rank = 0; rank < me->size; rank++)
        if (rank != victim)
            living[spec.rank_count++] = rank;
    if (me->rank != victim)
        MEMBER_OK(&me->member, rh_set_create(me->member.msg, &spec, &set));
    return set;
}

static void check_dead(struct pages_member *me, int result)
{
    MEMBER_CODE(&me->member, result, RH_EDEAD);
    MEMBER_CHECK(&me->member, rh_error_rank() == 1);
}

/* Rank 0 has written a page of every rank when rank 1 dies: it is told, again and again, and what
 * it wrote to the pages of others is not lost. */
static void bereft(struct pages_member *me)
{
    start(me, 8, RH_DSM_HOME_BLOCK);
    struct rh_set *survivors = without(me, 1);
    for (size_t page = 0; page < 8; page++)
        MEMBER_CHECK(&me->member, *byte(me, page, 7) == 0);
    pages_member_barrier(me);
    if (me->rank == 0) {
        pages_member_lock(me, 0);
        for (size_t page = 0; page < 8; page++)
            *byte(me, page, 7) = 'b';
    }
    plain_barrier(me);
    if (me->rank == 1)
        raise(SIGALRM);
    await_death(me, 1);
    if (me->rank == 0) {
        check_dead(me, rh_dsm_pages_unlock(me->pages, 0));
    } else { /* of which one is a home, and the other has a copy */
        pages_member_lock(me, 0);
        MEMBER_CHECK(&me->member, *byte(me, 4, 7) == 'b');
        pages_member_unlock(me, 0);
    }
    for (int turn = 0; turn < 3 && me->rank == 0; turn++) {
        pages_member_lock(me, 0);
        *byte(me, 4, 8) += 1;
        if (turn < 2)
            check_dead(me, rh_dsm_pages_unlock(me->pages, 0));
        else /* which leaves the lock open, too */
            check_dead(me, rh_dsm_pages_wait(me->pages, 0, 1000000));
    }
    pages_member_lock(me, 0);
    rh_dsm_pages_unlock(me->pages, 0); /* rank 0 is told once more */
    check_dead(me, rh_dsm_pages_barrier(me->pages, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(&me->member, rh_barrier(survivors, RH_TIMEOUT_DEFAULT));
    printf("ok %d\n", me->rank);
    fflush(stdout);
    _exit(0);
}

/* Dies as soon as it knows that the first page moves to rank 1, which is long in taking it over. */
static void *die_moving(void *argument)
{
    struct second *second = argument;
    while (rh_dsm_pages_home(second->me->pages, second->me->base) != 1)
        member_sleep_us(1000);
    raise(SIGALRM);
    return NULL;
}

/* A rank dies while homes move: nobody goes on with pages of which nobody knows who has them. */
static void lost(struct pages_member *me)
{
    start(me, 3 * MOVING, RH_DSM_HOME_BLOCK);
    struct rh_set *survivors = without(me, 2);
    wear_in(me, MOVING);
    struct second second = {.me = me};
    if (me->rank == 2)
        second_start(&second, die_moving);
    MEMBER_CODE(&me->member, rh_dsm_pages_barrier(me->pages, RH_TIMEOUT_DEFAULT), RH_EDEAD);
    MEMBER_CHECK(&me->member, rh_error_rank() == 2);
    await_death(me, 2);
    MEMBER_CODE(&me->member, rh_dsm_pages_lock(me->pages, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT),
                RH_EDEAD);
    MEMBER_CHECK(&me->member, strstr(rh_error_text(), "changed their homes") != NULL);
    MEMBER_CODE(&me->member, rh_dsm_pages_barrier(me->pages, RH_TIMEOUT_DEFAULT), RH_EDEAD);
    if (me->rank == 0)
        MEMBER_CODE(&me->member, rh_dsm_pages_touch(me->pages, me->base, PAGE, RH_DSM_READ),
                    RH_EDEAD);
    MEMBER_OK(&me->member, rh_barrier(survivors, RH_TIMEOUT_DEFAULT));
    printf("ok %d\n", me->rank);
    fflush(stdout);
    _exit(0);
}

/* ---- Sends that the network does not take (RHINET_FAULT) ------------------------------------ */

/* From some push on none gets through: an unlock says so. */
static void refused(struct pages_member *me)
{
    start(me, 4, RH_DSM_HOME_BLOCK);
    int result = 0;
    for (int i = 0; me->rank == 0 && i < 410 && result == 0; i++) {
        pages_member_lock(me, 0);
        *byte(me, 3, (size_t)i % PAGE) += 1;
        result = rh_dsm_pages_unlock(me->pages, 0);
    }
    MEMBER_CHECK(&me->member, me->rank != 0 || result == RH_ETIMEOUT);
    while (me->rank != 0 && rh_peer_state(me->member.job, 0) < RH_PEER_LEFT)
        member_sleep_us(1000);
    printf("ok %d\n", me->rank);
    fflush(stdout);
    _exit(0);
}

/* Once the network takes nothing for a while: what could not be sent goes with the next unlock,
 * with what was written to the same page since. */
static void again(struct pages_member *me)
{
    start(me, 4, RH_DSM_HOME_BLOCK);
    int failures = 0, result = 0;
    for (size_t i = 0; me->rank == 0 && (i < 400 || result != 0); i++) {
        pages_member_lock(me, 0);
        if (i < 400)
            *byte(me, 3, i) = (char)(i + 1);
        result = rh_dsm_pages_unlock(me->pages, 0);
        MEMBER_CHECK(&me->member, result == 0 || result == RH_ETIMEOUT);
        failures += result != 0;
    }
    MEMBER_CHECK(&me->member, me->rank != 0 || failures > 0);
    plain_barrier(me);
    pages_member_lock(me, 0);
    for (size_t i = 0; i < 400; i++)
        MEMBER_CHECK(&me->member, *byte(me, 3, i) == (char)(i + 1));
    pages_member_unlock(me, 0);
    printf("ok %d\n", me->rank);
    fflush(stdout);
    plain_barrier(me);
    _exit(0);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(struct pages_member *me);
    } cases[] = {{"parting", parting},     {"unlocking", unlocking}, {"following", following},
                 {"lateness", lateness},   {"closing", closing},     {"racing", racing},
                 {"overtaken", overtaken}, {"refused", refused},     {"lapped", lapped},
                 {"bereft", bereft},       {"again", again},         {"lost", lost}};
    struct pages_member me = {.rank = -1};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) && count > 1; i++) {
        if (strcmp(cases[i].name, arguments[1]) == 0) {
            cases[i].run(&me);
            return 0;
        }
    }
    fprintf(stderr, "usage: %s CASE SEED\n", arguments[0]);
    return 2;
}
