/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ownership of a shared variable when answers get lost: src/dsm/doubt.c, with dsm.pml's words.
 *
 * A compare-and-swap on another rank's word may be in doubt: who asked gives up, and it happens at
 * any later time, or fails then, since the word is another one. A push may be given up and land
 * later. Who gave up has to know how it ended before the variable goes on: until then its word is
 * SERVING, and TAKING where it had tried to take. Who invalidates need not know.
 *
 * The first rank, the owner, writes; the second has a copy, and reads or writes; the third writes.
 * Every wait may end at any time here, and an owner is found by guessing, so this says nothing of
 * progress; dsm.pml does. Must hold: a writer is alone; what is read, pulled or granted is the last
 * write; in the end, when all is known, there is one owner, with the data, and no stale valid copy.
 * Mutants, each of which must fail:
 *   FREE_GIVEN    a grant to write in doubt: the owner goes on
 *   FREE_GRANTED  a grant to read in doubt: the owner goes on
 *   FREE_UPDATED  a copy marked valid in doubt: the writer releases
 *   FREE_PUSHED   data that was given up under way: the writer releases
 *   FORGET_TAKE   a take in doubt is forgotten
 *   KEEP_GIVEN    a grant in doubt that turns out to have happened leaves the owner one
 */
#define N 3
#ifndef DOUBTS
#define DOUBTS 1
#endif
#ifndef OPERATIONS
#define OPERATIONS 1 /* of the second rank */
#endif
#define TORN 99

#define VALID     1
#define OWNER     2
#define WRITER    4
#define SERVING   8
#define TAKING    16
#define FETCHING  32
#define WAIT_R    64
#define WAIT_W    128
#define TAKEN     (WRITER | SERVING)
#define BUSY      (TAKING | FETCHING | WAIT_R | WAIT_W)
#define COPY(r)   (1 << (r))
#define FREE(r)   ((word[r] & (OWNER | TAKEN)) == OWNER && !reading[r])
#define READABLE(r) ((word[r] & (OWNER | TAKEN)) == OWNER)

/* A rank's word: */
byte word[N], hint[N], copies[N];
bool reading[N];
byte data[N];
byte latest = 0, inside = 0, doubts = DOUBTS, finished = 0;

/* What is under way, of each rank that asked, and who is not to be waited for. */
mtype = { NONE, UNDER_WAY, DONE, FAILED };
typedef flight {
    mtype state;
    bool is_push;
    byte target, word, hint, copies, to_word, to_hint, to_copies;
    bool reading, to_reading
};
flight flights[N + 1]; /* the last: an invalidation, forgotten by who asked */

/* What an unfinished step of this rank is. */
#define STEP_NONE 0
#define STEP_ANY  1 /* over when it is known */
#define STEP_GIVE 2
#define STEP_TAKE 3
byte step[N];

inline look(r) { w = word[r]; h = hint[r]; c = copies[r]; g = reading[r] }
inline clear() { w = 0; h = 0; c = 0; g = 0; w2 = 0; h2 = 0; c2 = 0; g2 = 0 }

/* ---- The network ---------------------------------------------------------------------------- */

#define SAME(f, t) (word[t] == f.word && hint[t] == f.hint && copies[t] == f.copies && \
                    reading[t] == f.reading)

proctype network()
{
    byte i = 0;
end:
    do
    :: atomic {
            flights[0].state == UNDER_WAY || flights[1].state == UNDER_WAY ||
            flights[2].state == UNDER_WAY || flights[3].state == UNDER_WAY ->
            if
            :: flights[0].state == UNDER_WAY -> i = 0
            :: flights[1].state == UNDER_WAY -> i = 1
            :: flights[2].state == UNDER_WAY -> i = 2
            :: flights[3].state == UNDER_WAY -> i = 3
            fi;
            if
            :: flights[i].is_push ->
                data[flights[i].target] = flights[i].to_word; flights[i].state = DONE
            :: !flights[i].is_push && SAME(flights[i], flights[i].target) ->
                word[flights[i].target] = flights[i].to_word;
                hint[flights[i].target] = flights[i].to_hint;
                copies[flights[i].target] = flights[i].to_copies;
                reading[flights[i].target] = flights[i].to_reading;
                flights[i].state = DONE
            :: else -> flights[i].state = FAILED
            fi;
            i = 0
        }
    od
}

