/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Taking turns with a favoured thread: src/base/turn.[ch].
 *
 * The owner enters with plain stores, which sit in its store buffer until drained; two other threads
 * make the turn shared, drain the owner's buffer (membarrier) and wait until it is outside, then all
 * take the lock. Must hold: never two inside, nobody stays outside for ever.
 * Mutants, each of which must fail:
 *   NO_MEMBARRIER  the others do not drain the owner's buffer
 *   NO_LOOK        the owner does not look at the stage after its store
 *   NO_WAIT        the others do not wait for the owner
 *   ONE_STAGE      a third thread takes "changing" for "shared" (found by this model)
 */
bool is_inside = false; /* in memory */
byte buffered = 2;      /* the owner's store buffer: 0 or 1 to be written, 2 = empty */
byte stage = 0; /* 0 owned, 1 changing, 2 shared */
bool is_taken = false;
byte inside = 0; /* who is in the section */

inline drain() { if :: buffered < 2 -> is_inside = buffered; buffered = 2 :: else fi }
inline section() { inside++; assert(inside == 1); inside-- }
inline lock() { atomic { !is_taken -> is_taken = true } }

active proctype store_buffer()
{
end:
    do
    :: atomic { buffered < 2 -> is_inside = buffered; buffered = 2 }
    od
}

active proctype owner()
{
    byte i;
    for (i : 1 .. 2) {
        atomic { buffered == 2 -> buffered = 1 };
        if
#ifdef NO_LOOK
        :: true ->
#else
        :: stage == 0 ->
#endif
            section();
            atomic { buffered == 2 -> buffered = 0 }
#ifndef NO_LOOK
        :: else ->
            atomic { buffered == 2 -> buffered = 0 };
            atomic { drain() }; /* the lock is a locked instruction */
            stage == 2;
            lock();
            section();
            is_taken = false
#endif
        fi
    }
}

active [2] proctype other()
{
    if
    :: atomic { stage == 0 -> stage = 1 };
#ifndef NO_MEMBARRIER
        atomic { drain() };
#endif
#ifndef NO_WAIT
        !is_inside;
#endif
        stage = 2
#ifdef ONE_STAGE
    :: stage >= 1
#else
    :: stage == 2
#endif
    fi;
    lock();
    section();
    is_taken = false
}
