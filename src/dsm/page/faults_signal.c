/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of watched ranges and the signal handlers. Signals belong to the process, so this is
 * state of the process, the only such state in this library: a range finds its own context by the
 * address alone.
 *
 * The table is read by the handler without a lock; its entries are never freed, and a thread that
 * faults inside a range keeps that range alive by the rules of faults_close().
 */
#include "base/error.h"
#include "base/library.h"
#include "dsm/page/faults_mechanism.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

#define RANGES_MAX 256

struct watched {
    _Atomic uintptr_t start;
    _Atomic uintptr_t end; /* 0: the place is free; written last, cleared first */
    struct faults *_Atomic faults;
};

static struct watched table[RANGES_MAX];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/* SIGSEGV and SIGBUS. `users` ranges need the handler; `before` is what it passes faults on to. */
struct handled {
    int signal;
    unsigned users;
    struct sigaction before;
};

static struct handled handled_signals[] = {{.signal = SIGSEGV}, {.signal = SIGBUS}};

static struct handled *handled_of(int signal)
{
    return &handled_signals[signal == SIGBUS];
}

/* ---- A fault -------------------------------------------------------------------------------- */

/* acquire: pairs with the release of end in faults_signal_watch. */
static struct faults *find(uintptr_t address)
{
    for (size_t i = 0; i < RANGES_MAX; i++) {
        if (address < atomic_load_explicit(&table[i].end, memory_order_acquire) &&
            address >= atomic_load_explicit(&table[i].start, memory_order_relaxed))
            return atomic_load_explicit(&table[i].faults, memory_order_relaxed);
    }
    return NULL;
}

static enum faults_cause cause_of(const ucontext_t *context)
{
#ifdef __x86_64__
    return context->uc_mcontext.gregs[REG_ERR] & 2 ? FAULTS_BY_WRITE : FAULTS_BY_READ;
#else
    return FAULTS_BY_EITHER;
#endif
}

/* The default action: when the handler has returned, by the access that is done once more, or by
 * the signal, which is blocked until then. */
static void die(int signal, const siginfo_t *info)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(signal, &plain, NULL);
    if (info->si_code <= 0)
        raise(signal);
}

/* Have the signals blocked that the program's handler expects, not all as ours has. */
static void set_mask(int signal, const struct sigaction *before, const ucontext_t *interrupted)
{
    sigset_t mask = before->sa_mask;
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&interrupted->uc_sigmask, i) == 1)
            sigaddset(&mask, i);
    if (!(before->sa_flags & SA_NODEFER))
        sigaddset(&mask, signal);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* A signal that is not ours: what would have happened without us. Who ignores one from outside does
 * so; a fault cannot be ignored. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    struct sigaction before = handled_of(signal)->before;
    bool is_plain = !(before.sa_flags & SA_SIGINFO);
    if (is_plain && before.sa_handler == SIG_IGN && info->si_code <= 0)
        return;
    if (is_plain && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) {
        die(signal, info);
        return;
    }
    set_mask(signal, &before, context);
    if (before.sa_flags & SA_RESETHAND)
        handled_of(signal)->before = (struct sigaction){.sa_handler = SIG_DFL};
    if (is_plain)
        before.sa_handler(signal);
    else
        before.sa_sigaction(signal, info, context);
}

struct fault {
    struct faults *faults;
    size_t page;
    enum faults_cause cause;
    bool is_cured;
};

static void cure(void *argument)
{
    struct fault *fault = argument;
    const struct faults_range *range = &fault->faults->range;
    fault->is_cured = range->on_fault(range->context, fault->page, fault->cause);
}

/* si_code of 0 or less: somebody has sent it, and the address means nothing. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    struct faults *faults = info->si_code > 0 ? find((uintptr_t)info->si_addr) : NULL;
    if (!faults) {
        pass_on(signal, info, context);
    } else {
        uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)faults->range.base;
        struct fault fault = {
            .faults = faults, .page = offset / FAULTS_PAGE, .cause = cause_of(context)};
        faults_stack_call(cure, &fault);
        if (!fault.is_cured)
            die(signal, info);
    }
    errno = saved;
}

bool faults_are_blocked(const struct faults *faults)
{
    sigset_t now;
    return pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 &&
           sigismember(&now, faults->mechanism->signal) == 1;
}

/* ---- Watching ------------------------------------------------------------------------------- */

/* On the program's alternative stack if its own handler wanted that: one for an overflown stack
 * needs it. */
static int install(struct handled *handled)
{
    struct sigaction before, ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigfillset(&ours.sa_mask);
    if (sigaction(handled->signal, NULL, &before) < 0)
        return error_fail(RH_EREFUSED, "signal %d: %s", handled->signal, strerror(errno));
    if ((before.sa_flags & SA_SIGINFO) && before.sa_sigaction == on_signal)
        return 0; /* left in place below somebody else's, who is gone again */
    handled->before = before;
    ours.sa_flags |= before.sa_flags & SA_ONSTACK;
    sigaction(handled->signal, &ours, NULL);
    return 0;
}

/* Only if nobody has put a handler above ours, who would pass faults on to us, for ever. */
static void uninstall(struct handled *handled)
{
    struct sigaction now;
    if (sigaction(handled->signal, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == on_signal)
        sigaction(handled->signal, &handled->before, NULL);
    else
        library_pin();
}

static int free_place(void)
{
    for (int i = 0; i < RANGES_MAX; i++)
        if (atomic_load_explicit(&table[i].end, memory_order_relaxed) == 0)
            return i;
    return error_fail(RH_ENOSPACE, "%d ranges are watched already; free some", RANGES_MAX);
}

int faults_signal_watch(struct faults *faults)
{
    struct handled *handled = handled_of(faults->mechanism->signal);
    uintptr_t start = (uintptr_t)faults->range.base;
    pthread_mutex_lock(&table_lock);
    int place = free_place();
    int result = place < 0 ? place : 0;
    if (result == 0 && handled->users == 0)
        result = install(handled);
    if (result == 0) {
        handled->users++;
        faults->place = place;
        atomic_store_explicit(&table[place].faults, faults, memory_order_relaxed);
        atomic_store_explicit(&table[place].start, start, memory_order_relaxed);
        /* release: pairs with find */
        atomic_store_explicit(&table[place].end, start + faults->range.length,
                              memory_order_release);
    }
    pthread_mutex_unlock(&table_lock);
    return result;
}

void faults_signal_forget(struct faults *faults)
{
    struct handled *handled = handled_of(faults->mechanism->signal);
    pthread_mutex_lock(&table_lock);
    atomic_store_explicit(&table[faults->place].end, 0, memory_order_release);
    if (--handled->users == 0) {
        uninstall(handled);
        faults_stack_free_all();
    }
    pthread_mutex_unlock(&table_lock);
}
