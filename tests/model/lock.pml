/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lock: src/msg/lock/lock.c (request, unlock), wait.c (lock_wait_behind, lock_hand_over, give_up,
 * lock_is_broken), repair.c (begin, close_queue, take_stock, mend), plan.c.
 *
 * RANKS ranks take and release one lock whose representative lives on; DEATHS of them stop at any
 * step, which the others learn some time later. LEAVERS ranks may only try, or give up waiting and
 * perhaps come back. DOUBTS requests time out though their swap may still happen (request_failed), of
 * which the rank hears when it asks again, if it does (request_again).
 * Must hold: nobody is inside together with a rank that is not known to be dead; who comes inside
 * after one that died there is told; whoever lives ends, so nobody waits for ever.
 * Mutants, each of which must fail:
 *   NO_STEPS       the repairer does not wait for ranks that are between two steps
 *   ONE_READING    it reads the qnodes once
 *   NO_REPAIRER    there may be two repairers
 *   NO_REPAIR      deaths are not repaired
 *   NO_TELL        the successor of a dead holder is not told
 *   PLAIN_GRANT    the lock is handed over by a store, also to one that has given up
 *   NO_HANDING     a rank that hands over looks like a holder until it is through
 *   LAST_UNSEEN    that the last requester stood in the queue is forgotten when it is gone
 *   NAMED_UNSEEN   so is that somebody stood there whom the living name
 * and with DOUBTS (lock_doubt.pml):
 *   REPEATED       a request in doubt is made again instead of being gone on with
 *   STILL_IN       who asks again does not look whether a repair has taken it out meanwhile
 */
#ifndef RANKS
#define RANKS 3
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef LEAVERS
#define LEAVERS 1
#endif

#ifndef DOUBTS
#define DOUBTS 0
#endif

#define IDLE       0
#define REQUESTING 1
#define WAITING    2
#define HELD       3
#define HANDING    4

#define WAIT         0
#define GRANTED      1
#define GRANTED_DIED 2
#define DEPARTED     3
#define OUT          4

/* Names: turn and rank; or one of these. 0 is nobody. */
#define NAME(r)   (turn[r] * 8 + (r) + 1)
#define RANK(n)   ((n) % 8 - 1)
#define TURN(n)   ((n) / 8)
#define FREE      100
#define FREE_DIED 101
#define MARK      110 /* + number of the repair */
#define NONE      255

byte last = FREE;
byte repairer = 0; /* rank + 1 */
byte number = 0;   /* of the last repair */
byte phase[RANKS], turn[RANKS], next[RANKS], pred[RANKS];
byte grant[RANKS];      /* turn * 8 + what */
bool stopped[RANKS];    /* does nothing any more */
bool known[RANKS];      /* and that is known */
bool inside[RANKS];
byte deaths = 0;
byte doubts = 0;
byte asked = 0;  /* a name that will still be swapped in, or not */
byte answer = 0; /* what the swap found; NONE: it will never happen */

/* What the repairer knows; there is one at a time. */
typedef Seat { byte phase; byte turn; byte next; byte pred; byte grant; bool gone; bool new; bool planned };
Seat seat[RANKS];
bool was_gone[RANKS];
byte order[RANKS];
byte stood = 0; /* has_stood, a bit for each rank */

/* lost_its_holder() */
#define STOOD(r) (stood >> (r) & 1)
#define IS_MISSED(r) (seat[r].gone && STOOD(r))
#define LOST_HOLDER (has_lost || \
    (old != FREE && (IS_MISSED(0) || IS_MISSED(1) || IS_MISSED(RANKS - 1))))

#define STEP(what) atomic { if :: stopped[me] -> goto over :: else -> what fi }
#define SEAT_NAME(r)    (seat[r].turn * 8 + (r) + 1)
#define SEAT_GRANT(r)   (seat[r].grant % 8)
#define IS_GRANTED(r)   (seat[r].phase == HELD || (seat[r].phase == WAITING && \
                         (SEAT_GRANT(r) == GRANTED || SEAT_GRANT(r) == GRANTED_DIED)))
