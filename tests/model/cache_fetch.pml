/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A slot of the cache while its block leaves and comes back: src/cache, store/store.c, node/fetch.c,
 * copy.c and evict.c, and the copy of a hit in client/read.c.
 *
 * The holder gives up block A, has block B in the same slot, then A again. Another node fetches A by
 * the directory's cell, which may be old; a process of the holder's own node copies A without a lock.
 * Data is two words, copied one after the other in either order. Must hold: whoever takes what it
 * has copied for block A has block A.
 * Mutants, each of which must fail:
 *   ID_ONLY        the ID is compared after copying, not the token
 *   NO_AFTER       nothing is compared after copying
 *   OVERWRITE      the token goes after the memory is used again
 *   EARLY_PUBLISH  the token is set before the data is there
 *   OLD_TOKENS     a slot gets the same token again
 */
#define A 1
#define B 2

byte data[2] = A;
byte id = A;
byte token = 1;
byte cell = 1; /* the directory: token of A's copy here, or 0 */

inline fill(block, number)
{
#ifdef EARLY_PUBLISH
    token = number;
    id = block;
#endif
    data[0] = block;
    data[1] = block;
#ifndef EARLY_PUBLISH
    id = block;
    token = number;
#endif
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
    fill(B, 2);
    give_up();
#ifdef OLD_TOKENS
    fill(A, 1);
    cell = 1
#else
    fill(A, 3);
    cell = 3
#endif
}

inline copy()
{
    if
    :: first = data[0]; second = data[1]
    :: second = data[1]; first = data[0]
    fi
}

inline accept() { assert(first == A && second == A) }

active proctype far()
{
    byte promised, first, second, then_token, then_id;
    promised = cell;
    if
    :: promised == 0 -> goto over
    :: else
    fi;
    copy();
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
    byte before, before_id, first, second, after;
    before = token;
    before_id = id;
    if
    :: before == 0 || before_id != A -> goto over
    :: else
    fi;
    copy();
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
