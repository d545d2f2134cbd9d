/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting: poll briefly, because waking a sleeper costs far more than a cache line's trip; then
 * sleep on the bell. With more ranks than cores polling would keep the awaited rank from running,
 * so the core is yielded between looks, also where that is only learnt (habit.h). A sleep is cut
 * into slices, since plain stores through a pointer and deaths ring no bell.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/handover.h"
#include "nic/shm/shm_nic.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOKS_YIELDING  64 /* instead of HABIT_LOOKS, where spinning does not pay (habit.h) */
#define LOOKS_PER_YIELD 4  /* and between two looks at the clock */
#define LOOKS_PER_ROUND 256
#define EAGER_ROUNDS    8 /* without pause instructions, which would delay the look */
#define BUSY_NS         (20 * NS_PER_MS) /* at most, beyond the usual time to spin */
#define SLICE_FIRST_NS  (1 * NS_PER_MS)
#define SLICE_LAST_NS   (16 * NS_PER_MS)

void shm_sleep(_Atomic uint32_t *word, uint32_t seen, int64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = timeout_ns / NS_PER_S, .tv_nsec = timeout_ns % NS_PER_S};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

void shm_word_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void shm_ring(struct shm_nic *shm, struct shm_door *door)
{
    atomic_store(&door->has_sleeper, 0); /* one ring per sleep, however long waking takes */
    atomic_fetch_add(&door->bell, 1);
    shm_word_wake(&door->bell);
    counter_add(shm->nic.job->counters, COUNTER_WAKE, 1);
}

int shm_wake(struct nic *nic, int rank)
{
    struct shm_nic *shm = shm_nic_of(nic);
    shm_after_write(shm, shm_door_of(shm, rank));
    return 0;
}

void shm_publish_to_all(struct shm_nic *shm)
{
    if (shm->has_membarrier)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    else
        full_fence();
}

static inline bool is_met(struct shm_nic *shm, const struct nic_wait *wait)
{
    if (wait->word)
        return nic_word_is_met(wait->word, wait->when, wait->value);
    if (wait->is_met)
        return wait->is_met(wait->context);
    if (wait->queue)
        return shm_queue_has_message(shm, wait->queue);
    return __atomic_load_n(&wait->done->state, __ATOMIC_ACQUIRE) != 0;
}

/* A look between which and the last one time has passed. */
static inline bool look(struct shm_nic *shm, const struct nic_wait *wait)
{
    if (unlikely(shm->outside.progress))
        shm->outside.progress(shm->outside.context);
    return is_met(shm, wait);
}

/* How long a wait has gone on, and how long it may. */
struct patience {
    int64_t polls_since_ns;
    int64_t deadline_ns;
    int64_t slice_ns;
    unsigned rounds;
    bool spins; /* or gives the core away between two looks */
};

/* The waits of this thread that expired, one right after the other. For the core they are one:
 * a program that looks at something else every 50 us would poll for ever, each wait anew, and maybe
 * keep out whom it waits for (see base/rest.h). */
static _Thread_local struct {
    int64_t since_ns, until_ns;
} expired;

static int64_t polls_since(const struct shm_nic *shm, int64_t now_ns)
{
    return now_ns - expired.until_ns <= shm->spin_ns ? expired.since_ns : now_ns;
}

void shm_rest(const struct shm_nic *shm)
{
    if (habit_yields(&shm->habit) || shm->outside.is_slow)
        sched_yield();
    else
        cpu_relax();
}

static inline bool spin_eagerly(struct shm_nic *shm, const struct nic_wait *wait)
{
    for (unsigned i = 0; i < LOOKS_PER_ROUND; i++) {
        if (look(shm, wait))
            return true;
        /* A sender needs the line twice, to claim and to publish: do not snatch it in between. */
        if (wait->queue)
            cpu_relax();
    }
    return false;
}

static bool spin_politely(struct shm_nic *shm, const struct nic_wait *wait)
{
    for (unsigned i = 0; i < LOOKS_PER_ROUND / 4; i++) {
        if (look(shm, wait))
            return true;
        cpu_relax();
    }
    return false;
}

static bool look_and_yield(struct shm_nic *shm, const struct nic_wait *wait)
{
    for (unsigned i = 0; i < LOOKS_PER_YIELD; i++) {
        if (look(shm, wait))
            return true;
        sched_yield();
    }
    return false;
}

/* One round of looks. A wait that spins gives the core away after each round that is not the first
 * few: it costs little where nobody else wants it, and where somebody does it is the end of the
 * wait, most often. */
static bool look_for_a_while(struct shm_nic *shm, const struct nic_wait *wait,
                             const struct patience *patience)
{
    if (!patience->spins)
        return look_and_yield(shm, wait);
    if (patience->rounds < EAGER_ROUNDS ? spin_eagerly(shm, wait) : spin_politely(shm, wait)) {
        if (patience->rounds < EAGER_ROUNDS)
            habit_note(&shm->habit, HABIT_SPUN);
        return true;
    }
    if (patience->rounds + 1 < EAGER_ROUNDS)
        return false;
    sched_yield();
    if (!look(shm, wait))
        return false;
    if (patience->rounds + 1 == EAGER_ROUNDS)
        habit_note(&shm->habit, HABIT_YIELDED);
    return true;
}

