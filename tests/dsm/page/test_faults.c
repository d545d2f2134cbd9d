/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mechanisms that notice accesses to pages: each tells the right page and cause, keeps what is
 * written, and lets the program's own handlers have what is not ours.
 *
 * Longer than most files: every mechanism goes through the same cases, side by side.
 */
#include "dsm/page/faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES   64
#define THREADS 4

/* A range and what has happened in it. on_fault behaves as a cache of zeroed pages would. */
struct arena {
    struct faults *faults;
    char *backing;
    char *pages;
    pthread_mutex_t lock;
    enum faults_access access[PAGES];
    unsigned read_faults, write_faults;
    size_t last;
};

static enum faults_kind kind_now;

static bool on_fault(void *context, size_t page, enum faults_cause cause)
{
    struct arena *arena = context;
    struct faults_run run = {.first = page, .count = 1};
    pthread_mutex_lock(&arena->lock);
    enum faults_access from = arena->access[page];
    enum faults_access to = cause == FAULTS_BY_WRITE || from == FAULTS_READ ? FAULTS_WRITE
                                                                            : FAULTS_READ;
    bool is_fine = true;
    if (to > from) { /* else another thread was first */
        arena->last = page;
        *(to == FAULTS_WRITE ? &arena->write_faults : &arena->read_faults) += 1;
        if (from == FAULTS_NONE)
            arena->backing[page * FAULTS_PAGE] = (char)('a' + page % 26);
        is_fine = faults_set(arena->faults, run, from, to) == 0;
        arena->access[page] = to;
    }
    pthread_mutex_unlock(&arena->lock);
    return is_fine;
}

/* Called in the test, not before it: cmocka sets its own handlers for SIGSEGV and SIGBUS first. */
static struct arena *arena_open_with(bool (*handler)(void *, size_t, enum faults_cause))
{
    struct arena *arena = calloc(1, sizeof(*arena));
    size_t length = PAGES * FAULTS_PAGE;
    pthread_mutex_init(&arena->lock, NULL);
    arena->backing = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(arena->backing, 0, length); /* a page must exist before it can be watched */
    arena->pages = mremap(arena->backing, 0, length, MREMAP_MAYMOVE);
    struct faults_range range = {
        .base = arena->pages, .length = length, .on_fault = handler, .context = arena};
    assert_int_equal(faults_open(&arena->faults, kind_now, &range), 0);
    return arena;
}

static struct arena *arena_open(void)
{
    return arena_open_with(on_fault);
}

static void arena_close(struct arena *arena)
{
    faults_close(arena->faults);
    munmap(arena->pages, PAGES * FAULTS_PAGE);
    munmap(arena->backing, PAGES * FAULTS_PAGE);
    pthread_mutex_destroy(&arena->lock);
    free(arena);
}

static char volatile *byte(struct arena *arena, size_t page, size_t offset)
{
    return arena->pages + page * FAULTS_PAGE + offset;
}

static void set(struct arena *arena, size_t first, size_t count, enum faults_access to)
{
    struct faults_run run = {.first = first, .count = count};
    assert_int_equal(faults_set(arena->faults, run, arena->access[first], to), 0);
    for (size_t i = first; i < first + count; i++)
        arena->access[i] = to;
}

static void test_read(void **state)
{
    (void)state;
    struct arena *arena = arena_open();
    assert_int_equal(*byte(arena, 3, 0), 'd');
    assert_int_equal(arena->read_faults, 1);
    assert_int_equal(arena->last, 3);
    assert_int_equal(*byte(arena, 3, 77), 0);
    assert_int_equal(*byte(arena, 40, 0), 'o');
    assert_int_equal(arena->read_faults, 2);
    assert_int_equal(arena->write_faults, 0);
    arena_close(arena);
}

static void test_invalidate(void **state)
{
    (void)state;
    struct arena *arena = arena_open();
    assert_int_equal(*byte(arena, 3, 5), 0);
    assert_int_equal(*byte(arena, 4, 5), 0);
    set(arena, 3, 2, FAULTS_NONE);
    arena->backing[3 * FAULTS_PAGE + 5] = 'x';
    assert_int_equal(*byte(arena, 3, 5), 'x'); /* as the backing is now */
    assert_int_equal(arena->read_faults, 3);
    set(arena, 10, 20, FAULTS_READ); /* many at once */
    for (size_t i = 10; i < 30; i++)
        assert_int_equal(*byte(arena, i, 0), 0);
    assert_int_equal(arena->read_faults, 3);
    set(arena, 10, 20, FAULTS_NONE);
    assert_int_equal(*byte(arena, 20, 0), 'u');
    assert_int_equal(arena->read_faults, 4);
    arena_close(arena);
}