/* From w, h, c, g to w2 etc. in rank t's word. result: 1 swapped, 0 not, 2 in doubt (as flight f). */
inline swap_if(t, f)
{
    atomic {
        if
        :: word[t] == w && hint[t] == h && copies[t] == c && reading[t] == g ->
            word[t] = w2; hint[t] = h2; copies[t] = c2; reading[t] = g2; result = 1
        :: !(word[t] == w && hint[t] == h && copies[t] == c && reading[t] == g) -> result = 0
        :: doubts > 0 && flights[f].state == NONE ->
            doubts--;
            flights[f].state = UNDER_WAY; flights[f].is_push = false; flights[f].target = t;
            flights[f].word = w; flights[f].hint = h; flights[f].copies = c; flights[f].reading = g;
            flights[f].to_word = w2; flights[f].to_hint = h2; flights[f].to_copies = c2;
            flights[f].to_reading = g2;
            result = 2
        fi;
        clear()
    }
}

/* ---- Unfinished steps ----------------------------------------------------------------------- */

/* A step of ours is not known to be over: the own word says so. */
inline keep(what)
{
    atomic {
        step[me] = what;
        word[me] = (word[me] & ~WRITER) | SERVING
    }
}

inline step_down(successor)
{
    atomic {
        word[me] = (word[me] & BUSY) | (reading[me] -> VALID : 0);
        copies[me] = 0; hint[me] = successor
    }
}

/* We own it, as SERVING, but the data is still where it was. */
inline bring_data()
{
    if
    :: !(word[me] & VALID) ->
        assert(data[hint[me]] == latest);
        data[me] = data[hint[me]];
        word[me] = word[me] | VALID
    :: else
    fi
}

inline settle()
{
    if
    :: step[me] != STEP_NONE ->
        flights[me].state == DONE || flights[me].state == FAILED;
        if
#ifndef KEEP_GIVEN
        :: step[me] == STEP_GIVE && flights[me].state == DONE -> step_down(flights[me].target)
#endif
        :: step[me] == STEP_TAKE && flights[me].state == DONE ->
            atomic {
                word[me] = (word[me] & ~TAKING) | OWNER | SERVING;
                copies[me] = flights[me].copies & ~COPY(me); hint[me] = flights[me].target
            };
            bring_data();
            word[me] = word[me] & ~SERVING
        :: else -> word[me] = word[me] & ~(SERVING | TAKING)
        fi;
        atomic {
            step[me] = STEP_NONE; flights[me].state = NONE; flights[me].target = 0;
            flights[me].word = 0; flights[me].hint = 0; flights[me].copies = 0;
            flights[me].reading = 0; flights[me].to_word = 0; flights[me].to_hint = 0;
            flights[me].to_copies = 0; flights[me].to_reading = 0; flights[me].is_push = false
        }
    :: else
    fi
}

/* ---- Serving -------------------------------------------------------------------------------- */

inline let_read(r)
{
    atomic {
        look(r);
        copies[me] = copies[me] | COPY(r);
        w2 = (w & ~WAIT_R) | FETCHING; h2 = me; c2 = c; g2 = g;
        result = ((w & WAIT_R) && !(w & TAKEN) -> 1 : 0);
        if :: result == 0 -> clear() :: else fi
    };
    if
    :: result == 1 ->
        swap_if(r, me);
        if
        :: result == 2 ->
#ifdef FREE_GRANTED
            atomic { flights[N].state == NONE -> forgotten() }
#else
            keep(STEP_ANY)
#endif
        :: else
        fi
    :: else
    fi
}

/* A mutant that does not wait: nobody asks again, but it still happens. */
inline forgotten()
{
    flights[N].state = flights[me].state; flights[N].is_push = flights[me].is_push;
    flights[N].target = flights[me].target; flights[N].word = flights[me].word;
    flights[N].hint = flights[me].hint; flights[N].copies = flights[me].copies;
    flights[N].reading = flights[me].reading; flights[N].to_word = flights[me].to_word;
    flights[N].to_hint = flights[me].to_hint; flights[N].to_copies = flights[me].to_copies;
    flights[N].to_reading = flights[me].to_reading;
    flights[me].state = NONE
}

inline let_write(r)
{
    atomic {
        look(r);
        w2 = (w & ~WAIT_W) | OWNER | WRITER; h2 = me; g2 = g;
        c2 = copies[me] | (reading[me] -> COPY(me) : 0);
        result = ((w & WAIT_W) && !(w & TAKEN) -> 1 : 0);
        if :: result == 0 -> clear() :: else fi
    };
    if
    :: result == 1 ->
        swap_if(r, me);
        if
        :: result == 1 -> step_down(r); through = true
        :: result == 2 ->
#ifdef FREE_GIVEN
            atomic { flights[N].state == NONE -> forgotten() }
#else
            keep(STEP_GIVE)
#endif
        :: else
        fi
    :: else
    fi
}