static int64_t next_slice(struct patience *patience, int64_t now_ns)
{
    int64_t slice = patience->slice_ns;
    if (slice < SLICE_LAST_NS)
        patience->slice_ns = slice * 2;
    return deadline_slice_ns(patience->deadline_ns, now_ns, slice);
}

static void sleep_once(struct shm_nic *shm, const struct nic_wait *wait, struct patience *patience,
                       int64_t now_ns)
{
    struct shm_door *door = shm->door;
    /* The bell is read before the flag is set: whoever takes the flag away changes the bell, and
     * then we do not sleep. */
    uint32_t seen = atomic_load(&door->bell);
    atomic_store(&door->has_sleeper, 1);
    shm_publish_to_all(shm); /* see shm_after_write() */
    if (look(shm, wait))
        return;
    if (shm->outside.asleep)
        shm->outside.asleep(shm->outside.context);
    counter_add(shm->nic.job->counters, COUNTER_WAIT_SLEEP, 1);
    shm_sleep(&door->bell, seen, next_slice(patience, now_ns));
}

/* A short wait is one of many that make up a longer one, and its text is not for people. */
static int late(struct shm_nic *shm, const struct nic_wait *wait)
{
    bool is_unreachable = wait->word && wait->timeout_ns > SLICE_LAST_NS &&
                          !shm_segment_has(shm, wait->word);
    return nic_wait_late(wait, is_unreachable
                                   ? "; the word is in no segment of this process, so that no "
                                     "other rank can write it"
                                   : "");
}

static int finish(struct shm_nic *shm, const struct nic_wait *wait, const struct patience *patience,
                  int64_t now_ns)
{
    if (is_met(shm, wait))
        return 0;
    expired.since_ns = patience->polls_since_ns;
    expired.until_ns = now_ns;
    return late(shm, wait);
}

static int wait_watched(struct shm_nic *shm, const struct nic_wait *wait, struct stall_watch *stall,
                        int64_t started_ns)
{
    struct patience patience = {.polls_since_ns = polls_since(shm, started_ns),
                                .deadline_ns = deadline_after_ns(started_ns, wait->timeout_ns),
                                .slice_ns = SLICE_FIRST_NS};
    patience.spins = !shm->outside.is_slow && habit_spins(&shm->habit);
    for (;; patience.rounds++) {
        if (look_for_a_while(shm, wait, &patience)) {
            expired.until_ns = 0;
            return 0;
        }
        int result = nic_wait_check(&shm->nic, wait->from);
        if (result < 0) /* what a dead peer did before counts */
            return look(shm, wait) ? 0 : result;
        int64_t now = clock_now_ns();
        if (now >= patience.deadline_ns)
            return finish(shm, wait, &patience, now);
        if (now - patience.polls_since_ns < shm->spin_ns ||
            (shm->outside.is_busy && now - patience.polls_since_ns < BUSY_NS &&
             shm->outside.is_busy(shm->outside.context)))
            continue;
        stall_watch_keep(stall, now);
        sleep_once(shm, wait, &patience, now);
    }
}

static rare_path int wait_slow(struct shm_nic *shm, const struct nic_wait *wait)
{
    int64_t now_ns = clock_now_ns();
    if (wait->stall)
        return wait_watched(shm, wait, wait->stall, now_ns);
    struct stall_watch stall = {.job = &shm->nic.job->watch,
                                .since_ns = now_ns,
                                .describe = nic_wait_describe,
                                .context = (void *)(uintptr_t)wait};
    int result = wait_watched(shm, wait, &stall, now_ns);
    stall_watch_end(&stall);
    return result;
}

static rare_path int wait_otherwise(struct nic *nic, const struct nic_wait *wait)
{
    struct shm_nic *shm = shm_nic_of(nic);
    const struct nic_wait copy = *wait; /* lets the compiler keep it in registers */
    if (look(shm, &copy))
        return 0;
    if (unlikely(copy.timeout_ns == 0)) {
        int result = nic_wait_check(nic, copy.from);
        return result < 0 ? result : RH_EAGAIN;
    }
    if (!shm->outside.is_slow && !habit_yields(&shm->habit) && spin_eagerly(shm, &copy))
        return 0;
    return wait_slow(shm, &copy);
}

/* The wait for a word that will soon be there comes first and straight. */
int shm_wait(struct nic *nic, const struct nic_wait *wait)
{
    nic_assert_wait(nic, wait);
    struct shm_nic *shm = shm_nic_of(nic);
    if (unlikely(!wait->word || wait->timeout_ns == 0 || shm->outside.progress))
        return wait_otherwise(nic, wait);
    unsigned looks = habit_yields(&shm->habit) ? LOOKS_YIELDING : HABIT_LOOKS;
    if (likely(nic_spin_on_word(wait->word, wait->when, wait->value, looks))) {
        habit_note_quick(&shm->habit);
        return 0;
    }
    return wait_slow(shm, wait);
}
