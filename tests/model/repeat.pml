/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that must be carried out once (atomics, appends) between the NICs of two ranks:
 * src/nic/ofi/once.c.
 *
 * The sender numbers its requests; the target has room to remember WINDOW of them, by number modulo
 * WINDOW, each with its reply. A time-out either leaves a request in doubt (PARKED: the caller has a
 * ticket and may go on, which sends the same request again) or gives it up (ABANDONED). The number
 * WINDOW further on is not used before this one is decided for the sender: that is all the
 * acknowledgement there is. The network loses, overtakes and, by the repeats, doubles.
 *
 * Must hold: no request is carried out twice; a reply that the sender takes is that of its request,
 * which has been carried out; a request that the sender still wants is never dropped as old.
 * Mutants, each of which must fail:
 *   NO_IDENTITY  the target does not compare numbers
 *   NO_REPLY     it remembers that it has seen the number, but not what it answered
 *   OLD_IS_NEW   it takes for new whatever it does not remember, also what is older
 *   EARLY_FORGET the sender goes on although the request WINDOW before is in doubt
 *   ANY_REPLY    the sender takes a reply without comparing the number
 */
#define OPS    4
#define WINDOW 2
#define SENDS  6 /* in all, so that the search ends */

mtype = { NEW, WAITED, PARKED, RESOLVED, ABANDONED };
mtype state[OPS] = NEW;
byte executed[OPS]; /* how often */
byte result[OPS];   /* what the (first) execution gave */
byte counter;       /* the word that all of them change */
byte next, sends;
bool sender_is_over;

chan requests = [3] of { byte };
chan replies = [3] of { byte, byte };

inline send(s)
{
    if
    :: nfull(requests) -> requests!s
    :: skip /* lost */
    fi;
    sends++
}

#define decided(s) (state[s] == RESOLVED || state[s] == ABANDONED)
#ifdef EARLY_FORGET
#define may_go_on true
#else
#define may_go_on (next < WINDOW || decided(next - WINDOW))
#endif

active proctype sender()
{
    byte s, number, value;
    do
    :: atomic { next < OPS && sends < SENDS && may_go_on ->
           state[next] = WAITED; send(next); next++ }
    :: atomic { next > 0 -> select(s : 0 .. (OPS - 1));
           if
           :: state[s] == WAITED -> state[s] = PARKED
           :: state[s] == WAITED || state[s] == PARKED -> state[s] = ABANDONED
           :: state[s] == PARKED && sends < SENDS -> state[s] = WAITED; send(s) /* go on */
           :: else
           fi }
    :: atomic { replies?number, value ->
#ifdef ANY_REPLY
           s = 0;
           do
           :: s < OPS && state[s] != WAITED && state[s] != PARKED -> s++
           :: else -> break
           od;
#else
           s = number;
#endif
           if
           :: s < OPS && (state[s] == WAITED || state[s] == PARKED) ->
               assert(executed[s] == 1);
               assert(value == result[s]);
               state[s] = RESOLVED
           :: else /* nobody waits for it any more */
           fi;
           number = 0; value = 0; s = 0 }
    :: atomic { next == OPS -> break } /* the rest is left as it is */
    od;
    sender_is_over = true
}

active proctype target()
{
    byte s, seen[WINDOW], remembered[WINDOW]; /* seen: number + 1; 0: none */
    do
    :: atomic { requests?s ->
           if
#ifndef NO_IDENTITY
           :: seen[s % WINDOW] == s + 1 -> /* a repeat: the same answer */
#ifdef NO_REPLY
               remembered[s % WINDOW] = 0;
#endif
               skip
#ifndef OLD_IS_NEW
           :: seen[s % WINDOW] > s + 1 -> /* its sender is past it */
               assert(decided(s));
               s = OPS
#endif
#endif
           :: else ->
               executed[s]++;
               assert(executed[s] == 1);
               counter++;
               result[s] = counter;
               seen[s % WINDOW] = s + 1;
               remembered[s % WINDOW] = counter
           fi;
           if
           :: s < OPS && nfull(replies) -> replies!s, remembered[s % WINDOW]
           :: skip /* lost, or not answered */
           fi;
           s = 0 }
    :: atomic { requests?s -> s = 0 }                                /* lost on the way */
    :: atomic { len(requests) > 1 -> requests?s; requests!s; s = 0 } /* overtaken */
    :: sender_is_over && empty(requests) -> break
    od
}