/* Somebody, or nobody, is let in; the own word is SERVING. */
inline serve()
{
    through = false;
    if
    :: let_read((me + 1) % N)
    :: let_read((me + 2) % N)
    :: true
    fi;
    if
    :: step[me] == STEP_NONE ->
        if
        :: let_write((me + 1) % N)
        :: let_write((me + 2) % N)
        :: true
        fi
    :: else
    fi;
    atomic {
        if :: step[me] == STEP_NONE && !through -> word[me] = word[me] & ~SERVING :: else fi;
        through = false; result = 0
    }
}

/* ---- Reading -------------------------------------------------------------------------------- */

inline fetch(from)
{
    assert(data[from] == latest);
    data[me] = data[from];
    atomic { word[me] = (word[me] & ~FETCHING) | VALID; reading[me] = true; hint[me] = from };
}

inline wait_to_read(t)
{
    word[me] = (word[me] & ~FETCHING) | WAIT_R;
    if
    :: !(word[me] & WAIT_R)
    :: true
    fi;
    atomic {
        if
        :: word[me] & WAIT_R -> word[me] = word[me] & ~WAIT_R; result = 0
        :: else -> result = 1
        fi
    };
    if
    :: result == 1 && (word[me] & FETCHING) -> fetch(hint[me])
    :: else
    fi;
    result = 0
}

inline read_acquire()
{
    atomic {
        result = 0;
        if
        :: (word[me] & VALID) && !(word[me] & TAKEN) -> reading[me] = true
        :: !(word[me] & (VALID | OWNER)) -> word[me] = word[me] | FETCHING; result = 1
        :: else
        fi
    };
    if
    :: result == 1 ->
        if :: target = (me + 1) % N :: target = (me + 2) % N fi;
        atomic {
            result = (READABLE(target) -> 1 : (word[target] & OWNER -> 2 : 0));
            copies[target] = copies[target] | COPY(me)
        };
        if
        :: result == 1 -> fetch(target)
        :: result == 2 -> wait_to_read(target)
        :: else -> word[me] = word[me] & ~FETCHING
        fi
    :: else
    fi;
    target = 0; result = 0
}

/* ---- Writing -------------------------------------------------------------------------------- */

/* had: who had a copy. failed: one could not be made invalid. */
inline invalidate(r)
{
    if
    :: copies[me] & COPY(r) ->
        if
        :: !(word[r] & (FETCHING | VALID))
        :: atomic {
                !(word[r] & FETCHING) && (word[r] & VALID) && !reading[r] ->
                look(r); w2 = w & ~VALID; h2 = me; c2 = c; g2 = g
            };
            swap_if(r, N);
            atomic { failed = failed || result != 1; had = had | COPY(r); result = 0 }
        :: true -> failed = true /* gave up */
        fi
    :: else
    fi
}

inline write_begin()
{
    bring_data();
    atomic { failed = false; had = 0; result = 0 };
    invalidate((me + 1) % N);
    if :: !failed -> invalidate((me + 2) % N) :: else fi;
    atomic { if :: !failed -> copies[me] = 0; got = true :: else fi; failed = false }
}

inline take_from(t)
{
    atomic {
        look(t);
        seen = c; w2 = w & BUSY; h2 = me; c2 = 0; g2 = false;
        result = ((w & (OWNER | TAKEN)) == OWNER && !g -> 1 : (w & OWNER -> 2 : 0));
        if :: result != 1 -> clear(); seen = 0 :: else fi
    };
    if
    :: result == 1 ->
        swap_if(t, me);
        if
        :: result == 1 ->
            atomic {
                word[me] = (word[me] & ~TAKING) | OWNER | WRITER;
                copies[me] = seen & ~COPY(me); hint[me] = t
            };
            write_begin();
            if :: !got -> word[me] = word[me] & ~WRITER :: else fi
        :: result == 2 ->
#ifdef FORGET_TAKE
            atomic { flights[N].state == NONE -> forgotten() }
#else
            keep(STEP_TAKE)
#endif
        :: else
        fi;
        seen = 0
    :: result == 2 ->
        word[me] = word[me] | WAIT_W;
        if :: !(word[me] & WAIT_W) :: true fi;
        atomic {
            if
            :: word[me] & WAIT_W -> word[me] = word[me] & ~WAIT_W; result = 0
            :: else -> word[me] = word[me] & ~TAKING; result = 1
            fi
        };
        if
        :: result == 1 -> write_begin(); if :: !got -> word[me] = word[me] & ~WRITER :: else fi
        :: else
        fi
    :: else
    fi
}

