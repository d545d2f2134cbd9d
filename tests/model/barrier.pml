/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The barrier of a set whose members count themselves in: src/msg/set/barrier.c (pass_counter,
 * release_all, look_around, is_complete), call.c (what was called) and set.c (set_break).
 *
 * MEMBERS members pass BARRIERS barriers and then leave the job; the counter stands in the memory of
 * member 0, the center. DEATHS of them stop at any step, which the others learn some time later; the
 * memory of one that died or left cannot be reached any more. One of them, or none, makes another call
 * than the others in one of the barriers: each adds what it calls to the upper half of the counter, in
 * the same step as it counts itself in. Numbers of barriers wrap around, here after two.
 * One release, of whomever, times out: it is never written, or some time later, but before what its
 * writer writes there next. Who releases then begins again, from the first member on (is_releasing),
 * and is in no other barrier before all was written.
 * Must hold: nobody passes a barrier before all have entered it, or one in which the calls differ;
 * barriers are numbered one by one; whoever lives ends, with an error only if somebody died or called
 * something else; after an error no barrier succeeds.
 * Mutants, each of which must fail:
 *   ONE_SHORT     the last but one releases the others
 *   NO_LOOK       who waits does not look whether members died
 *   CENTER_FIRST  the center is released first, and may be gone while others wait
 *   LEFT_IS_DEAD  who has left is taken for dead, without asking whether all had entered
 *   OWN_NUMBER    the release is a flag instead of the barrier's number
 *   BLIND_LAST    the last one does not compare the calls
 *   BLIND_HEIR    nor does one that finds all there, and the one dead that should have told it
 *   TOLD_FIRST    the last one compares after it has told the others
 *   NO_SELF       who is not released by another one does not do it itself, and so mistakes a number
 *                 that comes again
 *   GIVES_UP      a release that timed out is not made again
 *   LATE_RELEASE  one that timed out may come after what was written there later
 */
#ifndef MEMBERS
#define MEMBERS 3
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define BARRIERS 2
#define CENTER   0

byte counter = 0;       /* lower half: arrivals */
byte calls = 0;         /* upper half: what was called, summed up */
byte odd = MEMBERS;     /* who calls something else; MEMBERS: nobody */
byte odd_at = 0;        /* and in which barrier */
byte released[MEMBERS]; /* number of the barrier that a member was last released from */
byte entered[MEMBERS];
bool broken[MEMBERS]; /* told that a member is gone */
bool stopped[MEMBERS], died[MEMBERS], left[MEMBERS];
byte stops = 0;
byte timeouts = 0;
byte late_to = MEMBERS, late_word; /* a release that timed out and will still be written */

#ifdef LATE_RELEASE
#define COMES_FIRST(i) false
#else
#define COMES_FIRST(i) (late_to == i)
#endif
#ifdef GIVES_UP
#define NEXT MEMBERS
#else
#define NEXT 0
#endif
/* What is told to i may come later, or not at all. */
#define TIME_OUT(to)                                                                                 \
    timeouts++;                                                                                      \
    if                                                                                               \
    :: late_to = to; late_word = WORD                                                                \
    :: skip                                                                                          \
    fi;                                                                                              \
    i = NEXT
/* Whatever was to be written there earlier has been, or is overwritten. */
#define TELL(i) if :: COMES_FIRST(i) -> late_to = MEMBERS :: else fi; released[i] = WORD

#define STEP(what) atomic { if :: stopped[me] -> goto over :: else -> what fi }
#define IS_GONE(m) (died[m] || left[m])
#define SOME_DIED  (died[0] || died[1] || died[MEMBERS - 1])
#define SOME_LEFT  (left[0] || left[1] || left[MEMBERS - 1])
#define IS_COMPLETE (counter >= MEMBERS * number)
#define CALL        ((me == odd && number == odd_at) -> 1 : 0)
/* Who has gone on to the next barrier was released from this one, so that its calls were the same. */
#define IS_SAME     (counter > MEMBERS * number || calls == expected)
#define WORD        (number % 2)
#ifdef OWN_NUMBER
#define IS_RELEASED (released[me] > 0)
#else
#define IS_RELEASED (released[me] != (number - 1) % 2)
#endif
#ifdef BLIND_LAST
#define LAST_SAME true
#else
#define LAST_SAME IS_SAME
#endif
#ifdef BLIND_HEIR
#define HEIR_SAME true
#else
#define HEIR_SAME IS_SAME
#endif
#ifdef NO_LOOK
#define MUST_LOOK false
#elif defined(LEFT_IS_DEAD)
#define MUST_LOOK (broken[me] || SOME_DIED || SOME_LEFT)
#else
#define MUST_LOOK (broken[me] || IS_GONE(CENTER) || SOME_DIED || (SOME_LEFT && !IS_COMPLETE))
#endif

