/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fabric that changes its forwarding tables while packets are under way: src/route/repair/stages.[ch],
 * check_transition.[ch].
 *
 * A ring of four switches, a buffer for each direction of each cable. Switches take over the
 * entries of a stage one by one in any order; the next stage begins when all have them and no packet
 * sent before that is under way. A packet's output is looked up when it comes in, as switches do; so
 * one that still waits where it came in from its host is under way too (found by this model). Must
 * hold: nobody goes round in a circle, nobody waits for ever.
 *
 * Two changes, each with the stages that stages.c makes of it:
 *   0  everything across the ring goes the other way round: no turns that both tables keep to, so
 *      the entries drop packets in the first stage
 *   1  the cable from 1 to 2 is gone: 0 must turn away from 1 before 1 may turn to 0
 * Mutants, each of which must fail:
 *   ANY_ORDER   no stages
 *   NO_BARRIER  the second stage begins before all switches have the first
 *   ONLY_CABLES packets that wait where they came in from their hosts do not count as under way
 *   TOGETHER    the same for the second change only: a circle
 *   NO_DRAIN    the second stage begins while packets of the old ways are under way
 */
#define DROP  0
#define RIGHT 1 /* to the next switch */
#define LEFT  2
#define HERE  3
#define PACKETS 2 /* of each host */

typedef packet { bool there; byte target; byte out; byte hops; byte sent }

packet buffer[8];  /* 0-3: RIGHT of that switch, 4-7: LEFT of it; at the far end of the cable */
byte next[16];     /* [switch * 4 + target] */
byte wanted[32];   /* [stage * 16 + switch * 4 + target], stages 0 and 1 */
byte change;
byte begun = 0;    /* stages that switches may take entries from */
byte epoch = 0;    /* stages that all switches have */
byte held[4];      /* a packet that waits where it came in from its host: epoch + 1, 0: none */
byte hosts_done = 0;
bool done = false;

#define far_end(c) (((c) < 4) -> (((c) + 1) % 4) : (((c) + 3) % 4))
#define way(s, o)  (((o) == RIGHT) -> (s) : (4 + (s)))
#define is_old(c)  (buffer[c].there && buffer[c].sent == 0)
#define is_held(h) (held[h] == 1)
#define inside     (buffer[0].there || buffer[1].there || buffer[2].there || buffer[3].there || \
                    buffer[4].there || buffer[5].there || buffer[6].there || buffer[7].there)
#ifdef ONLY_CABLES
#undef is_held
#define is_held(h) false
#endif
#define old_inside (is_old(0) || is_old(1) || is_old(2) || is_old(3) || is_old(4) || is_old(5) || \
                    is_old(6) || is_old(7) || is_held(0) || is_held(1) || is_held(2) || is_held(3))
#define wants(i)   (next[i] != wanted[(begun - 1) * 16 + (i)])

/* A packet goes over a cable; what has arrived or is dropped takes no room. */
inline put(c, target_, hops_, sent_)
{
    at = far_end(c);
    o = next[at * 4 + target_];
    assert(hops_ <= 3); /* a circle, if there were more */
    if
    :: o == RIGHT || o == LEFT ->
        buffer[c].there = true;
        buffer[c].target = target_;
        buffer[c].out = o;
        buffer[c].hops = hops_;
        buffer[c].sent = sent_
    :: else
    fi
}

inline set(stage_, s, t, o) { wanted[(stage_) * 16 + (s) * 4 + (t)] = o }

/* Shortest ways; across the ring RIGHT from 0 and 1, LEFT from 2 and 3. */
inline tables_make()
{
    for (i : 0 .. 3) {
        next[i * 4 + i] = HERE;
        next[i * 4 + (i + 1) % 4] = RIGHT;
        next[i * 4 + (i + 3) % 4] = LEFT;
        next[i * 4 + (i + 2) % 4] = (i < 2 -> RIGHT : LEFT)
    }
    if
    :: change == 1 -> next[1 * 4 + 2] = DROP /* the cable is gone */
    :: else
    fi;
    for (i : 0 .. 15) {
        wanted[i] = next[i];
        wanted[16 + i] = next[i]
    }
    if
    :: change == 0 ->
        for (i : 0 .. 3) {
            set(0, i, (i + 2) % 4, DROP);
            set(1, i, (i + 2) % 4, (i < 2 -> LEFT : RIGHT))
        }
    :: else ->
        set(0, 0, 2, LEFT);
        set(1, 0, 2, LEFT);
        set(1, 1, 2, LEFT)
    fi;
    i = 0
}

proctype host(byte from)
{
    byte k, o, at, c;
    byte target = (change == 0 -> (from + 2) % 4 : 2);
    for (k : 1 .. PACKETS) {
        atomic {
            o = next[from * 4 + target];
            if
            :: (o != RIGHT && o != LEFT) -> goto dropped
            :: else -> held[from] = epoch + 1; c = way(from, o)
            fi
        }
        atomic {
            !buffer[c].there;
            put(c, target, 1, held[from] - 1);
            held[from] = 0
        }
dropped:
        o = 0; at = 0; c = 0
    }
    atomic { hosts_done++ }
}

#define can_move(c) (buffer[c].there && !buffer[way(far_end(c), buffer[c].out)].there)
#define try(c) \
    :: atomic { can_move(c) -> \
        to = way(far_end(c), buffer[c].out); \
        put(to, buffer[c].target, buffer[c].hops + 1, buffer[c].sent); \
        buffer[c].there = false; buffer[c].target = 0; buffer[c].out = 0; \
        buffer[c].hops = 0; buffer[c].sent = 0; to = 0; o = 0; at = 0 }

/* Moves any packet that can move, until there is none and none will come. */
proctype fabric()
{
    byte to, o, at;
    do
    try(0) try(1) try(2) try(3) try(4) try(5) try(6) try(7)
    :: atomic { hosts_done == 4 && done && !inside -> break }
    od
}

/* The entries that change: across the ring. */
#define take(i) :: atomic { wants(i) -> next[i] = wanted[(begun - 1) * 16 + i] }
#define all_have !(wants(2) || wants(7) || wants(8) || wants(13) || wants(6))

proctype manager()
{
#ifdef ANY_ORDER
    begun = 2;
#else
    begun = 1;
#endif
    do
    take(2) take(7) take(8) take(13) take(6)
#ifdef TOGETHER
    :: atomic { begun == 1 && change == 1 -> begun = 2 }
#endif
#ifdef NO_BARRIER
    :: atomic { begun == 1 -> begun = 2 }
#else
    :: atomic { begun == 1 && epoch == 0 && all_have -> epoch = 1 }
#ifdef NO_DRAIN
    :: atomic { begun == 1 && epoch == 1 -> begun = 2 }
#else
    :: atomic { begun == 1 && epoch == 1 && !old_inside -> begun = 2 }
#endif
#endif
    :: atomic { begun == 2 && all_have -> done = true; break }
    od
}

init
{
    byte i;
    atomic {
        if
        :: change = 0
        :: change = 1
        fi;
        tables_make();
        for (i : 0 .. 3) { run host(i) }
        run fabric();
        run manager()
    }
}
