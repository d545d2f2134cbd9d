/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A slot of the cache while its block leaves and comes back: src/cache, store/store.c, node/fetch.c,
 * copy.c and evict.c, and the copy of a hit in client/read.c.
 *
 * The holder gives up block A, which was in the first place of its memory, and another slot has block
 * B in that place; then A is in the second place, and again in the first. Another node fetches A by
 * the directory's cell, which may be old, from where the slot says that it is;
 * a process of the holder's own node copies A without a lock. Data is two words, copied one after the
 * other in either order. Must hold: whoever takes what it has copied for block A has block A.
 * Mutants, each of which must fail:
 *   ID_ONLY        the ID is compared after copying, not the token
 *   NO_AFTER       nothing is compared after copying
 *   OVERWRITE      the token goes after the memory is used again
 *   EARLY_PUBLISH  the token is set before the data is there
 *   OLD_TOKENS     a slot gets the same token again
 *   EARLY_GUESS    where the block is was read before the directory was
 */
#define A 1
#define B 2

byte data[4] = A; /* two places of two words */
byte id = A;      /* A's slot */
byte place = 0;
byte token = 1;
byte cell = 1; /* the directory: token of A's copy here, or 0 */

inline fill(where, number)
{
#ifdef EARLY_PUBLISH
    place = where;
    id = A;
    token = number;
#endif
    data[2 * where] = A;
    data[2 * where + 1] = A;
#ifndef EARLY_PUBLISH
    place = where;
    id = A;
    token = number;
#endif
}

/* By another slot, of which nobody here knows. */
inline overwrite(where)
{
    data[2 * where] = B;
    data[2 * where + 1] = B
}

inline give_up()
{
#ifdef OVERWRITE
    skip
#else
    token = 0;
    id = 0
#endif
}

active proctype holder()
{
    cell = 0;
    give_up();
    overwrite(0);
#ifdef OLD_TOKENS
    fill(1, 1);
    cell = 1;
#else
    fill(1, 2);
    cell = 2;
#endif
    cell = 0;
    give_up();
    overwrite(1);
#ifdef OLD_TOKENS
    fill(0, 1);
    cell = 1
#else
    fill(0, 3);
    cell = 3
#endif
}

inline copy(where)
{
    if
    :: first = data[2 * where]; second = data[2 * where + 1]
    :: second = data[2 * where + 1]; first = data[2 * where]
    fi
}

inline accept() { assert(first == A && second == A) }

active proctype far()
{
    byte promised, guess, first, second, then_token, then_id;
#ifdef EARLY_GUESS
    guess = place;
#endif
    promised = cell;
    if
    :: promised == 0 -> goto over
    :: else
    fi;
#ifndef EARLY_GUESS
    guess = place;
#endif
    copy(guess);
    then_token = token;
    then_id = id;
    if
#ifdef ID_ONLY
    :: then_id == A -> accept()
#else
#ifdef NO_AFTER
    :: true -> accept()
#else
    :: then_token == promised && then_id == A -> accept()
#endif
#endif
    :: else
    fi;
over:
    skip
}

active proctype near()
{
    byte before, before_id, guess, first, second, after;
    before = token;
    before_id = id;
    if
    :: before == 0 || before_id != A -> goto over
    :: else
    fi;
    guess = place;
    copy(guess);
    after = token;
    if
#ifdef NO_AFTER
    :: true -> accept()
#else
    :: after == before -> accept()
#endif
    :: else
    fi;
over:
    skip
}