inline write_acquire()
{
    got = false;
    atomic {
        word[me] = word[me] | TAKING; result = 0;
        if :: FREE(me) -> word[me] = (word[me] & ~TAKING) | WRITER; hint[me] = me; result = 1 :: else fi
    };
    if
    :: result == 1 -> write_begin(); if :: !got -> word[me] = word[me] & ~WRITER :: else fi
    :: result == 0 && !(word[me] & OWNER) ->
        if :: take_from((me + 1) % N) :: take_from((me + 2) % N) fi
    :: else
    fi;
    atomic {
        if :: step[me] == STEP_NONE -> word[me] = word[me] & ~TAKING :: else fi;
        result = 0; w = 0; h = 0; c = 0; g = 0
    }
}

#define STOPS (VALID | TAKEN | TAKING | FETCHING | WAIT_W)

inline update(r)
{
    if
    :: (had & COPY(r)) && !(word[r] & STOPS) && !reading[r] ->
        atomic { look(r); copies[me] = copies[me] | COPY(r) };
        if
        :: data[r] = data[me]; result = 0
        :: atomic {
                doubts > 0 -> doubts--; result = 2;
                flights[me].state = UNDER_WAY; flights[me].is_push = true;
                flights[me].target = r; flights[me].to_word = data[me]
            }
        fi;
        if
        :: result == 2 ->
#ifdef FREE_PUSHED
            atomic { flights[N].state == NONE -> forgotten() }
#else
            keep(STEP_ANY)
#endif
        :: result != 2 && !(w & STOPS) && !g ->
            atomic {
                w2 = (w | VALID) & ~WAIT_R; h2 = me; c2 = c; g2 = (w & WAIT_R -> true : false)
            };
            swap_if(r, me);
            if
            :: result == 2 ->
#ifdef FREE_UPDATED
                atomic { flights[N].state == NONE -> forgotten() }
#else
                keep(STEP_ANY)
#endif
            :: else
            fi
        :: else
        fi
    :: else
    fi;
    atomic { result = 0; w = 0; h = 0; c = 0; g = 0 }
}

inline write_release()
{
    if :: true -> update((me + 1) % N) :: true -> update((me + 2) % N) :: true fi;
    if
    :: step[me] == STEP_NONE ->
        word[me] = (word[me] & ~WRITER) | SERVING;
        serve()
    :: else
    fi;
    had = 0
}

/* ---- Ranks ---------------------------------------------------------------------------------- */

inline check_end()
{
    assert(((word[0] & OWNER) + (word[1] & OWNER) + (word[2] & OWNER)) == OWNER);
    assert(!(word[0] & (OWNER | VALID)) || data[0] == latest);
    assert(!(word[1] & (OWNER | VALID)) || data[1] == latest);
    assert(!(word[2] & (OWNER | VALID)) || data[2] == latest)
}

proctype rank(byte me; byte operations; bool may_read)
{
    byte n = 0, w = 0, h = 0, c = 0, w2 = 0, h2 = 0, c2 = 0, result = 0, target = 0, had = 0, seen = 0;
    bool g = false, g2 = false, through = false, failed = false, got = false;
    do
    :: n < operations ->
        if
        :: may_read -> read_acquire();
            if
            :: reading[me] ->
                assert(data[me] == latest && inside == 0);
                assert(data[me] == latest && inside == 0);
                reading[me] = false
            :: else
            fi
        :: write_acquire();
            if
            :: got ->
                inside++;
                assert(inside == 1 && data[me] == latest);
                data[me] = TORN;
                assert(inside == 1);
                atomic { latest++; data[me] = latest; inside--; got = false };
                write_release()
            :: else
            fi
        fi;
        atomic { failed = false; had = 0 };
        settle();
        n++
    :: else -> break
    od;
    atomic {
        finished++;
        if
        :: finished == N ->
            flights[N].state != UNDER_WAY; check_end()
        :: else
        fi
    }
}

init {
    atomic {
        byte i = 0;
        do
        :: i < N + 1 -> flights[i].state = NONE; i++
        :: else -> break
        od;
        word[0] = OWNER | VALID; word[1] = VALID; copies[0] = COPY(1);
        run rank(0, 1, false); run rank(1, OPERATIONS, true); run rank(2, 1, false); run network()
    }
}
