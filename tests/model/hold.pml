/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A chunk of a long message whose push timed out: src/msg/rendezvous, send.c (is_kept_back, let_go),
 * name.c (withdrawals) and receive.c (receive_hold_take, receive_let_go_take, receive_withdraw_take,
 * settle).
 *
 * The messages of two senders go through one block of a receiver's stream, one after the other. A
 * push that timed out has landed, or will, or is lost. It must be made again, for it may be lost;
 * but the receiver may have it, and the block may be the next sender's. So the sender first asks the
 * receiver to keep the stream. Who is given that goes on until a push has surely landed, which by
 * the network's order (nic.h) is behind all earlier ones, and lets go. A receiver that has closed the
 * stream already does not answer, since its sender hears by the word that all is there. Slots arrive
 * once and in order, but overtake pushes.
 *
 * A sender may give up at any time, and then its buffer is its program's again: what it pushes later
 * is nothing. If a push of its is in doubt it asks for the stream to be kept, says that it has given
 * up, and when the receiver has answered that, so that it looks at the block no more, pushes nothing
 * over the chunk until that has surely landed, and lets go.
 *
 * Must hold: each message is whole; everybody ends. Mutants, each of which must fail:
 *   NO_HOLD       it is pushed again at once
 *   EARLY_LET_GO  who hears by the word lets go, whatever is under way
 *   KEEP          a sender that is over when the stream is kept for it does not let go
 *   NOT_AGAIN     what timed out is not pushed again
 *   FREE_AT_ONCE  the stream of a message that was given up is free, kept or not
 *   UNASKED       who gives up does not ask for it to be kept
 *   OVER_EARLY    nothing is pushed over the chunk before the receiver has answered
 *   NOTHING_OVER  nor ever: the stream is let go with a push in doubt
 */
#define MESSAGES 2
#define PUSHES   3 /* of one message, so that the search ends: from this one on they are answered */
#define MOST     4 /* one more, by who has given up */
#define LOSSES   1

mtype = { HOLD, HELD, LET_GO, WITHDRAW, ACK, NONE, ASKED, GIVEN };

byte block; /* the message in it, + 1, and its notice */
bool may_push[MESSAGES], is_done[MESSAGES];
byte answered[MESSAGES]; /* the last push that is known to have landed */
byte losses;

chan pushed[MESSAGES] = [MOST] of { byte, bool };
chan to_receiver = [6] of { mtype, byte };
chan to_sender[MESSAGES] = [3] of { mtype };

#define IS_IN_DOUBT (answered[m] != pushes)

/* The message is given up: returns when nothing of it is still to come. */
inline give_up()
{
    was_in_doubt = IS_IN_DOUBT;
#ifndef UNASKED
    if
    :: was_in_doubt && hold == NONE -> hold = ASKED; to_receiver!HOLD, m
    :: else
    fi;
#endif
    to_receiver!WITHDRAW, m;
#ifdef OVER_EARLY
    pushes++; pushed[m]!pushes, false;
#endif
    do
    :: to_sender[m]?HELD -> hold = GIVEN
    :: to_sender[m]?ACK -> break
    od;
#ifndef NOTHING_OVER
    do
    :: !was_in_doubt || hold != GIVEN || !IS_IN_DOUBT -> break
    :: was_in_doubt && hold == GIVEN && IS_IN_DOUBT && pushes < MOST ->
        pushes++; pushed[m]!pushes, false
    od
#endif
}

proctype sender(byte m)
{
    byte pushes = 1;
    mtype hold = NONE;
    bool was_in_doubt;
    may_push[m];
    pushed[m]!1, true;
    do
    :: answered[m] == pushes -> break
#ifdef EARLY_LET_GO
    :: is_done[m] -> break
#else
    :: is_done[m] && hold != GIVEN -> break
#endif
#ifdef NO_HOLD
    :: pushes < PUSHES -> pushes++; pushed[m]!pushes, true
#else
    :: hold == NONE -> hold = ASKED; to_receiver!HOLD, m
    :: hold == ASKED && nempty(to_sender[m]) -> to_sender[m]?HELD; hold = GIVEN
#ifndef NOT_AGAIN
    :: hold == GIVEN && pushes < PUSHES -> pushes++; pushed[m]!pushes, true
    :: give_up(); goto over
#endif
#endif
    od;
    if
    :: is_done[m]
#ifndef NOT_AGAIN
    :: give_up()
#endif
    fi;
over:
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
    bool is_held, is_taken, is_withdrawn;
    for (m : 0 .. MESSAGES - 1) {
        is_held = false; is_taken = false; is_withdrawn = false;
        may_push[m] = true;
        do
        :: !is_taken && !is_withdrawn && block == m + 1 ->
            atomic { assert(block == m + 1); is_taken = true } /* has been copied out */
        :: atomic { is_taken && !is_withdrawn && !is_done[m] -> is_done[m] = true }
        :: atomic { (is_withdrawn || is_done[m]) && !is_held -> break }
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
        :: atomic { to_receiver?WITHDRAW, about ->
               if
               :: about == m -> is_withdrawn = true;
#ifdef FREE_AT_ONCE
                   is_held = false;
#endif
                   skip
               :: else
               fi;
               to_sender[about]!ACK }
        od
    }
end:
    do
    :: to_receiver?WITHDRAW, about -> to_sender[about]!ACK
    :: to_receiver?HOLD, about
    :: to_receiver?LET_GO, about
    od
}

proctype way(byte m)
{
    byte number;
    bool is_real;
end:
    do
    :: atomic { pushed[m]?number, is_real ->
           assert(m == MESSAGES - 1 || !may_push[m + 1]); /* the block is this sender's */
           block = (is_real -> m + 1 : 0);
           if
           :: answered[m] = number
           :: number < PUSHES /* the answer is late, or lost */
           fi;
           number = 0; is_real = false }
    :: atomic { losses < LOSSES && nempty(pushed[m]) &&
                !(pushed[m]?[PUSHES, _]) && !(pushed[m]?[MOST, _]) ->
           pushed[m]?number, is_real; losses++; number = 0; is_real = false }
    od
}

init
{
    atomic { run sender(0); run sender(1); run way(0); run way(1) }
}
