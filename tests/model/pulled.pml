/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A large message that its receiver pulls, and how the sender learns that it is there:
 * tell_all() in src/msg/rendezvous/receive.c, and post_once() and post_swap() in src/msg/post.c.
 *
 * The sender keeps a word for each place, and messages use a place in turn, also those to different
 * receivers. The word names its message. The receiver pulls, then starts one push of that word, for
 * which the sender needs no room, and takes the message for received: the push goes on by itself,
 * however slow the network is. It may time out, and then has landed, or will, or is lost: so it is
 * told again, as often as it takes, by a swap that changes the word only while it is this message's.
 * What one receiver does to the word happens in its order (nic.h); different receivers overtake each
 * other. The sender may give up at any time. Then its memory is out of reach, and the place is used
 * again only when the receiver has been heard: by the word, or by a slot where it found the memory
 * gone. One that has begun to take the message by a ring tells in the same word how far it is; it is
 * told that the sender has given up, and answers when what it has told is there (settle()).
 *
 * Must hold: a sender whose call returned "received" has been received; a sender hears in the end,
 * and a place is always free again. Mutants, each of which must fail:
 *   NO_NUMBER    the word does not say which message it is about
 *   PUSH_AGAIN   what timed out is pushed once more
 *   NOT_AGAIN    it is not told again
 *   EARLY_PLACE  the place of a message that was given up is used again at once
 *   NO_SLOT      a receiver that finds the memory gone says nothing
 *   EARLY_ACK    it answers while its word is under way
 */
#define MESSAGES  3
#define RECEIVERS 2
#define NONE      255
#define LOSSES    1
#define SWAPS     2 /* of one message, so that the search ends; more than are lost */

mtype = { PUSH, SWAP, UNTOLD, UNDERWAY, TOLD };

#ifdef NO_NUMBER
#define OPEN(m) 0
#define PART(m) 1
#define DONE(m) 2
#else
#define OPEN(m) (3 * (m))
#define PART(m) (3 * (m) + 1)
#define DONE(m) (3 * (m) + 2)
#endif
#define VALUE(m) (is_by_ring[m] -> PART(m) : DONE(m))

bool is_pulled[MESSAGES], is_by_ring[MESSAGES], is_withdrawn[MESSAGES];
mtype told[MESSAGES] = UNTOLD;
byte receiver_of[MESSAGES];
byte offered = NONE; /* the message whose memory is in reach */
byte word;           /* of the only place */
byte losses;

chan announced[RECEIVERS] = [MESSAGES] of { byte };
chan finished = [MESSAGES] of { byte };
chan network[RECEIVERS] = [MESSAGES * (SWAPS + 1)] of { mtype, byte };

active proctype sender()
{
    byte m, heard;
    bool has_given_up;
    do
    :: m < MESSAGES ->
        atomic {
            word = OPEN(m); offered = m; has_given_up = false;
            if
            :: announced[0]!m
            :: announced[1]!m
            fi
        }
        do
        :: atomic { !has_given_up && word == DONE(m) ->
               assert(is_pulled[m]); offered = NONE; break }
        :: atomic { !has_given_up && word != DONE(m) ->
               has_given_up = true; offered = NONE; is_withdrawn[m] = true }
#ifdef EARLY_PLACE
        :: has_given_up && m < MESSAGES - 1 -> break /* the last one is to hear */
#endif
        :: has_given_up && word == DONE(m) -> break
        :: atomic { finished?heard -> if :: has_given_up && heard == m -> heard = 0; break
                                         :: else -> heard = 0
                                      fi }
        od;
        m++
    :: else -> break
    od
}

proctype receiver(byte r)
{
    byte m;
    bool is_answered;
end:
    do
    :: atomic { announced[r]?m ->
           if
           :: offered == m ->
               is_pulled[m] = true; told[m] = UNDERWAY; receiver_of[m] = r;
               network[r]!PUSH, m
           :: m == 0 ->
               is_by_ring[m] = true; told[m] = UNDERWAY; receiver_of[m] = r;
               network[r]!PUSH, m
           :: offered != m ->
#ifndef NO_SLOT
               finished!m;
#endif
               skip
           fi;
           m = 0 }
    :: atomic { is_withdrawn[0] && is_by_ring[0] && receiver_of[0] == r &&
#ifndef EARLY_ACK
                told[0] == TOLD &&
#endif
                !is_answered -> is_answered = true; finished!0 }
    od
}

/* Goes on beside the receiver's other messages; a time-out may come whatever has become of it. */
proctype telling(byte m)
{
    byte swaps;
end:
    do
    :: told[m] == TOLD -> break
#ifndef NOT_AGAIN
    :: atomic { told[m] == UNDERWAY && swaps < SWAPS -> swaps++;
#ifdef PUSH_AGAIN
           network[receiver_of[m]]!PUSH, m
#else
           network[receiver_of[m]]!SWAP, m
#endif
       }
#endif
    od
}

proctype way(byte r)
{
    byte m;
    mtype what;
end:
    do
    :: atomic { network[r]?what, m ->
           if
           :: what == PUSH -> word = VALUE(m)
           :: what == SWAP && word == OPEN(m) -> word = VALUE(m)
           :: what == SWAP && word != OPEN(m)
           fi;
           if
           :: told[m] = TOLD
           :: what == PUSH /* the answer is late, or lost */
           :: what == SWAP && losses < LOSSES -> losses++
           fi;
           m = 0 }
    :: atomic { losses < LOSSES && nempty(network[r]) -> network[r]?what, m; losses++; m = 0 }
    od
}

init
{
    atomic {
        run receiver(0); run receiver(1);
        run telling(0); run telling(1); run telling(2);
        run way(0); run way(1)
    }
}