static bool harvest_has(struct arena *arena, size_t page)
{
    struct faults_run all = {.first = 0, .count = PAGES}, found[PAGES];
    int runs = faults_harvest(arena->faults, all, found, PAGES);
    assert_true(runs >= 0);
    for (int i = 0; i < runs; i++)
        if (page >= found[i].first && page < found[i].first + found[i].count)
            return true;
    return false;
}

static void test_write(void **state)
{
    (void)state;
    struct arena *arena = arena_open();
    bool tells = faults_writes_tell(arena->faults);
    assert_int_equal(*byte(arena, 5, 0), 'f');
    *byte(arena, 5, 9) = 'w';
    assert_int_equal(arena->backing[5 * FAULTS_PAGE + 9], 'w');
    assert_int_equal(arena->write_faults, tells ? 1 : 0);
    *byte(arena, 5, 10) = 'w';
    assert_int_equal(arena->write_faults, tells ? 1 : 0);
    if (tells) {
        set(arena, 5, 1, FAULTS_READ);
    } else {
        assert_true(harvest_has(arena, 5));
        assert_false(harvest_has(arena, 5));
    }
    assert_int_equal(*byte(arena, 5, 9), 'w');
    *byte(arena, 5, 11) = 'w';
    assert_int_equal(arena->write_faults, tells ? 2 : 0);
    assert_true(tells || harvest_has(arena, 5));
    arena_close(arena);
}

/* The first access is a write. */
static void test_write_first(void **state)
{
    (void)state;
    struct arena *arena = arena_open();
    *byte(arena, 6, 1) = 'w';
    assert_int_equal(arena->backing[6 * FAULTS_PAGE], 'g');
    assert_int_equal(arena->backing[6 * FAULTS_PAGE + 1], 'w');
    assert_true(faults_writes_tell(arena->faults) || harvest_has(arena, 6));
    arena_close(arena);
}

/* Few places for the answer: asked again from where it ended. */
static void test_harvest_in_parts(void **state)
{
    (void)state;
    if (kind_now != FAULTS_ASYNC)
        return; /* the others tell every write */
    struct arena *arena = arena_open();
    set(arena, 0, PAGES, FAULTS_READ);
    for (size_t i = 0; i < PAGES; i += 2)
        *byte(arena, i, 0) = 1;
    struct faults_run left = {.first = 0, .count = PAGES}, found[5];
    size_t seen = 0;
    int runs;
    do {
        runs = faults_harvest(arena->faults, left, found, 5);
        assert_in_range(runs, 0, 5);
        for (int i = 0; i < runs; i++, seen++) {
            assert_int_equal(found[i].first, seen * 2);
            assert_int_equal(found[i].count, 1);
        }
        left.first = runs > 0 ? found[runs - 1].first + found[runs - 1].count : PAGES;
        left.count = PAGES - left.first;
    } while (runs == 5);
    assert_int_equal(seen, PAGES / 2);
    arena_close(arena);
}

static void *hammer(void *argument)
{
    struct arena *arena = argument;
    for (size_t round = 0; round < 20; round++)
        for (size_t page = 0; page < PAGES; page++)
            __atomic_fetch_add(arena->pages + page * FAULTS_PAGE + 64, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Threads fault on the same pages at the same time, while pages lose their access again. */
static void test_threads(void **state)
{
    (void)state;
    struct arena *arena = arena_open();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, arena), 0);
    for (size_t i = 0; i < 200; i++) {
        pthread_mutex_lock(&arena->lock);
        size_t page = i % PAGES;
        struct faults_run run = {.first = page, .count = 1};
        faults_set(arena->faults, run, arena->access[page], FAULTS_NONE);
        arena->access[page] = FAULTS_NONE;
        pthread_mutex_unlock(&arena->lock);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t page = 0; page < PAGES; page++)
        assert_int_equal(arena->backing[page * FAULTS_PAGE + 64], THREADS * 20);
    arena_close(arena);
}

