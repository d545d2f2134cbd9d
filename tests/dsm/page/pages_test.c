/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Page mode, case by case: pages_test CASE SEED. Each rank that is content prints "ok RANK".
 */
#include "pages_member.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

static struct rh_dsm_pages_options plain(size_t pages, enum rh_dsm_home home)
{
    return (struct rh_dsm_pages_options){.length = pages * PAGE, .home = home};
}

/* Every rank writes every size-th byte of the same pages, again and again. */
static void sharing(struct pages_member *me)
{
    struct rh_dsm_pages_options options = plain(5, RH_DSM_HOME_BLOCK);
    pages_member_start(me, 1, &options);
    size_t length = 5 * PAGE;
    for (unsigned round = 1; round <= 20; round++) {
        for (size_t i = (size_t)me->rank; i < length; i += (size_t)me->size)
            me->base[i] = (char)(round * 31 + i);
        pages_member_barrier(me);
        for (size_t i = 0; i < length; i++)
            MEMBER_CHECK(&me->member, me->base[i] == (char)(round * 31 + i));
        pages_member_barrier(me);
    }
    MEMBER_CHECK(&me->member, me->size == 1 || pages_member_stat(me).shared_writes > 0);
    pages_member_end(me);
}

/* A page that one remote rank alone writes gets its home there, and nothing is lost on the way. */
static void homes(struct pages_member *me)
{
    struct rh_dsm_pages_options options = plain(8, RH_DSM_HOME_BLOCK);
    pages_member_start(me, 1, &options);
    int writer = me->size - 1; /* home of the last pages only */
    for (unsigned round = 1; round <= 12; round++) {
        for (size_t page = 0; page < 8 && me->rank == writer; page++)
            memset(me->base + page * PAGE, (int)(round + page), PAGE);
        pages_member_barrier(me);
        for (size_t page = 0; page < 8; page++)
            MEMBER_CHECK(&me->member, me->base[page * PAGE + round] == (char)(round + page));
        pages_member_barrier(me);
    }
    for (size_t page = 0; page < 8; page++)
        MEMBER_CHECK(&me->member, rh_dsm_pages_home(me->pages, me->base + page * PAGE) == writer);
    pages_member_end(me);
}

/* First touch: who writes first is the home; pages_touch names errors that a fault cannot. */
static void touch(struct pages_member *me)
{
    struct rh_dsm_pages_options options = plain(64, RH_DSM_HOME_TOUCH);
    pages_member_start(me, 1, &options);
    char *mine = me->base + (size_t)me->rank * 2 * PAGE;
    MEMBER_CHECK(&me->member, rh_dsm_pages_home(me->pages, mine) == -1);
    mine[3] = 'x';
    MEMBER_CHECK(&me->member, rh_dsm_pages_home(me->pages, mine) == me->rank);
    pages_member_barrier(me);
    char *other = me->base + (size_t)((me->rank + 1) % me->size) * 2 * PAGE;
    int file = open("/dev/zero", O_RDONLY);
    MEMBER_OK(&me->member, rh_dsm_pages_touch(me->pages, other, 2 * PAGE, RH_DSM_READ));
    MEMBER_CHECK(&me->member, other[3] == 'x');
    pages_member_barrier(me);
    /* A system call finds the page only after touching it. */
    char *fresh = me->base + (size_t)(32 + me->rank) * PAGE;
    MEMBER_CHECK(&me->member, read(file, fresh, 8) == -1 && errno == EFAULT);
    MEMBER_OK(&me->member, rh_dsm_pages_touch(me->pages, fresh, 8, RH_DSM_WRITE));
    MEMBER_CHECK(&me->member, read(file, fresh, 8) == 8);
    close(file);
    MEMBER_CODE(&me->member, rh_dsm_pages_touch(me->pages, me->base + 63 * PAGE, PAGE + 1, 1),
                RH_EBOUNDS);
    MEMBER_CODE(&me->member, rh_dsm_pages_unlock(me->pages, 99), RH_EINVALID);
    pages_member_barrier(me);
    pages_member_end(me);
}

/* More notices between two meetings than a log holds: whoever comes late drops everything. */
static void overflow(struct pages_member *me)
{
    struct rh_dsm_pages_options options = plain(64, RH_DSM_HOME_BLOCK);
    pages_member_start(me, 1, &options);
    (void)*(volatile char *)(me->base + 63 * PAGE); /* have a copy of everything */
    for (size_t page = 0; page < 64; page++)
        (void)*(volatile char *)(me->base + page * PAGE);
    pages_member_barrier(me);
    for (unsigned i = 0; me->rank == 0 && i < 10000; i++) {
        pages_member_lock(me, 0);
        for (size_t page = 0; page < 6; page += 2)
            me->base[page * PAGE + i % PAGE]++;
        pages_member_unlock(me, 0);
    }
    pages_member_barrier(me);
    for (size_t at = 0; at < PAGE; at++)
        MEMBER_CHECK(&me->member, me->base[at] == (at < 10000 % PAGE ? 3 : 2));
    pages_member_barrier(me);
    pages_member_end(me);
}

