/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sleeping waiter: src/nic/shm/wait.c (sleep_once, shm_ring) and shm_after_write().
 *
 * A waiter announces itself in `sleepers`, makes every core drain its store buffer (membarrier), reads
 * the bell, looks at the word once more and sleeps on the bell. The writer stores the word and then
 * looks at `sleepers` without a fence; if it sees one, it changes the bell and wakes. Stores go
 * through a store buffer, as on x86: the writer's look may pass its own store unless the buffer is
 * drained. The writer may die at any point before its store; the waiter then needs no wake-up.
 *
 * Must hold: the waiter does not sleep for ever once the word has been stored (no invalid end state).
 * Mutants, each of which must fail:
 *   NO_MEMBARRIER  the waiter does not drain the writer's buffer
 *   NO_RECHECK     the waiter sleeps without looking again
 *   LATE_BELL      the waiter reads the bell after its last look
 *   NO_WAKE        the writer changes the bell but does not wake
 */
#define ROUNDS 3

byte word = 0;         /* in memory */
byte buffered = 0;     /* the writer's store buffer: value of word, 0 = empty */
byte sleepers = 0;
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

proctype writer()
{
    byte i;
    for (i : 1 .. ROUNDS) {
        /* one round at a time, as in a ping-pong */
        atomic { buffered == 0 && word == i - 1 -> buffered = i }
        /* shm_after_write: no fence here, so this may pass the store */
        if
        :: sleepers > 0 ->
            /* fetch_add is a locked instruction: it drains */
            atomic { drain(); bell = (bell + 1) % 8 }
#ifndef NO_WAKE
            asleep = false
#endif
        :: else
        fi
    }
}

proctype waiter()
{
    byte seen, i;
    for (i : 1 .. ROUNDS) {
        do
        :: word >= i -> break
        :: else ->
            sleepers++;
#ifndef NO_MEMBARRIER
            atomic { drain() }
#endif
#ifdef LATE_BELL
            if
            :: word >= i -> skip
            :: else ->
                seen = bell;
                atomic { if :: bell == seen -> asleep = true :: else fi }
                !asleep
            fi;
#else
            seen = bell;
#ifndef NO_RECHECK
            if
            :: word >= i -> skip
            :: else ->
#endif
                atomic { if :: bell == seen -> asleep = true :: else fi }
                !asleep
#ifndef NO_RECHECK
            fi;
#endif
#endif
            sleepers--
        od
    }
}

init { atomic { run writer(); run waiter() } }