proctype member(byte me)
{
    byte number, i, before, expected;
    bool failed;
    for (number : 1 .. BARRIERS) {
        if
        :: broken[me] || failed -> STEP(failed = true); goto leave
        :: else
        fi;
        STEP(assert(entered[me] == number - 1); entered[me] = number);
        atomic {
            if
            :: stopped[me] -> goto over
            :: !stopped[me] && IS_GONE(CENTER) && me != CENTER -> failed = true; goto told
            :: else -> before = counter; counter++; calls = calls + CALL;
                       expected = expected + MEMBERS * CALL
            fi
        };
#ifdef ONE_SHORT
        if
        :: before + 2 == MEMBERS * number ->
#else
        if
        :: before + 1 == MEMBERS * number ->
#endif
            STEP(i = 0; before = 0);
#ifndef TOLD_FIRST
            atomic {
                if
                :: stopped[me] -> goto over
                :: !stopped[me] && !(LAST_SAME) -> failed = true; goto told
                :: else
                fi
            };
#endif
again:
            do /* release_all() */
            :: i < MEMBERS && timeouts == 0 && i != me && i != CENTER ->
                STEP(TIME_OUT(i)); goto again
            :: i < MEMBERS ->
#ifdef CENTER_FIRST
                STEP(if :: i != me -> TELL(i) :: else fi; i++)
#else
                STEP(if :: i != me && i != CENTER -> TELL(i) :: else fi; i++)
#endif
            :: else -> break
            od;
#ifdef TOLD_FIRST
            atomic {
                if
                :: stopped[me] -> goto over
                :: !stopped[me] && !(LAST_SAME) -> failed = true; goto told
                :: else
                fi
            };
#endif
            if
            :: me != CENTER && timeouts == 0 -> STEP(TIME_OUT(CENTER)); goto again
            :: true
            fi;
            STEP(if :: me != CENTER -> TELL(CENTER) :: else fi; i = 0);
#ifndef NO_SELF
            STEP(released[me] = WORD)
#else
            skip
#endif
        :: else ->
wait:
            atomic {
                before = 0;
                (stopped[me] || IS_RELEASED || MUST_LOOK);
                if
                :: stopped[me] -> goto over
                :: !stopped[me] && IS_RELEASED -> goto pass
                :: else
                fi
            };
            atomic { /* look_around(), some time later */
                if
                :: stopped[me] -> goto over
                :: !stopped[me] && IS_RELEASED -> goto pass
                :: !stopped[me] && !IS_RELEASED && (broken[me] || IS_GONE(CENTER)) -> failed = true; goto told
#ifdef LEFT_IS_DEAD
                :: !stopped[me] && !IS_RELEASED && !broken[me] && (SOME_DIED || SOME_LEFT) -> failed = true; goto told
#else
                :: !stopped[me] && !IS_RELEASED && !broken[me] && !IS_GONE(CENTER) && !IS_COMPLETE &&
                   (SOME_DIED || SOME_LEFT) -> failed = true; goto told
                :: !stopped[me] && !IS_RELEASED && !broken[me] && !IS_GONE(CENTER) && IS_COMPLETE && SOME_DIED &&
                   !(HEIR_SAME) -> failed = true; goto told
                :: !stopped[me] && !IS_RELEASED && !broken[me] && !IS_GONE(CENTER) && IS_COMPLETE && SOME_DIED &&
                   HEIR_SAME -> /* whoever should have told us is dead */
#ifndef NO_SELF
                    released[me] = WORD; /* or a late release passes for that of the next barrier */
#endif
                    goto pass
#endif
                :: else -> goto wait
                fi
            }
        fi;
pass:
        atomic {
            if :: stopped[me] -> goto over :: else fi;
            assert(odd == MEMBERS || number != odd_at);
            i = 0;
            do
            :: i < MEMBERS -> assert(entered[i] >= number); i++
            :: else -> break
            od;
            i = 0
#ifdef OWN_NUMBER
            ; released[me] = 0
#endif
        }
    };
    goto leave;
told: /* set_break() */
    atomic { broken[me] = true; i = 0 };
    do
    :: i < MEMBERS -> STEP(if :: !IS_GONE(i) -> broken[i] = true :: else fi; i++)
    :: else -> break
    od;
leave:
    atomic {
        if :: stopped[me] -> goto over :: else fi;
        /* nobody is told of a death that did not happen */
        assert(!failed || stops > 0 || odd < MEMBERS);
        left[me] = true
    };
over:
    skip
}

active proctype network()
{
end:
    atomic { late_to < MEMBERS -> released[late_to] = late_word; late_to = MEMBERS }
}

proctype death(byte victim)
{
    atomic {
        if
        :: left[victim] -> goto over /* too late */
        :: else -> stopped[victim] = true; stops++
        fi
    };
    died[victim] = true;
over:
    skip
}

init {
    byte i;
    atomic {
        if :: odd = 0 :: odd = MEMBERS - 1 :: odd = MEMBERS fi;
        if :: odd < MEMBERS -> if :: odd_at = 1 :: odd_at = 2 fi :: else fi;
        for (i : 0 .. MEMBERS - 1) { run member(i) };
        if
        :: DEATHS >= 1 -> if :: run death(0) :: run death(1) :: run death(MEMBERS - 1) fi
        :: true
        fi;
        if
        :: DEATHS >= 2 -> if :: run death(0) :: run death(1) :: run death(MEMBERS - 1) fi
        :: else
        fi
    }
}