/* ---- Locks ---------------------------------------------------------------------------------- */

#define ITEMS 200

/* A ring of items with two conditions in one lock, as a program with threads has it. */
struct shared_queue {
    uint64_t head, tail, taken;
    uint64_t item[8];
};

static void queue(struct pages_member *me)
{
    struct rh_dsm_pages_options options = plain(2, RH_DSM_HOME_BLOCK);
    pages_member_start(me, 1, &options);
    struct shared_queue *shared = (struct shared_queue *)(void *)me->base;
    uint64_t total = (uint64_t)ITEMS * (unsigned)(me->size > 1 ? me->size - 1 : 0), sum = 0;
    pages_member_lock(me, 0);
    for (uint64_t done = 0; me->rank > 0 ? done < ITEMS : shared->taken < total;) {
        bool can_go_on = me->rank > 0 ? shared->tail - shared->head < 8
                                      : shared->tail > shared->head;
        if (!can_go_on) {
            MEMBER_OK(&me->member, rh_dsm_pages_wait(me->pages, 0, RH_TIMEOUT_DEFAULT));
            continue;
        }
        if (me->rank > 0)
            shared->item[shared->tail++ % 8] = ++done;
        else
            sum += shared->item[shared->head++ % 8], shared->taken++;
        MEMBER_OK(&me->member, rh_dsm_pages_broadcast(me->pages, 0));
    }
    pages_member_unlock(me, 0);
    MEMBER_CHECK(&me->member, me->rank > 0 || sum == total / ITEMS * (ITEMS * (ITEMS + 1) / 2));
    pages_member_barrier(me);
    pages_member_end(me);
}

/* ---- Threads -------------------------------------------------------------------------------- */

#define THREADS 3
#define TURNS   60

struct worker {
    struct pages_member *me;
    int number; /* of all workers of all ranks */
    pthread_t thread;
};

/* Every worker owns some bytes of every page, which it writes while others lock and unlock; and
 * counts under locks. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct pages_member *me = worker->me;
    volatile unsigned char *base = (volatile unsigned char *)me->base;
    for (unsigned turn = 1; turn <= TURNS; turn++) {
        for (size_t page = 0; page < 6; page++) {
            size_t at = page * PAGE + 128 + (size_t)worker->number;
            MEMBER_CHECK(&me->member, base[at] == turn - 1);
            base[at] = (unsigned char)turn;
        }
        uint32_t lock = (turn + (unsigned)worker->number) % 4;
        pages_member_lock(me, lock);
        ((volatile uint32_t *)(volatile void *)me->base)[lock * 300]++;
        pages_member_unlock(me, lock);
    }
    return NULL;
}

static void threads(struct pages_member *me)
{
    struct rh_dsm_pages_options options = plain(6, RH_DSM_HOME_TOUCH);
    pages_member_start(me, 1, &options);
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.me = me, .number = me->rank * THREADS + i};
        MEMBER_OK(&me->member, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pages_member_barrier(me);
    for (size_t page = 0; page < 6; page++)
        for (int i = 0; i < THREADS * me->size; i++)
            MEMBER_CHECK(&me->member, me->base[page * PAGE + 128 + (size_t)i] == TURNS);
    uint32_t total = 0;
    for (uint32_t lock = 0; lock < 4; lock++)
        total += ((uint32_t *)(void *)me->base)[lock * 300];
    MEMBER_CHECK(&me->member, total == (uint32_t)(TURNS * THREADS * me->size));
    pages_member_barrier(me);
    pages_member_end(me);
}

/* ---- Opening -------------------------------------------------------------------------------- */

static int odd_home(void *context, uint64_t page)
{
    const struct pages_member *me = context;
    return page == 3 ? me->rank : 0;
}

static int no_home(void *context, uint64_t page)
{
    const struct pages_member *me = context;
    return page == 3 && me->rank == 1 ? me->size : 0;
}

/* One rank wants something else: all are told which, and can go on. */
static void terms(struct pages_member *me)
{
    struct rh_dsm_pages_options good = plain(4, RH_DSM_HOME_BLOCK), odd;
    pages_member_start(me, 1, &good);
    good.context = me;
    bool is_odd = me->rank == me->size - 1;
    char expected[64];
    for (int way = 0; way < 7; way++) {
        struct rh_dsm_pages *pages;
        odd = good;
        odd.first_variable = good.lock_count;
        if (way == 0 && is_odd)
            odd.length += PAGE;
        if (way == 1 && is_odd)
            odd.home = RH_DSM_HOME_TOUCH;
        if (way == 2 && is_odd)
            odd.is_settled = true;
        if (way == 3 && is_odd)
            odd.first_variable++;
        if (way == 4 && is_odd)
            odd.lock_count--;
        if (way >= 5) {
            odd.home = RH_DSM_HOME_GIVEN;
            odd.home_of = way == 5 ? odd_home : no_home;
        }
        MEMBER_CODE(&me->member, rh_dsm_pages_open(&pages, me->dsm, &odd), RH_EINVALID);
        snprintf(expected, sizeof(expected), "rank %d", me->size - 1);
        if (way < 5) {
            MEMBER_CHECK(&me->member, rh_error_rank() == me->size - 1);
            MEMBER_CHECK(&me->member, strstr(rh_error_text(), expected) != NULL);
            MEMBER_CHECK(&me->member, strstr(rh_error_text(), "rank 0") != NULL);
        }
        if (way == 0)
            MEMBER_CHECK(&me->member, strstr(rh_error_text(), "length 16384") != NULL);
        MEMBER_CHECK(&me->member, strstr(rh_error_text(), "home_of") != NULL || way < 5);
    }
    pages_member_end(me);
}

