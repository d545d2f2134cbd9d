/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The append queue: src/nic/shm/queue.c (claim, append, receivable, skip_if_dead, shm_queue_release).
 *
 * SENDERS senders append MESSAGES messages each to a ring of SLOTS slots; each may die between claim
 * and publish, or at any step before. `tail` is a hint that is read and written without atomicity.
 * Must hold: what is received from one sender comes in order, without loss (of published messages),
 * duplicate or invention; a slot is never claimed twice in a round; the receiver does not stop while
 * a published message waits behind a dead sender's claim; a full queue does not lose anything.
 * Mutants, each of which must fail:
 *   NO_SPACE_CHECK  a sender does not look whether the receiver is done with the slot
 *   PLAIN_CLAIM     the claim is a load and a store instead of a compare-and-swap
 *   NO_SKIP         the receiver waits for a dead sender's slot
 *   EARLY_PUBLISH   "published" is written before the message
 */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#define SLOTS 2
#define TOTAL (SENDERS * MESSAGES)

#define NEW       0
#define CLAIMED   1
#define PUBLISHED 2
#define SKIPPED   3

typedef Slot { byte round; byte owner; byte state; byte payload };
Slot slot[SLOTS];
byte tail = 0;
byte head = 0;
bool dead[SENDERS];
byte ended = 0;                /* senders that finished or died */
byte published[SENDERS];       /* messages each has published */
byte received[SENDERS];        /* messages received of each */
byte claims_of[TOTAL + SLOTS]; /* how often each number was claimed */

inline header_is(n, r) { slot[n % SLOTS].round == r }

proctype sender(byte me)
{
    byte at, number, message, round, old_round, old_state, old_owner;
    for (message : 1 .. MESSAGES) {
        at = tail;
        do
        :: true ->
            round = at / SLOTS + 1;
#ifndef NO_SPACE_CHECK
            if
            :: at < head + SLOTS -> skip
            :: else -> /* full: wait_for_space */
                at < head + SLOTS
            fi;
#endif
            atomic { old_round = slot[at % SLOTS].round; old_state = slot[at % SLOTS].state;
                     old_owner = slot[at % SLOTS].owner }
            if
            :: old_round != round - 1 -> at++ /* the hint is behind: walk */
            :: else ->
#ifdef PLAIN_CLAIM
                slot[at % SLOTS].round = round; slot[at % SLOTS].owner = me;
                slot[at % SLOTS].state = CLAIMED;
                claims_of[at]++; break
#else
                atomic {
                    if
                    :: slot[at % SLOTS].round == old_round && slot[at % SLOTS].state == old_state &&
                       slot[at % SLOTS].owner == old_owner ->
                        slot[at % SLOTS].round = round; slot[at % SLOTS].owner = me;
                        slot[at % SLOTS].state = CLAIMED;
                        claims_of[at]++; break
                    :: else
                    fi
                }
#endif
            fi
        od;
        number = at;
        assert(claims_of[number] == 1);
        if /* killed between claim and publish */
        :: dead[me] = true; goto over
        :: skip
        fi;
        if
        :: tail <= number -> tail = number + 1
        :: else
        fi;
#ifdef EARLY_PUBLISH
        atomic { slot[number % SLOTS].state = PUBLISHED; published[me]++ };
        slot[number % SLOTS].payload = me * 16 + message
#else
        slot[number % SLOTS].payload = me * 16 + message;
        atomic { slot[number % SLOTS].state = PUBLISHED; published[me]++ }
#endif
    };
over:
    ended++
}

active proctype receiver()
{
    byte from, expected, round;
    do
    :: head < TOTAL ->
        round = head / SLOTS + 1;
        if
        :: slot[head % SLOTS].round == round && slot[head % SLOTS].state == PUBLISHED ->
            from = slot[head % SLOTS].owner;
            expected = from * 16 + received[from] + 1;
            assert(slot[head % SLOTS].payload == expected);
            received[from]++;
            assert(received[from] <= published[from]);
            head++
#ifndef NO_SKIP
        :: slot[head % SLOTS].round == round && slot[head % SLOTS].state == CLAIMED &&
           dead[slot[head % SLOTS].owner] ->
            atomic { slot[head % SLOTS].state = SKIPPED; head++ }
#endif
        :: ended == SENDERS && !(slot[head % SLOTS].round == round) -> break
        fi
    :: else -> break
    od;
    for (from : 0 .. SENDERS - 1) {
        assert(received[from] == published[from])
    }
}

init { byte i; atomic { for (i : 0 .. SENDERS - 1) { run sender(i) } } }
