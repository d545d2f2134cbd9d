/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Detaching attached memory while peers copy: src/nic/shm/hazard.c (shm_hazard_set, shm_hazard_wait),
 * gate.c, copy.c (copy_attached) and segment.c (shm_segment_remove).
 *
 * An initiator found a view earlier; it announces a hazard, notes which gate of the owner is open,
 * looks whether the generation still stands, copies, clears the hazard. The copy is one call of the
 * kernel, which goes through the gate first: if that is shut it moves nothing, else it moves all.
 * The owner changes the generation, then waits for hazards, then uses the memory for something else.
 * The initiator may be stopped anywhere outside of the kernel's copy, go on later or never, and may
 * die anywhere. The owner does not wait for the dead, nor for one that it has seen stopped after it
 * has opened the next gate and shut this one. Other segments live on: their copies find the new gate.
 * Must hold: nothing is written after the owner has taken its memory back, the owner gets there,
 * and a segment that stays attached is always reached.
 * Mutants, each of which must fail:
 *   CHECK_FIRST  the initiator looks at the generation before it announces the hazard
 *   NO_WAIT      the owner does not wait for hazards
 *   NO_DEATH     the owner waits for the dead
 *   NO_STOP      the owner waits for the stopped
 *   NO_GATE      the owner lets the stopped be and shuts no gate
 *   SEEN_BEFORE  the owner shuts the gate after it has seen who is stopped
 *   GATE_LATE    the initiator notes the gate after its look at the generation
 *   SHUT_FIRST   the owner shuts the gate before it opens the next one
 */
#define INITIATORS 2 /* the last one copies into another segment, which stays */

bool attached = true;
bool reused = false; /* the owner has its memory back */
bool hazard[INITIATORS];
bool dead[INITIATORS];
bool stopped[INITIATORS];
byte gate = 0;  /* the one that is told to others */
bool shut[3];

/* Where a signal may hit; nobody need ever let it go on. */
#define MAYBE_STOP(end_label)                                                                      \
    if                                                                                             \
    :: stopped[me] = true; end_label: !stopped[me]                                                 \
    :: dead[me] = true; goto over                                                                  \
    :: skip                                                                                        \
    fi

proctype initiator(byte me)
{
    bool current, was_shut;
    byte through;
#ifdef CHECK_FIRST
    current = attached;
    hazard[me] = true;
#else
    hazard[me] = true; /* seq_cst: ordered before the look */
#endif
again:
#ifndef GATE_LATE
    through = gate;
#endif
    MAYBE_STOP(end_before_look);
#ifndef CHECK_FIRST
    current = attached || me == INITIATORS - 1;
#endif
#ifdef GATE_LATE
    through = gate;
#endif
    MAYBE_STOP(end_after_look);
    if
    :: current ->
        was_shut = shut[through]; /* from here on in the kernel: runs to its end, or dies */
        if
        :: was_shut ->
            if
            :: me != INITIATORS - 1 -> goto done_copying /* it is stale, as a new look would tell */
            :: else ->
                assert(through != gate); /* else it would report memory that is not there */
                goto again
            fi
        :: else
        fi;
        assert(me == INITIATORS - 1 || !reused); /* first half of the copy */
        if
        :: dead[me] = true; goto over /* killed in the middle: no more writes, hazard stays set */
        :: skip
        fi;
        assert(me == INITIATORS - 1 || !reused) /* second half */
    :: else
    fi;
done_copying:
    MAYBE_STOP(end_after_copy);
    hazard[me] = false;
over:
    skip
}

/* Whoever sends SIGCONT: maybe. */
active proctype waker()
{
    byte i;
    for (i : 0 .. INITIATORS - 1) {
        if
        :: stopped[i] -> stopped[i] = false
        :: skip
        fi
    }
}

inline change_gate()
{
#ifdef SHUT_FIRST
    shut[gate] = true;
    gate++
#else
    gate++;
    shut[gate - 1] = true
#endif
}

active proctype owner()
{
    attached = false;
#ifndef NO_WAIT
    if
    :: !hazard[0] || dead[0]
    :: skip -> /* patience is over */
#ifdef SEEN_BEFORE
        if
        :: !hazard[0] || dead[0] -> goto free
        :: stopped[0]
        fi;
        change_gate();
        goto free;
#endif
#ifndef NO_GATE
        change_gate();
#endif
        if
#ifdef NO_DEATH
        :: !hazard[0]
#else
        :: !hazard[0] || dead[0]
#endif
#ifndef NO_STOP
        :: stopped[0]
#endif
        fi
    fi;
free:
#endif
    reused = true
}

init { byte i; atomic { for (i : 0 .. INITIATORS - 1) { run initiator(i) } } }
