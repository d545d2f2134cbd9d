/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Detaching attached memory while peers copy: src/nic/shm/door.c (shm_hazard_set, shm_hazard_wait),
 * copy.c (copy_attached) and segment.c (withdraw, shm_segment_remove).
 *
 * An initiator found a view earlier; it announces a hazard, looks whether the generation still stands,
 * copies, clears the hazard. The owner changes the generation, then waits for hazards, then uses the
 * memory for something else. The initiator may die while copying; then the owner does not wait.
 * Must hold: nothing is written after the owner has taken its memory back, and the owner gets there.
 * Mutants, each of which must fail:
 *   CHECK_FIRST  the initiator looks at the generation before it announces the hazard
 *   NO_WAIT      the owner does not wait for hazards
 *   NO_DEATH     the owner waits for the dead
 */
#define INITIATORS 2

bool attached = true;
bool reused = false; /* the owner has its memory back */
bool hazard[INITIATORS];
bool dead[INITIATORS];

proctype initiator(byte me)
{
    bool current;
#ifdef CHECK_FIRST
    current = attached;
    hazard[me] = true;
#else
    hazard[me] = true; /* seq_cst: ordered before the look */
    current = attached;
#endif
    if
    :: current ->
        assert(!reused); /* first half of the copy */
        if
        :: dead[me] = true; goto over /* killed in the middle: no more writes, hazard stays set */
        :: skip
        fi;
        assert(!reused) /* second half */
    :: else
    fi;
    hazard[me] = false;
over:
    skip
}

active proctype owner()
{
    byte i;
    attached = false;
#ifndef NO_WAIT
    for (i : 0 .. INITIATORS - 1) {
#ifdef NO_DEATH
        !hazard[i]
#else
        (!hazard[i] || dead[i])
#endif
    };
#endif
    reused = true
}

init { byte i; atomic { for (i : 0 .. INITIATORS - 1) { run initiator(i) } } }
