/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Changing over from the queue to a lane: src/pm/pm_auto.c (take_lane_slow, open_lane_slow).
 *
 * A sender appends some messages to the receiver's queue, claims the lane, says how many they were and
 * sends the rest in the lane. A rival wants the same lane; who does not get it stays with the queue. The
 * receiver looks at queue and lane in any order. A sender may die before any step.
 * Must hold: messages of each sender are received in order, and the lane has one owner.
 * Mutants, each of which must fail:
 *   NO_COUNT     the receiver opens the lane without having received what was appended before
 *   PLAIN_CLAIM  the lane is claimed by a look and a write, not by compare-and-swap
 *   COUNT_TWICE  a message from the queue is counted by each look at it (found by the suite)
 */
#define SENDERS  2
#define MESSAGES 4 /* of each sender */
#define HOT      2 /* of them before the lane is asked for */

chan queue = [SENDERS * MESSAGES] of {byte, byte}; /* sender, number */
chan lane = [MESSAGES] of {byte, byte};
byte owner = 0;    /* sender + 1 */
byte appended = 0; /* + 1; 0: not said */
byte expected[SENDERS];
byte received[SENDERS]; /* from the queue */
byte ended = 0;

active [SENDERS] proctype sender()
{
    byte number = 0;
    bool has_lane = false;
    do
    :: number < MESSAGES ->
        if
        :: true /* goes on */
        :: break /* dies */
        fi;
        if
        :: number == HOT && !has_lane ->
#ifdef PLAIN_CLAIM
            if
            :: owner == 0 ->
                skip; /* anything may happen here */
                owner = _pid + 1;
                has_lane = true
            :: else
            fi;
#else
            atomic {
                if
                :: owner == 0 -> owner = _pid + 1; has_lane = true
                :: else
                fi
            };
#endif
            if
            :: has_lane -> appended = number + 1
            :: else
            fi
        :: else
        fi;
        if
        :: has_lane -> lane ! _pid, number
        :: else -> queue ! _pid, number
        fi;
        number++
    :: else -> break
    od;
    ended++
}

active proctype receiver()
{
    byte from, number;
    bool is_open = false;
    do
    :: nempty(queue) ->
#ifdef COUNT_TWICE
        queue ? <from, number>;
        received[from]++;
#endif
        queue ? from, number;
        received[from]++;
        assert(number == expected[from]);
        expected[from]++
    :: !is_open && appended != 0 ->
#ifdef NO_COUNT
        is_open = true
#else
        if
        :: received[owner - 1] + 1 >= appended -> is_open = true
        :: else
        fi
#endif
    :: is_open && nempty(lane) ->
        lane ? from, number;
        assert(from == owner - 1);
        assert(number == expected[from]);
        expected[from]++
    :: ended == SENDERS && empty(queue) && (empty(lane) || is_open) && empty(lane) -> break
    od
}
