/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A large message that its receiver pulls, and how the sender learns that it is there:
 * src/msg/stream.c, tell_pulled(), and post_once() in src/msg/post.c.
 *
 * The sender keeps a word for each place, and messages use a place in turn. The receiver pulls, then
 * starts one push of that word, for which the sender needs no room, and takes the message for
 * received: the push goes on by itself, however slow the network is, and comes once. The sender may
 * give up at any time. Then its memory is out of reach, and the place is used again only when the
 * receiver has been heard: by the word, or by a slot where it found the memory gone.
 *
 * Must hold: a sender whose call returned "received" has been received; a place is always free
 * again. Mutants, each of which must fail:
 *   REPEAT       a push that is slow is started once more, beside the first
 *   EARLY_PLACE  the place of a message that was given up is used again at once
 *   NO_SLOT      a receiver that finds the memory gone says nothing
 */
#define MESSAGES 3
#define NONE     255

bool is_pulled[MESSAGES];
byte offered = NONE; /* the message whose memory is in reach */
byte word;           /* of the only place: 1 when its message is there */
byte underway;       /* pushes of the word */

chan announced = [MESSAGES] of { byte };
chan finished = [MESSAGES] of { byte };

active proctype sender()
{
    byte m, heard;
    bool has_given_up;
    do
    :: m < MESSAGES ->
        atomic { word = 0; offered = m; announced!m; has_given_up = false }
        do
        :: atomic { !has_given_up && word == 1 -> assert(is_pulled[m]); offered = NONE; break }
        :: atomic { !has_given_up && word == 0 -> has_given_up = true; offered = NONE }
#ifdef EARLY_PLACE
        :: has_given_up -> break
#endif
        :: has_given_up && word == 1 -> break
        :: atomic { finished?heard -> if :: has_given_up && heard == m -> heard = 0; break
                                         :: else -> heard = 0
                                      fi }
        od;
        m++
    :: else -> break
    od
}

active proctype receiver()
{
    byte m, i;
    for (i : 1 .. MESSAGES) {
        announced?m;
        if
        :: atomic { offered == m -> is_pulled[m] = true; underway++ }
#ifdef REPEAT
           if
           :: underway > 0 -> underway++
           :: skip
           fi
#endif
        :: atomic { offered != m ->
#ifndef NO_SLOT
               finished!m;
#endif
               skip }
        fi
    }
}

active proctype network()
{
end:
    do
    :: atomic { underway > 0 -> underway--; word = 1 }
    od
}
