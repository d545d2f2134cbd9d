/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A chunk of a long message whose push timed out: src/msg/rendezvous, send.c (is_kept_back, let_go)
 * and receive.c (receive_take_hold, receive_take_let_go, close_stream).
 *
 * The messages of two senders go through one block of a receiver's stream, one after the other. A
 * push that timed out has landed, or will, or is lost. It must be made again, for it may be lost;
 * but the receiver may have it, and the block may be the next sender's. So the sender first asks the
 * receiver to keep the stream. Who is given that goes on until a push has surely landed, which by
 * the network's order (nic.h) is behind all earlier ones, and lets go. A receiver that has closed the
 * stream already does not answer, since its sender hears by the word that all is there. Slots arrive
 * once and in order, but overtake pushes.
 *
 * Must hold: each message is whole; everybody ends. Mutants, each of which must fail:
 *   NO_HOLD       it is pushed again at once
 *   EARLY_LET_GO  who hears by the word lets go, whatever is under way
 *   KEEP          a sender that is over when the stream is kept for it does not let go
 *   NOT_AGAIN     what timed out is not pushed again
 */
#define MESSAGES 2
#define PUSHES   3 /* of one message, so that the search ends: the last one is answered */
#define LOSSES   1

mtype = { HOLD, HELD, LET_GO, NONE, ASKED, GIVEN };

byte block; /* the message in it, + 1, and its notice */
bool may_push[MESSAGES], is_done[MESSAGES];
byte answered[MESSAGES]; /* the last push that is known to have landed */
byte losses;

chan pushed[MESSAGES] = [PUSHES] of { byte };
chan to_receiver = [4] of { mtype, byte };
chan to_sender[MESSAGES] = [2] of { mtype };

proctype sender(byte m)
{
    byte pushes = 1;
    mtype hold = NONE;
    may_push[m];
    pushed[m]!1;
    do
    :: answered[m] == pushes -> break
#ifdef EARLY_LET_GO
    :: is_done[m] -> break
#else
    :: is_done[m] && hold != GIVEN -> break
#endif
#ifdef NO_HOLD
    :: pushes < PUSHES -> pushes++; pushed[m]!pushes
#else
    :: hold == NONE -> hold = ASKED; to_receiver!HOLD, m
    :: hold == ASKED && nempty(to_sender[m]) -> to_sender[m]?HELD; hold = GIVEN
#ifndef NOT_AGAIN
    :: hold == GIVEN && pushes < PUSHES -> pushes++; pushed[m]!pushes
#endif
#endif
    od;
    is_done[m];
    if
    :: hold == GIVEN -> to_receiver!LET_GO, m
    :: else
    fi;
end:
    do
    :: to_sender[m]?HELD ->
#ifndef KEEP
        to_receiver!LET_GO, m
#endif
    od
}

active proctype receiver()
{
    byte m, about;
    bool is_held, is_taken;
    for (m : 0 .. MESSAGES - 1) {
        is_held = false; is_taken = false;
        may_push[m] = true;
        do
        :: atomic { !is_taken && block == m + 1 -> is_taken = true }
        :: atomic { is_taken && !is_done[m] -> is_done[m] = true }
        :: atomic { is_taken && is_done[m] && !is_held -> break }
        :: atomic { to_receiver?HOLD, about ->
               if
               :: about == m -> is_held = true; to_sender[m]!HELD
               :: else
               fi }
        :: atomic { to_receiver?LET_GO, about ->
               if
               :: about == m -> is_held = false
               :: else
               fi }
        od
    }
end:
    do
    :: to_receiver?_, about
    od
}

proctype way(byte m)
{
    byte number;
end:
    do
    :: atomic { pushed[m]?number ->
           assert(m == MESSAGES - 1 || !may_push[m + 1]); /* the block is this sender's */
           block = m + 1;
           if
           :: answered[m] = number
           :: number < PUSHES /* the answer is late, or lost */
           fi;
           number = 0 }
    :: atomic { losses < LOSSES && nempty(pushed[m]) && !(pushed[m]?[PUSHES]) ->
           pushed[m]?number; losses++; number = 0 }
    od
}

init
{
    atomic { run sender(0); run sender(1); run way(0); run way(1) }
}