/* ---- Pieces --------------------------------------------------------------------------------- */

#define PIECES 3000

/* Use up the mappings that the kernel lets this process have, but for a few. */
static void fill_mappings(struct pages_member *me)
{
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    unsigned long most = 65530;
    MEMBER_CHECK(&me->member, file && fscanf(file, "%lu", &most) == 1);
    fclose(file);
    char *area = mmap(NULL, most * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0);
    MEMBER_CHECK(&me->member, area != MAP_FAILED);
    size_t page = 1;
    while (page < most && mprotect(area + page * PAGE, PAGE, PROT_READ) == 0)
        page += 2;
    for (size_t i = 1; i < 600 && i < page; i += 2)
        mprotect(area + i * PAGE, PAGE, PROT_NONE);
}

/* Every second page is used, of our own and of others: too many pieces for mprotect. */
static void pieces(struct pages_member *me)
{
    struct rh_dsm_pages_options options = plain((size_t)2 * PIECES, RH_DSM_HOME_BLOCK);
    pages_member_start(me, 1, &options);
    if (me->rank == 0) /* the other one keeps its copies, and has to be told */
        fill_mappings(me);
    for (int round = 1; round <= 3; round++) {
        for (size_t page = (size_t)(round % 2); page < 2 * PIECES; page += 2)
            me->base[page * PAGE + (size_t)me->rank] = (char)round;
        pages_member_lock(me, 0);
        me->base[PAGE - 8]++;
        pages_member_unlock(me, 0);
        pages_member_barrier(me);
        for (size_t page = (size_t)(round % 2); page < 2 * PIECES; page += 2)
            for (int rank = 0; rank < me->size; rank++)
                MEMBER_CHECK(&me->member, me->base[page * PAGE + (size_t)rank] == (char)round);
        MEMBER_CHECK(&me->member, me->base[PAGE - 8] == round * me->size);
        pages_member_barrier(me);
    }
    pages_member_end(me);
}

/* The mechanism is chosen by the number of pages, unless one is asked for. */
static void choice(struct pages_member *me)
{
    struct rh_dsm_pages_options options = plain(8192, RH_DSM_HOME_BLOCK);
    pages_member_start(me, 1, &options);
    struct rh_dsm_pages_options more = options;
    struct rh_dsm_pages *large;
    more.length += PAGE;
    more.lock_count = 0;
    MEMBER_OK(&me->member, rh_dsm_pages_open(&large, me->dsm, &more));
    bool is_async = strcmp(rh_dsm_pages_faults(me->pages), "async") == 0;
    MEMBER_CHECK(&me->member, !is_async || strcmp(rh_dsm_pages_faults(large), "sigbus") == 0);
    MEMBER_OK(&me->member, rh_dsm_pages_close(large));
    pages_member_end(me);
}

/* ---- Death ---------------------------------------------------------------------------------- */

/* The home dies: calls say so with its rank; a fault ends the process (the last rank), which its
 * starter looks for on stderr. */
static void death(struct pages_member *me)
{
    struct rh_dsm_pages_options options = plain((size_t)16, RH_DSM_HOME_BLOCK);
    pages_member_start(me, 1, &options);
    pages_member_barrier(me);
    if (me->rank == 0)
        raise(SIGKILL);
    while (rh_peer_state(me->member.job, 0) < RH_PEER_LEFT)
        member_sleep_us(1000);
    MEMBER_CODE(&me->member, rh_dsm_pages_touch(me->pages, me->base, PAGE, RH_DSM_READ), RH_EDEAD);
    MEMBER_CHECK(&me->member, rh_error_rank() == 0);
    MEMBER_CODE(&me->member, rh_dsm_pages_barrier(me->pages, RH_TIMEOUT_DEFAULT), RH_EDEAD);
    printf("ok %d\n", me->rank);
    fflush(stdout);
    if (me->rank == me->size - 1)
        (void)*(volatile char *)me->base;
    _exit(0);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(struct pages_member *me);
    } cases[] = {{"sharing", sharing},   {"homes", homes}, {"touch", touch},
                 {"overflow", overflow}, {"queue", queue}, {"death", death},
                 {"threads", threads},   {"terms", terms}, {"pieces", pieces},
                 {"choice", choice}};
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