#define IS_QUEUED(r)    (!seat[r].gone && (IS_GRANTED(r) || (seat[r].phase == WAITING && SEAT_GRANT(r) != OUT)))
#define IS_OLD(r)       (IS_QUEUED(r) && !seat[r].new && !seat[r].planned)

/* lock_is_broken(): somebody ahead of a place in the queue is gone. RANKS steps are enough. */
#define IS_LOST(n) ((n) == 0 || ((n) >= FREE && (n) <= MARK) || \
    ((n) > MARK && (repairer == 0 || number != (n) - MARK || known[repairer - 1])) || \
    ((n) < FREE && (known[RANK(n)] || turn[RANK(n)] != TURN(n) || phase[RANK(n)] == IDLE || \
                    (phase[RANK(n)] == WAITING && grant[RANK(n)] % 8 == OUT))))
#define WAITS(n) ((n) < FREE && phase[RANK(n)] == WAITING && \
    (grant[RANK(n)] % 8 == WAIT || grant[RANK(n)] % 8 == DEPARTED))
#define BROKEN_1(n) IS_LOST(n)
#define BROKEN_2(n) (IS_LOST(n) || (WAITS(n) && BROKEN_1(pred[RANK(n)])))
#define BROKEN(n)   (IS_LOST(n) || (WAITS(n) && BROKEN_2(pred[RANK(n)])))
#define IS_ASKING(r) (phase[r] == REQUESTING && !known[r])
#define SOME_ASK     (IS_ASKING(0) || IS_ASKING(1) || IS_ASKING(RANKS - 1))
#define IS_BETWEEN(r) (!known[r] && (phase[r] == REQUESTING || phase[r] == HANDING))

/* find_behind(): the old one that waits behind a name. */
inline find_behind(name) {
    found = NONE; i = 0;
    do
    :: i < RANKS && found == NONE && IS_OLD(i) && seat[i].pred == name && name != 0 -> found = i
    :: i < RANKS && !(found == NONE && IS_OLD(i) && seat[i].pred == name && name != 0) -> i++
    :: i >= RANKS -> break
    od;
    i = 0
}

inline find_beginning() {
    found = NONE; i = RANKS;
    do
    :: i == 0 -> break
    :: else ->
        i--;
        if
        :: IS_OLD(i) && IS_GRANTED(i) -> found = i; break
        :: IS_OLD(i) && !IS_GRANTED(i) ->
            at = seat[i].pred;
            if
            :: found == NONE || at == 0 || at >= FREE -> found = i
            :: else ->
                if
                :: IS_QUEUED(RANK(at)) && SEAT_NAME(RANK(at)) == at -> skip
                :: else -> found = i
                fi
            fi
        :: else -> skip
        fi
    od;
    at = 0; i = 0
}

inline plan() {
    count = 0; holder = false; newcomer = NONE; j = 0;
    do
    :: j < RANKS -> seat[j].new = false; seat[j].planned = false; j++
    :: else -> break
    od;
    j = 0; /* find_newcomers(): as many passes as there are ranks */
    do
    :: j < RANKS * RANKS ->
        i = j % RANKS; at = seat[i].pred;
        if
        :: !IS_QUEUED(i) || IS_GRANTED(i) || seat[i].new -> skip
        :: else ->
            if
            :: at == MARK + number -> newcomer = i; seat[i].new = true
            :: at != 0 && at < FREE ->
                if
                :: seat[RANK(at)].new && SEAT_NAME(RANK(at)) == at -> seat[i].new = true
                :: else -> skip
                fi
            :: else -> skip
            fi
        fi;
        j++
    :: else -> break
    od;
    j = 0; at = 0;
    find_beginning();
    if
    :: found != NONE && IS_GRANTED(found) -> holder = true
    :: else
    fi;
    do
    :: found == NONE -> break
    :: else ->
        order[count] = found; seat[found].planned = true;
        j = found; count++;
        at = SEAT_NAME(j); find_behind(at);
        if
        :: found == NONE -> at = seat[j].next; find_behind(at)
        :: else
        fi;
        if
        :: found == NONE -> find_beginning()
        :: else
        fi
    od;
    j = 0; at = 0
}