/* ---- The program's own handlers ------------------------------------------------------------- */

static sigjmp_buf escape;
static volatile sig_atomic_t own_signal;

static void own_handler(int signal)
{
    own_signal = signal;
    siglongjmp(escape, 1);
}

static void touch_forbidden(char *address)
{
    own_signal = 0;
    if (sigsetjmp(escape, 1) == 0)
        *(volatile char *)address = 1;
}

static void test_chain(void **state)
{
    (void)state;
    struct sigaction own = {.sa_handler = own_handler}, before, now;
    sigaction(SIGSEGV, &own, &before);
    char *forbidden = mmap(NULL, FAULTS_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct arena *made = arena_open();
    touch_forbidden(forbidden);
    assert_int_equal(own_signal, SIGSEGV);
    assert_int_equal(*byte(made, 1, 0), 'b'); /* and ours still works */
    arena_close(made);
    sigaction(SIGSEGV, NULL, &now);
    assert_ptr_equal(now.sa_handler, own_handler);
    touch_forbidden(forbidden);
    assert_int_equal(own_signal, SIGSEGV);
    sigaction(SIGSEGV, &before, NULL);
    munmap(forbidden, FAULTS_PAGE);
}

static bool refuse(void *context, size_t page, enum faults_cause cause)
{
    (void)context, (void)page, (void)cause;
    return false;
}

/* A fault that cannot be satisfied kills by its signal, as does one elsewhere without a handler. */
static void test_death(void **state)
{
    (void)state;
    struct arena *arena = arena_open();
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        pid_t child = fork();
        if (child == 0) {
            struct faults *faults;
            char *page = mremap(arena->backing, 0, FAULTS_PAGE, MREMAP_MAYMOVE);
            struct faults_range range = {.base = page, .length = FAULTS_PAGE, .on_fault = refuse};
            signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report */
            signal(SIGBUS, SIG_DFL);
            if (faults_open(&faults, kind_now, &range) < 0)
                _exit(1);
            *(volatile char *)(elsewhere ? (char *)16 : page) = 1;
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        int expected = elsewhere || kind_now == FAULTS_MPROTECT ? SIGSEGV : SIGBUS;
        assert_int_equal(WTERMSIG(status), expected);
    }
    arena_close(arena);
}

/* ---- Stacks and signals --------------------------------------------------------------------- */

#define DEEP (256 * 1024)

static bool deep_fault(void *context, size_t page, enum faults_cause cause)
{
    volatile char room[DEEP]; /* as a call of a network library may need */
    for (size_t i = 0; i < DEEP; i += 1024)
        room[i] = (char)i;
    return on_fault(context, page, cause) && room[1024] == 0;
}

static void *touch_pages(void *argument)
{
    struct arena *arena = argument;
    stack_t small = {.ss_sp = malloc(16384), .ss_size = 16384}, none = {.ss_flags = SS_DISABLE};
    sigaltstack(&small, NULL);
    for (size_t page = 0; page < 8; page++)
        *byte(arena, page, 1) = 'x';
    sigaltstack(&none, NULL);
    free(small.ss_sp);
    return NULL;
}

/* The program's handlers run on an alternative stack of 16 KiB; and a thread has hardly more. */
static void test_small_stacks(void **state)
{
    (void)state;
    struct sigaction own = {.sa_handler = own_handler, .sa_flags = SA_ONSTACK}, segv, bus;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 * 1024); /* a sanitizer needs some of it */
    for (int on_own = 0; on_own < 2; on_own++) {
        own.sa_flags = on_own ? SA_ONSTACK : 0;
        sigaction(SIGSEGV, &own, &segv);
        sigaction(SIGBUS, &own, &bus);
        struct arena *arena = arena_open_with(deep_fault);
        assert_int_equal(pthread_create(&thread, &attributes, touch_pages, arena), 0);
        pthread_join(thread, NULL);
        for (size_t page = 0; page < 8; page++)
            assert_int_equal(arena->backing[page * FAULTS_PAGE + 1], 'x');
        arena_close(arena);
        sigaction(SIGSEGV, &segv, NULL);
        sigaction(SIGBUS, &bus, NULL);
    }
    pthread_attr_destroy(&attributes);
}

