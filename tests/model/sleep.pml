/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sleeping waiter: src/nic/shm/wait.c (sleep_once, shm_ring) and shm_after_write().
 *
 * A waiter reads the bell, announces itself in `has_sleeper`, makes every core drain its store buffer
 * (membarrier), looks at the word once more and sleeps on the bell. A writer stores the word and then
 * looks at `has_sleeper` without a fence; if it is set, it takes it away, changes the bell and wakes.
 * Stores go through a store buffer, as on x86: the writer's look may pass its own store unless the
 * buffer is drained. Another writer, who writes something else, rings for its own reasons.
 *
 * Must hold: the waiter does not sleep for ever once the word has been stored (no invalid end state).
 * Mutants, each of which must fail:
 *   NO_MEMBARRIER  the waiter does not drain the writer's buffer
 *   NO_RECHECK     the waiter sleeps without looking again
 *   FLAG_FIRST     the waiter announces itself before it reads the bell
 *   NO_WAKE        the writer changes the bell but does not wake
 */
#define ROUNDS 3

byte word = 0;         /* in memory */
byte buffered = 0;     /* the writer's store buffer: value of word, 0 = empty */
bool has_sleeper = false;
byte bell = 0;
bool asleep = false;   /* in the kernel, on the bell */

inline drain() { if :: buffered > 0 -> word = buffered; buffered = 0 :: else fi }

/* The hardware may drain the buffer at any time. */
active proctype store_buffer()
{
end:
    do
    :: atomic { buffered > 0 -> word = buffered; buffered = 0 }
    od
}

/* shm_after_write() and shm_ring(); fetch_add is a locked instruction, so it drains. */
inline after_write()
{
    if
    :: has_sleeper ->
        atomic { drain(); has_sleeper = false };
        bell = (bell + 1) % 16;
#ifndef NO_WAKE
        asleep = false
#endif
    :: else
    fi
}

proctype writer()
{
    byte i;
    for (i : 1 .. ROUNDS) {
        /* one round at a time, as in a ping-pong */
        atomic { buffered == 0 && word == i - 1 -> buffered = i };
        after_write() /* no fence in between, so the look may pass the store */
    }
}

proctype other_writer()
{
    after_write();
    after_write()
}

proctype waiter()
{
    byte seen, i;
    for (i : 1 .. ROUNDS) {
        do
        :: word >= i -> break
        :: else ->
#ifdef FLAG_FIRST
            has_sleeper = true;
            seen = bell;
#else
            seen = bell;
            has_sleeper = true;
#endif
#ifndef NO_MEMBARRIER
            atomic { drain() };
#endif
#ifndef NO_RECHECK
            if
            :: word >= i -> skip
            :: else ->
#endif
                atomic { if :: bell == seen -> asleep = true :: else fi };
                !asleep
#ifndef NO_RECHECK
            fi
#endif
        od
    }
}

init { atomic { run writer(); run other_writer(); run waiter() } }
