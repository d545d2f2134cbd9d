/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A long message that both ends copy: src/msg/rendezvous/both_ends.c (claim, push_claimed,
 * both_ends_pull) and the end of it in receive.c (rendezvous_abandon, advance).
 *
 * MESSAGES come one after the other through the same stream of a receiver, each from a sender of its
 * own, in CHUNKS chunks. A sender may hear late, or only when all is over, that it may push. The
 * receiver may give up the first one at any step; its buffer is then its program's again at once.
 * Must hold: nothing is written into a buffer that has been given back; a message that was not given
 * up is whole, each chunk copied once; everybody ends.
 * Mutants, each of which must fail:
 *   BLIND_CLAIM   a chunk is taken by fetch-and-add, whatever the number found
 *   SAME_NUMBERS  every message counts its chunks from the same number
 *   NO_WAIT       the buffer is given back while the sender may still copy
 *   SILENT_STALE  who finds the buffer closed does not report the chunk it had taken
 *   FREE_AT_ONCE  a receiver that gives up frees the stream without waiting for the sender
 */
#define MESSAGES 2
#define CHUNKS   2

byte claimed = 0, pushed = 0; /* the stream's words */
byte open_to = 0;             /* message + 1 whose buffer may be pushed to */
bool may_push[MESSAGES], has_all[MESSAGES];
bool is_copying[MESSAGES];   /* the sender's hazard */
bool is_given_back[MESSAGES];
byte copies[4]; /* of each chunk of each message */

#ifdef SAME_NUMBERS
#define FIRST(m) 0
#else
#define FIRST(m) ((m) * CHUNKS)
#endif
#define COPIED(m, c) copies[(m) * CHUNKS + (c)]

/* Takes the next chunk, if there is one; the caller's are next, chunk and has_chunk. */
inline claim(m)
{
    has_chunk = false;
    do
    :: next >= CHUNKS || has_chunk -> break
    :: else ->
        atomic {
#ifdef BLIND_CLAIM
            chunk = claimed - FIRST(m); claimed++;
            has_chunk = (chunk < CHUNKS); next = (has_chunk -> chunk + 1 : CHUNKS)
#else
            if
            :: claimed == FIRST(m) + next -> claimed++; chunk = next; next++; has_chunk = true
            :: claimed < FIRST(m) -> next = CHUNKS
            :: claimed > FIRST(m) + next -> next = claimed - FIRST(m)
            fi
#endif
        }
    od
}

proctype sender(byte m)
{
    byte next = 0, chunk, done = 0;
    bool has_chunk, is_open;
    if
    :: may_push[m]
    :: has_all[m] -> goto over
    fi;
    do
    :: has_all[m] -> break
    :: next < CHUNKS && !has_all[m] ->
        claim(m);
        if
        :: !has_chunk
        :: else ->
            is_copying[m] = true;
            is_open = (open_to == m + 1);
            if
            :: is_open ->
                atomic { assert(!is_given_back[m]); COPIED(m, chunk) = COPIED(m, chunk) + 1 }
            :: else
            fi;
            is_copying[m] = false;
            done++;
#ifdef SILENT_STALE
            if
            :: is_open -> pushed = FIRST(m) + done
            :: else
            fi
#else
            pushed = FIRST(m) + done
#endif
        fi
    od;
over:
    skip
}

inline give_back(m)
{
    open_to = 0;
#ifndef NO_WAIT
    !is_copying[m];
#endif
    is_given_back[m] = true
}

active proctype receiver()
{
    byte m, next, chunk, done;
    bool has_chunk, has_given_up;
    for (m : 0 .. MESSAGES - 1) {
        next = 0; done = 0; has_given_up = false;
        pushed = FIRST(m);
        claimed = FIRST(m);
        open_to = m + 1;
        may_push[m] = true;
        do
        :: m == 0 && !has_given_up ->
            has_given_up = true;
            give_back(m);
#ifdef FREE_AT_ONCE
            break
#endif
        :: next < CHUNKS ->
            claim(m);
            if
            :: has_chunk && !has_given_up -> COPIED(m, chunk) = COPIED(m, chunk) + 1; done++
            :: has_chunk && has_given_up -> done++
            :: else
            fi
        :: done + (pushed - FIRST(m)) == CHUNKS -> break
        od;
        if
        :: has_given_up
        :: else ->
            give_back(m);
            assert(COPIED(m, 0) == 1 && COPIED(m, 1) == 1)
        fi;
        has_all[m] = true
    }
}

init
{
    atomic { run sender(0); run sender(1) }
}