static volatile sig_atomic_t outside_code, outside_masked;

static void from_outside(int signal, siginfo_t *info, void *context)
{
    sigset_t now;
    (void)context;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    outside_code = info->si_code;
    outside_masked = sigismember(&now, signal) + 2 * sigismember(&now, SIGUSR1) +
                     4 * sigismember(&now, SIGUSR2);
}

static void be_told(int signal)
{
    outside_code = signal;
}

static int signal_now(void)
{
    return kind_now == FAULTS_MPROTECT ? SIGSEGV : SIGBUS;
}

/* Somebody sends the signal: the program's handler has it, under the mask that it asked for. */
static void test_sent_to_handler(void **state)
{
    (void)state;
    struct sigaction own = {.sa_sigaction = from_outside, .sa_flags = SA_SIGINFO}, before;
    sigaddset(&own.sa_mask, SIGUSR1);
    sigaction(signal_now(), &own, &before);
    struct arena *arena = arena_open();
    for (int turn = 0; turn < 2; turn++) {
        outside_code = 99;
        assert_int_equal(turn == 0 ? kill(getpid(), signal_now()) : raise(signal_now()), 0);
        assert_int_equal(outside_code, turn == 0 ? SI_USER : SI_TKILL);
        assert_int_equal(outside_masked, 1 + 2);
    }
    assert_int_equal(*byte(arena, 1, 0), 'b'); /* and ours still works */
    arena_close(arena);
    sigaction(signal_now(), &before, NULL);
}

/* Without a handler it kills, ignored it does nothing; one that is for once is asked once. */
static void test_sent_without_handler(void **state)
{
    (void)state;
    static const struct {
        void (*handler)(int);
        int flags, times;
        bool dies;
    } ways[] = {
        {SIG_DFL, 0, 1, true},
        {SIG_IGN, 0, 2, false},
        {be_told, SA_RESETHAND, 1, false},
        {be_told, SA_RESETHAND, 2, true},
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        pid_t child = fork();
        if (child == 0) {
            struct sigaction own = {.sa_handler = ways[i].handler, .sa_flags = ways[i].flags};
            sigaction(signal_now(), &own, NULL);
            struct arena *arena = arena_open();
            for (int turn = 0; turn < ways[i].times; turn++)
                kill(getpid(), signal_now());
            if (ways[i].dies)
                _exit(9); /* it should have, before */
            _exit(*byte(arena, 2, 0) == 'c' ? 7 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WIFSIGNALED(status), ways[i].dies);
        assert_int_equal(ways[i].dies ? WTERMSIG(status) : WEXITSTATUS(status),
                         ways[i].dies ? signal_now() : 7);
    }
}

static void test_blocked(void **state)
{
    (void)state;
    struct arena *arena = arena_open();
    sigset_t one, before;
    assert_false(faults_are_blocked(arena->faults));
    sigemptyset(&one);
    sigaddset(&one, signal_now());
    pthread_sigmask(SIG_BLOCK, &one, &before);
    assert_true(faults_are_blocked(arena->faults));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    arena_close(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_read),
    cmocka_unit_test(test_invalidate),
    cmocka_unit_test(test_write),
    cmocka_unit_test(test_write_first),
    cmocka_unit_test(test_harvest_in_parts),
    cmocka_unit_test(test_threads),
    cmocka_unit_test(test_chain),
    cmocka_unit_test(test_death),
    cmocka_unit_test(test_small_stacks),
    cmocka_unit_test(test_sent_to_handler),
    cmocka_unit_test(test_sent_without_handler),
    cmocka_unit_test(test_blocked),
};

int main(int count, char **arguments)
{
    int kind = 0;
    while (count == 2 && kind < FAULTS_KINDS &&
           strcmp(faults_name((enum faults_kind)kind), arguments[1]) != 0)
        kind++;
    if (count != 2 || kind == FAULTS_KINDS) {
        fprintf(stderr, "usage: %s async|sigbus|mprotect\n", arguments[0]);
        return 2;
    }
    kind_now = (enum faults_kind)kind;
    if (faults_probe(kind_now) < 0) {
        printf("1..0 # SKIP this kernel does not have %s\n", arguments[1]);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
