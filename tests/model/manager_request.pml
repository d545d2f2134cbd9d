/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A member's requests to its task manager: src/job/member/broker.c (job_exchange) and manager.c
 * (serve_member), manager_requests.c (publish, fetch).
 *
 * The member's THREADS ask under a lock, REQUESTS times each; the manager answers in order but may
 * stand still for any time, so that whoever waits may give up at any step. A publication says which
 * descriptor the manager is to hold from now on, and is tried again when it was given up; a look-up
 * gets a copy of what the manager holds, and knows which that must be if its own publication was
 * the last.
 * Must hold: whoever gets an answer gets that to its own question; no descriptor is left open that
 * nobody has; the manager never finds the member's buffer full, for which it would cut it off; a
 * publication that is tried again is not refused.
 * Mutants, each of which must fail:
 *   NO_NUMBER     the next answer is taken for ours
 *   KEEP_LATE     descriptors of a late answer are not closed
 *   NO_WINDOW     requests are sent however many answers are owing
 *   REFUSE_AGAIN  a publication is refused while an earlier one of the same name stands
 *   NO_LOCK       two threads ask at once
 */
#define THREADS  2
#define REQUESTS 2
#define WINDOW   2 /* OWING_MAX */
#define ROOM     2 /* answers that fit into the socket: at least WINDOW */

#define PUBLISH 0
#define FETCH   1
#define REFUSED 255

chan question = [4] of { byte, bit };     /* number, kind */
chan answer = [4] of { byte, bit, byte }; /* number, kind, which descriptor */
byte asked = 0, answered = 0; /* the last number sent, and the last of which an answer came */
bool is_locked = false;
byte held = 0;      /* what the manager holds */
byte published = 0; /* the last publication sent: descriptors are named by their requests */
byte given = 0, kept = 0, closed = 0; /* descriptors in answers; taken by callers; closed */
byte over = 0;

active proctype manager()
{
    byte number;
    bit kind;
end:
    do
    :: atomic {
        question ? number, kind;
        assert(len(answer) < ROOM); /* else it is cut off */
        if
        :: kind == FETCH -> given++; answer ! number, FETCH, held
#ifdef REFUSE_AGAIN
        :: kind == PUBLISH && held != 0 -> answer ! number, PUBLISH, REFUSED
        :: kind == PUBLISH && held == 0 -> held = number; answer ! number, PUBLISH, number
#else
        :: kind == PUBLISH -> held = number; answer ! number, PUBLISH, number
#endif
        fi
    }
    od
}

/* Takes one answer: ours ends the exchange, any other is late. */
inline take_one()
{
    atomic {
        answer ? got_number, got_kind, got_what;
        answered = got_number;
        if
#ifdef NO_NUMBER
        :: true -> is_ours = true
#else
        :: got_number == number -> is_ours = true
        :: got_number != number ->
#ifndef KEEP_LATE
            closed = closed + got_kind
#else
            skip
#endif
#endif
        fi
    }
}

inline exchange(the_kind)
{
#ifndef NO_LOCK
    atomic { !is_locked -> is_locked = true };
#endif
    is_ours = false; gave_up = false; number = 0;
    do
#ifndef NO_WINDOW
    :: number == 0 && asked - answered < WINDOW ->
#else
    :: number == 0 ->
#endif
        atomic {
            asked++;
            number = asked;
            if :: the_kind == PUBLISH -> published = number :: else fi;
            question ! number, the_kind
        }
    :: !is_ours && len(answer) > 0 -> take_one()
    :: is_ours -> break
    :: !is_ours && !gave_up -> gave_up = true; break /* the deadline, before or after asking */
    od;
#ifndef NO_LOCK
    is_locked = false
#endif
}

proctype member()
{
    byte number, got_number, got_what, mine, count;
    bit got_kind;
    bool is_ours, gave_up;
    for (count : 1 .. REQUESTS) {
        if
        :: exchange(PUBLISH);
            if
            :: is_ours ->
                assert(got_kind == PUBLISH);
                assert(got_what == number);
                mine = number
            :: else
            fi
        :: exchange(FETCH);
            if
            :: is_ours ->
                assert(got_kind == FETCH);
                kept++;
                assert(mine == 0 || mine != published || got_what == mine)
            :: else
            fi
        fi
    }
    over++
}

init
{
    atomic { run member(); run member() };
    /* Leaving closes the socket, and with it what is on the way. */
    over == THREADS && empty(question);
    do
    :: atomic { answer ? _, eval(FETCH), _ -> closed++ }
    :: atomic { answer ? _, eval(PUBLISH), _ }
    :: empty(answer) -> break
    od;
    assert(given == kept + closed)
}
