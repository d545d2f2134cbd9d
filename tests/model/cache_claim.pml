/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who reads a block from the file system: src/cache, directory/rows.c and
 * node/fetch.c.
 *
 * Three nodes want the same block at once. A bucket of the directory has two places for rows, one
 * of which holds another block's row until somebody frees it at any moment: so two nodes may see
 * different free places. One of the nodes may die at any step. Must hold: the block is loaded once,
 * or twice if the loader died; nobody waits for ever.
 * Mutants, each of which must fail:
 *   PLAIN_CLAIM  a claim is a store, not a compare-and-swap
 *   NO_RECHECK   the winner of a place does not look for another claim of the same block
 *   BOTH_GO      of two claims that see each other the lower does not wait for the higher
 *   NO_TAKEOVER  a dead loader is waited for
 */
#define NODES 3
#define NOBODY 9

mtype = { FREE, CLAIMING, LOADING, LOADED, FOREIGN }; /* FOREIGN: another block's row */
mtype stage[2];
byte owner[2] = NOBODY;
bool is_dead[NODES];
bool has_died;
byte loads;

inline swap(at, from_stage, from_owner, to_stage, to_owner)
{
    atomic {
        is_ours = (stage[at] == from_stage && owner[at] == from_owner);
        if
        :: is_ours -> stage[at] = to_stage; owner[at] = to_owner
        :: else
        fi
    }
}

inline may_die()
{
    if
    :: !has_died -> atomic { has_died = true; is_dead[me] = true; goto over }
    :: true
    fi
}

inline load()
{
    may_die();
    atomic { loads++; assert(loads <= 1 + (has_died -> 1 : 0)) };
    may_die();
    swap(place, LOADING, me, LOADED, me)
}

proctype node(byte me)
{
    mtype seen[2], rival_stage;
    byte seen_owner[2], place, rival, rival_owner;
    bool is_ours;
again:
    /* A pull reads one word after the other. */
    atomic { seen[0] = stage[0]; seen_owner[0] = owner[0] };
    atomic { seen[1] = stage[1]; seen_owner[1] = owner[1] };
    if
    :: seen[0] != FREE && seen[0] != FOREIGN -> place = 0; goto found
    :: else
    fi;
    if
    :: seen[1] != FREE && seen[1] != FOREIGN -> place = 1; goto found
    :: else
    fi;
    if
    :: seen[0] == FREE -> place = 0
    :: seen[0] != FREE && seen[1] == FREE -> place = 1
    :: else -> goto again
    fi;
#ifdef PLAIN_CLAIM
    atomic { stage[place] = CLAIMING; owner[place] = me; is_ours = true };
#else
    swap(place, FREE, NOBODY, CLAIMING, me);
#endif
    if
    :: !is_ours -> goto again
    :: else
    fi;
settle:
    may_die();
    rival = 1 - place;
    atomic { rival_stage = stage[rival]; rival_owner = owner[rival] };
    if
#ifdef NO_RECHECK
    :: true ->
#else
    :: rival_stage == FREE || rival_stage == FOREIGN ->
#endif
        swap(place, CLAIMING, me, LOADING, me);
        if
        :: is_ours -> load(); goto over
        :: else -> goto again
        fi
    :: rival_stage == CLAIMING && rival > place ->
#ifdef BOTH_GO
        swap(place, CLAIMING, me, LOADING, me);
        if
        :: is_ours -> load(); goto over
        :: else -> goto again
        fi
#else
        if
        :: stage[rival] != rival_stage || owner[rival] != rival_owner
        :: is_dead[rival_owner] -> swap(rival, CLAIMING, rival_owner, FREE, NOBODY)
        fi;
        goto settle
#endif
    :: else ->
        swap(place, CLAIMING, me, FREE, NOBODY);
        goto again
    fi;
found:
    if
    :: seen[place] == LOADED -> goto over
    :: else
    fi;
    if
    :: stage[place] != seen[place] || owner[place] != seen_owner[place] -> goto again
#ifndef NO_TAKEOVER
    :: is_dead[seen_owner[place]] ->
        swap(place, seen[place], seen_owner[place], LOADING, me);
        if
        :: is_ours -> load()
        :: else -> goto again
        fi
#endif
    fi;
over:
    skip
}

active proctype freer()
{
    atomic { stage[0] == FOREIGN -> stage[0] = FREE }
}

init {
    atomic {
        stage[0] = FOREIGN;
        stage[1] = FREE;
        run node(0);
        run node(1);
        run node(2)
    }
}