proctype rank(byte me; bool may_leave)
{
    byte before, n, i, j, at, found, count, newcomer, from, to, old;
    bool told, ok, holder, overtaken, unlocking, trying, closed, has_lost;
    if
    :: may_leave -> goto try
    :: true -> goto request
    fi;
try: /* rh_lock_try(): once more after a repair */
    STEP(turn[me]++; phase[me] = REQUESTING);
    atomic {
        if
        :: stopped[me] -> goto over
        :: !stopped[me] && (last == FREE || last == FREE_DIED) ->
            told = (last == FREE_DIED); last = NAME(me); phase[me] = HELD; trying = false; goto critical
        :: else -> at = last
        fi
    };
    STEP(phase[me] = IDLE; ok = BROKEN(at); at = 0);
    if
    :: ok && !trying -> ok = false; trying = true; goto repair
    :: else -> ok = false; trying = false; goto over
    fi;
request:
    STEP(turn[me]++; phase[me] = REQUESTING);
#if DOUBTS > 0
    if
    :: atomic { doubts < DOUBTS && !stopped[me] -> doubts++; asked = NAME(me) }; goto doubt
    :: true
    fi;
#endif
    STEP(before = last; last = NAME(me));
judged:
    if
    :: before == FREE || before == FREE_DIED ->
        STEP(phase[me] = HELD; told = (before == FREE_DIED); before = 0); goto critical
    :: else
    fi;
    STEP(grant[me] = turn[me] * 8 + WAIT; pred[me] = before);
    STEP(if :: before < FREE -> next[RANK(before)] = NAME(me) :: else fi; before = 0);
    STEP(phase[me] = WAITING);
waiting:
    atomic {
        (stopped[me] || grant[me] != turn[me] * 8 + WAIT || may_leave || BROKEN(pred[me]));
        if
        :: stopped[me] -> goto over
        :: !stopped[me] && grant[me] != turn[me] * 8 + WAIT -> goto take
        :: !stopped[me] && grant[me] == turn[me] * 8 + WAIT && BROKEN(pred[me]) -> goto repair
        :: !stopped[me] && grant[me] == turn[me] * 8 + WAIT && may_leave ->
            grant[me] = turn[me] * 8 + DEPARTED; goto away
        fi
    };
take:
    STEP(told = (grant[me] == turn[me] * 8 + GRANTED_DIED); phase[me] = HELD);
critical:
    atomic {
        if :: stopped[me] -> goto over :: else fi;
        i = 0;
        do
        :: i < RANKS && inside[i] ->
            assert(known[i]); /* nobody else is here, but for the dead */
            assert(told);     /* of whom we know */
            inside[i] = false; i++
        :: i < RANKS && !inside[i] -> i++
        :: i == RANKS -> break
        od;
        i = 0; inside[me] = true; told = false
    };
    STEP(inside[me] = false);
unlock:
#ifdef NO_HANDING
    STEP(n = next[me]);
#else
    STEP(n = next[me]; phase[me] = HANDING);
#endif
    atomic {
        if :: stopped[me] -> goto over :: else fi;
        ok = false;
        if
        :: n == 0 && last == NAME(me) -> last = FREE; ok = true
        :: n == 0 && last != NAME(me) -> skip
#ifdef PLAIN_GRANT
        :: n != 0 -> grant[RANK(n)] = TURN(n) * 8 + GRANTED; ok = true
#else
        :: n != 0 && grant[RANK(n)] == TURN(n) * 8 + WAIT -> grant[RANK(n)] = TURN(n) * 8 + GRANTED; ok = true
        :: n != 0 && grant[RANK(n)] != TURN(n) * 8 + WAIT -> skip
        :: n != 0 && known[RANK(n)] -> skip /* the NIC refuses */
#endif
        fi
    };
    if
    :: ok -> STEP(next[me] = 0; phase[me] = IDLE; ok = false; n = 0); goto over
    :: else -> STEP(phase[me] = HELD)
    fi;
    atomic { /* find_next(): wait for somebody who is about to tell us, or repair */
        (stopped[me] || next[me] != n || n != 0 || last == NAME(me) || !SOME_ASK);
        if
        :: stopped[me] -> goto over
        :: !stopped[me] && (next[me] != n || (n == 0 && last == NAME(me))) -> goto unlock
        :: else -> unlocking = true; goto repair
        fi
    };
away: /* the deadline has passed; the program may try again */
    if
    :: goto over
    :: STEP(if
            :: grant[me] == turn[me] * 8 + DEPARTED -> grant[me] = turn[me] * 8 + WAIT; may_leave = false; goto waiting
            :: grant[me] == turn[me] * 8 + OUT -> next[me] = 0; phase[me] = IDLE; may_leave = false; goto request
            :: else
            fi); goto over
    fi;

#if DOUBTS > 0
doubt: /* request_failed() */
    STEP(grant[me] = turn[me] * 8 + DEPARTED);
    STEP(pred[me] = 0);
    STEP(phase[me] = WAITING);
    if
    :: goto over
    :: true
    fi;
#ifdef REPEATED
    STEP(before = last; last = NAME(me));
#else
    atomic { /* request_again() */
        (stopped[me] || asked == 0);
        if :: stopped[me] -> goto over :: else -> before = answer; answer = 0 fi
    };
#endif
    STEP(phase[me] = REQUESTING);
    STEP(if
#ifdef STILL_IN
         :: true -> grant[me] = turn[me] * 8 + WAIT
#else
         :: grant[me] == turn[me] * 8 + DEPARTED -> grant[me] = turn[me] * 8 + WAIT
         :: else -> before = NONE
#endif
         fi);
    if
    :: before == NONE -> STEP(next[me] = 0; phase[me] = IDLE; before = 0); goto request
    :: else -> goto judged
    fi;
#endif

repair:
#ifdef NO_REPAIR
    false;
#endif
    atomic { /* begin() */
        if
        :: stopped[me] -> goto over
#ifndef NO_REPAIRER
        :: !stopped[me] && repairer != 0 && !known[repairer - 1] ->
            (stopped[me] || repairer == 0 || known[repairer - 1]); goto back
#endif
        :: else -> repairer = me + 1
        fi
    };
close:
    STEP(i = 0; do :: i < RANKS -> was_gone[i] = known[i]; i++ :: else -> break od; i = 0; overtaken = false);
    STEP(number++; assert(number < 30); /* it does not go on for ever */ old = last; last = MARK + number;
        if /* note_last() */
#ifndef LAST_UNSEEN
        :: old != 0 && old < FREE -> stood = stood | (1 << RANK(old))
        :: old > MARK && !closed -> stood = 255
#endif
        :: else
        fi;
        closed = true; has_lost = has_lost || old == FREE_DIED);
look:
    STEP(i = 0);
    do
    :: i < RANKS ->
        STEP(seat[i].phase = phase[i]; seat[i].turn = turn[i]; seat[i].next = next[i];
             seat[i].pred = pred[i]; seat[i].grant = grant[i]; seat[i].gone = known[i]; i++)
    :: else -> break
    od;
    STEP(i = 0);
    do
    :: i < RANKS ->
        atomic {
            if
            :: stopped[me] -> goto over
            :: !stopped[me] && known[i] && !was_gone[i] -> goto close
#ifndef NO_STEPS
            :: !stopped[me] && IS_BETWEEN(i) -> (stopped[me] || !IS_BETWEEN(i)); goto look
#endif
#ifndef ONE_READING
            :: !stopped[me] && !known[i] && (seat[i].phase != phase[i] || seat[i].turn != turn[i] ||
               seat[i].next != next[i] || seat[i].pred != pred[i] || seat[i].grant != grant[i]) -> goto look
#endif
            :: else -> i++
            fi
        }
    :: else -> break
    od;
    STEP(plan());
#ifndef NAMED_UNSEEN
    STEP(i = 0;
        do /* note_named() */
        :: i < RANKS ->
            if
            :: !seat[i].gone && seat[i].phase == WAITING && seat[i].pred != 0 && seat[i].pred < FREE ->
                stood = stood | (1 << RANK(seat[i].pred))
            :: else
            fi;
            i++
        :: else -> break
        od);
#endif
    STEP(i = 0; j = 0);
    do /* expel() */
    :: i < count ->
        atomic {
            if :: stopped[me] -> goto over :: else fi;
            from = order[i];
            if
            :: seat[from].phase == WAITING && SEAT_GRANT(from) == DEPARTED ->
                if
                :: grant[from] == seat[from].grant -> grant[from] = seat[from].turn * 8 + OUT
                :: else -> goto look
                fi
            :: else -> order[j] = from; j++
            fi;
            i++
        }
    :: else -> break
    od;
    STEP(count = j; i = 0; j = 0);
    do /* join_all() */
    :: i + 1 < count || (i + 1 == count && newcomer != NONE) ->
        STEP(from = order[i]; if :: i + 1 < count -> to = order[i + 1] :: else -> to = newcomer fi);
        STEP(if :: pred[to] == seat[to].pred -> pred[to] = SEAT_NAME(from) :: else -> goto look fi);
        STEP(if :: next[from] == seat[from].next -> next[from] = SEAT_NAME(to) :: else -> goto look fi; i++)
    :: else -> break
    od;
    STEP(i = 0);
    if
    :: newcomer == NONE -> /* take_mark_away() */
        if
        :: count > 0 ->
            STEP(from = order[count - 1];
                 if :: next[from] == seat[from].next -> next[from] = 0 :: else -> goto look fi)
        :: else
        fi;
        atomic {
            if
            :: stopped[me] -> goto over
            :: !stopped[me] && last == MARK + number ->
                if
                :: count > 0 -> last = SEAT_NAME(order[count - 1])
                :: count == 0 && !LOST_HOLDER -> last = FREE
                :: else -> last = FREE_DIED
                fi
            :: !stopped[me] && last != MARK + number && !overtaken -> overtaken = true; goto look
            :: else -> goto close
            fi
        }
    :: else
    fi;
    atomic { /* grant_first() */
        if :: stopped[me] -> goto over :: else fi;
        if
        :: !holder && (count > 0 || newcomer != NONE) ->
            if :: count > 0 -> from = order[0] :: else -> from = newcomer fi;
            if
            :: grant[from] == seat[from].turn * 8 + WAIT ->
#ifdef NO_TELL
                grant[from] = seat[from].turn * 8 + GRANTED
#else
                if
                :: !LOST_HOLDER -> grant[from] = seat[from].turn * 8 + GRANTED
                :: else -> grant[from] = seat[from].turn * 8 + GRANTED_DIED
                fi
#endif
            :: else -> goto close
            fi
        :: else
        fi
    };
    atomic { /* end() */
        if :: stopped[me] -> goto over :: else fi;
        repairer = 0; i = 0; stood = 0;
        do
        :: i < RANKS -> seat[i].phase = 0; seat[i].turn = 0; seat[i].next = 0; seat[i].pred = 0;
            seat[i].grant = 0; seat[i].gone = false; seat[i].new = false; seat[i].planned = false;
            was_gone[i] = false; order[i] = 0; i++
        :: else -> break
        od;
        i = 0
    };
back:
    atomic {
        from = 0; to = 0; old = 0; count = 0; newcomer = 0; found = 0; holder = false; overtaken = false; closed = false; has_lost = false;
        if
        :: unlocking -> unlocking = false; goto unlock
        :: trying -> goto try
        :: else -> goto waiting
        fi
    };
over:
    skip
}

#if DOUBTS > 0
active proctype network()
{
end:
    do
    :: atomic { asked != 0 -> answer = last; last = asked; asked = 0 }
    :: atomic { asked != 0 -> answer = NONE; asked = 0 }
    od
}
#endif

/* Stops a rank at any moment; that becomes known at any later one. */
proctype death(byte victim)
{
    atomic { stopped[victim] = true; deaths++ };
    known[victim] = true
}

init {
    byte i;
    atomic {
        for (i : 0 .. RANKS - 1) { run rank(i, i >= RANKS - LEAVERS) };
        if
        :: DEATHS >= 1 -> if :: run death(0) :: run death(1) :: run death(RANKS - 1) fi
        :: else
        fi;
        if
        :: DEATHS >= 2 -> if :: run death(0) :: run death(1) :: run death(RANKS - 1) fi
        :: else
        fi
    }
}
