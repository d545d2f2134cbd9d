/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks of an open job that become somebody else's: src/job/manager/open.c.
 *
 * Processes get the lowest free rank, meet others by rank and number, as rh_peer() does, and go; then
 * one comes again. Whoever has met another keeps something of it, on both sides, and may use it at
 * any time, looking only whether that rank is there. Must hold: what is used is of who has the rank
 * now. Nobody waits for a rank for ever. Mutants, each of which must fail:
 *   NO_ROW     a rank is free as soon as its process is gone
 *   ONE_SIDED  only who asks is noted
 *   OWN_ROW    who goes takes along who has met it
 *   NO_SERIAL  an address is good whoever has the rank
 */
#define PROCESSES 3
#define RANKS     4
#define ROUNDS    (me == 2 -> 2 : 1) /* one comes twice: more make too many states */

bool is_there[RANKS];
byte serial[RANKS];
byte last = 0;
bool met[RANKS * RANKS]; /* row: who has met this rank */
byte kept[PROCESSES * RANKS];   /* by each process, of each rank: the serial of whom */
byte process_of[RANKS];
byte address_rank = RANKS, address_serial; /* that somebody has sent around */

#define MET(a, b)     met[(a) * RANKS + (b)]
#define KEPT(p, r)    kept[(p) * RANKS + (r)]
#define HAS_MET(r)    (MET(r, 0) || MET(r, 1) || MET(r, 2) || MET(r, 3))
#ifdef NO_SERIAL
#define IS_SAME(r) true
#else
#define IS_SAME(r) (serial[r] == address_serial)
#endif
#ifdef NO_ROW
#define IS_FREE(r) (!is_there[r])
#else
#define IS_FREE(r) (!is_there[r] && !HAS_MET(r))
#endif

inline take(r)
{
    last++;
    rank = r;
    serial[r] = last;
    is_there[r] = true;
    process_of[r] = me
}

inline meet(r)
{
    MET(r, rank) = true;
    KEPT(me, r) = address_serial;
    KEPT(process_of[r], rank) = serial[rank];
#ifndef ONE_SIDED
    MET(rank, r) = true
#endif
}

inline go()
{
    d_step {
        is_there[rank] = false;
        i = 0;
        do
        :: i < RANKS ->
            MET(i, rank) = false;
            KEPT(me, i) = 0;
#ifdef OWN_ROW
            MET(rank, i) = false;
#endif
            i++
        :: else -> break
        od;
        i = 0
    }
}

inline use(r)
{
    d_step {
        if
        :: KEPT(me, r) != 0 && is_there[r] -> assert(KEPT(me, r) == serial[r])
        :: else
        fi
    }
}

active [PROCESSES] proctype process()
{
    byte me = _pid, rank, i = 0, round;
    for (round : 1 .. ROUNDS) {
        atomic {
            if
            :: IS_FREE(0) -> take(0)
            :: else -> if
                :: IS_FREE(1) -> take(1)
                :: else -> if
                    :: IS_FREE(2) -> take(2)
                    :: else -> if
                        :: IS_FREE(3) -> take(3)
                        :: else -> goto no_room /* RH_ENOSPACE */
                        fi
                    fi
                fi
            fi
        }
        if
        :: atomic { true -> address_rank = rank; address_serial = serial[rank] }
        :: true
        fi;
        if
        :: atomic {
                address_rank < RANKS && address_rank != rank ->
                if
                :: is_there[address_rank] && IS_SAME(address_rank) -> meet(address_rank)
                :: else /* RH_EDEAD */
                fi
            }
        :: true
        fi;
        use(0);
        use(1);
        use(2);
        use(3);
        go()
    }
no_room:
    skip
}
