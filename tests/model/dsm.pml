/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ownership of a shared variable: src/dsm (acquire.c, read.c, write.c, serve.c, update.c).
 *
 * Three ranks (or two, the first with two threads: dsm_threads.pml) read and write one variable; each
 * step is an atomic operation on one rank's word, as in the code. A write tears the data first and mends it after. No
 * wait has a time limit here: nobody may depend on looking again after a while.
 *
 * Must hold: a writer is alone; a reader sees the last write, whole, for as long as it reads; what is
 * pulled or pushed is never torn or old; nobody waits for ever (no invalid end state); in the end
 * there is one owner; and who serves comes to an end: it looks again only for what others have said
 * meanwhile. Where there are more ranks than bits (dsm_groups.pml), ranks share them.
 * Mutants, each of which must fail:
 *   NO_SERVE      a writer that releases does not look whether somebody waits
 *   NO_INVALID    a writer leaves copies valid
 *   NO_PATIENCE   a writer does not wait for those who are fetching
 *   LATE_COPY     a reader puts itself among the copies after it has the data
 *   WANTED_FIRST  WANTED is set before the waiter is among the waiters
 *   NO_PASS       who serves does not tell the next owner who else waits
 *   NO_TELL       who stops fetching does not tell the writer that waits for it
 *   EARLY_GRANT   who serves lets in a rank that has not yet stepped down after its own serving
 *   NO_ACK        a grant leaves no mark for the thread that it is meant for
 *   STALE_BITS    where ranks share a bit of the waiters, it stays set for ever
 *   LOST_BITS     or is lost with the first of them that is let in
 *   NO_KEEP       a reader that is let in at an owner that steps down keeps no valid copy
 */
#ifndef N
#define N     3
#endif
#define TORN  99
#define PASSES (2 * N) /* of one who serves: more than the others can make it go on */
/* Waiters are bits, and so are copies; the code has 64 of the former and 24 of the latter. */
#ifndef GROUPS
#define GROUPS N
#endif
#define BIT(r)  (1 << ((r) % GROUPS))
#define COPY(r) (1 << ((r) % GROUPS))

bool valid[N], owner[N], writer[N], serving[N], taking[N], fetching[N], wread[N], wwrite[N];
bool wanted[N], granted[N];
byte readers[N], hint[N], copies[N], wait_r[N], wait_w[N], sig[N], data[N];
byte latest = 0;
byte inside = 0; /* writers that hold it */

#define BUSY(r)     (taking[r] || fetching[r] || wread[r] || wwrite[r] || granted[r])
#ifdef NO_ACK
#define ACK false
#else
#define ACK true
#endif
#define TAKEN(r)    (writer[r] || serving[r])
#define FREE(r)     (owner[r] && !TAKEN(r) && readers[r] == 0)
#define READABLE(r) (owner[r] && !TAKEN(r))

inline signal_bits(bits)
{
    d_step {
        k = 0;
        do
        :: k < N -> if :: (bits) & BIT(k) -> sig[k] = (sig[k] + 1) % 16 :: else fi; k++
        :: else -> break
        od;
        k = 0; bits = 0
    }
}

inline signal_waiters()
{
    atomic { mask = wait_r[me] | wait_w[me]; wait_r[me] = 0; wait_w[me] = 0 };
    signal_bits(mask)
}

/* The next rank of a set, from r on; N: none. Costs no step of its own. */
inline next_of(set)
{
    do
    :: r < N && !((set) & BIT(r)) -> r++
    :: else -> break
    od
}

#ifdef EARLY_GRANT
#define IS_OUT(r) true
#else
#define IS_OUT(r) (r == me || !serving[r])
#endif

/* ---- Serving -------------------------------------------------------------------------------- */

inline grant_reads()
{
    atomic { r = 0; next_of(who) };
    do
    :: r < N ->
        if :: r != me -> copies[me] = copies[me] | COPY(r) :: else fi;
        atomic {
            if
            :: wread[r] && IS_OUT(r) ->
                wread[r] = false;
                if
                :: r == me -> readers[r]++; granted[r] = ACK
                :: else -> fetching[r] = true; hint[r] = me
                fi
            :: wread[r] && !IS_OUT(r) -> sig[r] = (sig[r] + 1) % 16
            :: else
            fi
        };
        atomic { r++; next_of(who) }
    :: else -> break
    od
}

/* Who else waits when r is let in. A bit that r shares stays if another of its ranks still waits: one
 * that stood in the waiters that were taken has said so in its word before. */
inline all_but()
{
    d_step {
        others = who & ~BIT(r);
#ifdef STALE_BITS
        others = who;
#endif
#if GROUPS < N && !defined(LOST_BITS)
        k = 0;
        do
        :: k < N ->
            if :: k != r && BIT(k) == BIT(r) && wwrite[k] -> others = others | BIT(k) :: else fi;
            k++
        :: else -> break
        od;
        k = 0
#endif
    }
}

/* One's own turn: the word stays that of the owner. */
inline grant_here()
{
#ifdef STALE_BITS
    all_but();
    atomic { wait_w[me] = wait_w[me] | others; wanted[me] = true };
#endif
    if
    :: wwrite[me] && readers[me] == 0 ->
        all_but();
        if :: others != 0 -> wait_w[me] = wait_w[me] | others; wanted[me] = true :: else fi;
        atomic {
            if
            :: wwrite[me] && readers[me] == 0 ->
                wwrite[me] = false; taking[me] = ACK; serving[me] = false;
                writer[me] = true; hint[me] = me;
                through = true
            :: else
            fi
        }
    :: else
    fi
}

inline grant_there()
{
    mask = copies[me] | (readers[me] > 0 -> COPY(me) : 0);
    if
    :: wwrite[r] ->
        all_but();
#ifndef NO_PASS
        if :: others != 0 -> wait_w[r] = wait_w[r] | others :: else fi;
#endif
        atomic {
            if
            :: wwrite[r] && IS_OUT(r) ->
                wwrite[r] = false; taking[r] = ACK;
                owner[r] = true; writer[r] = true; copies[r] = mask; hint[r] = me;
#ifndef NO_PASS
                wanted[r] = wanted[r] || others != 0;
#endif
                through = true
            :: wwrite[r] && !IS_OUT(r) -> sig[r] = (sig[r] + 1) % 16
            :: else
            fi
        }
    :: else
    fi;
    atomic { mask = 0; others = 0 }
}

inline step_down()
{
    atomic {
        old_wanted = wanted[me];
        owner[me] = false; serving[me] = false; wanted[me] = false; copies[me] = 0;
#ifndef NO_KEEP
        valid[me] = readers[me] > 0;
#else
        valid[me] = false;
#endif
        hint[me] = r
    };
    if :: old_wanted -> signal_waiters() :: else fi;
    old_wanted = false
}

/* The next writer: after this rank, in turn. through: somebody has it. */
inline grant_write()
{
    atomic { r = (me + 1) % N; through = false; i = 0 };
    do
    :: i < N && !through ->
        if
        :: who & BIT(r) && r == me -> grant_here()
        :: who & BIT(r) && r != me -> grant_there(); if :: through -> step_down() :: else fi
        :: else
        fi;
        atomic {
            if :: GROUPS == N -> who = who & ~BIT(r) :: else fi;
            r = (r + 1) % N; i++; others = 0
        }
    :: else -> break
    od;
    atomic { i = 0; r = 0; who = 0 }
}

inline serve()
{
    do
    :: atomic { wanted[me] = false; passes++; assert(passes <= PASSES) };
        atomic { who = wait_r[me]; wait_r[me] = 0 };
        if :: who != 0 -> grant_reads() :: else fi;
        atomic { who = wait_w[me]; wait_w[me] = 0 };
        grant_write();
        if
        :: through -> break
        :: else ->
            atomic {
                if
                :: !wanted[me] -> serving[me] = false; through = true
                :: else
                fi
            };
            if :: through -> break :: else fi
        fi
    od;
    atomic { through = false; passes = 0 }
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Stop fetching; next: whether to wait in a queue then. */
inline stop_fetching(next)
{
    atomic {
        if
        :: fetching[me] ->
            fetching[me] = false; wread[me] = next;
            old_wanted = wanted[me] && !owner[me] && readers[me] == 0;
#ifndef NO_TELL
            if :: old_wanted -> wanted[me] = false :: else fi
#endif
        :: else -> old_wanted = false
        fi
    };
#ifndef NO_TELL
    if :: old_wanted -> signal_waiters() :: else fi;
#endif
    old_wanted = false
}

inline fetch(from)
{
    assert(data[from] == latest);
    data[me] = data[from];
    assert(data[me] == latest);
#ifdef LATE_COPY
    copies[from] = copies[from] | COPY(me);
#endif
    atomic { fetching[me] = false; valid[me] = true; readers[me]++; hint[me] = from };
    got = true
}

inline queue_to_read()
{
    seen = sig[me];
#ifdef WANTED_FIRST
    atomic { wait_on = owner[target] && !READABLE(target); wanted[target] = true };
    wait_r[target] = wait_r[target] | BIT(me);
#else
    wait_r[target] = wait_r[target] | BIT(me);
    atomic { wait_on = owner[target] && !READABLE(target); wanted[target] = true };
#endif
    if :: wait_on -> (!wread[me] || sig[me] != seen) :: else fi;
    atomic {
        wait_on = false; seen = 0;
        if
        :: wread[me] -> wread[me] = false; fetching[me] = true; step = 0
        :: !wread[me] && fetching[me] -> step = 1
        :: else -> got = true; step = 0; granted[me] = false
        fi
    };
    if :: step == 1 -> fetch(hint[me]) :: else fi
}

inline ask_owner()
{
    do
    :: !got ->
        if :: target == me -> target = hint[me] :: else fi;
        atomic {
            step = (READABLE(target) -> 1 : (owner[target] -> 2 : 3));
#ifndef LATE_COPY
            copies[target] = copies[target] | COPY(me)
#endif
        };
        if
        :: step == 1 -> fetch(target)
        :: step == 2 -> stop_fetching(true); queue_to_read()
        :: else -> target = hint[target]
        fi
    :: else -> break
    od;
    step = 0
}

inline read_acquire()
{
    got = false;
    do
    :: !got ->
        atomic {
            seen = sig[me]; step = 0;
            if
            :: BUSY(me) -> step = 1
            :: !BUSY(me) && valid[me] && !TAKEN(me) && !wanted[me] -> readers[me]++; got = true
            :: !BUSY(me) && owner[me] && (TAKEN(me) || readers[me] > 0) && (TAKEN(me) || wanted[me]) ->
                wread[me] = true; target = me; step = 2
            :: !BUSY(me) && owner[me] && !TAKEN(me) && readers[me] == 0 && wanted[me] ->
                serving[me] = true; step = 3
            :: !BUSY(me) && !owner[me] && valid[me] && wanted[me] && readers[me] > 0 -> step = 4
            :: !BUSY(me) && !owner[me] && valid[me] && wanted[me] && readers[me] == 0 ->
                wanted[me] = false; step = 5
            :: !BUSY(me) && !valid[me] -> fetching[me] = true; target = hint[me]; step = 6
            fi
        };
        if
        :: step == 1 -> (!BUSY(me) || sig[me] != seen)
        :: step == 2 -> queue_to_read(); if :: !got -> stop_fetching(false) :: else fi
        :: step == 3 -> serve()
        :: step == 4 -> (!wanted[me] || !valid[me] || readers[me] == 0 || sig[me] != seen)
        :: step == 5 -> signal_waiters()
        :: step == 6 -> ask_owner()
        :: else
        fi
    :: else -> break
    od;
    got = false; step = 0; seen = 0; target = 0
}

inline read_release()
{
    atomic {
        step = 0;
        readers[me]--;
        if
        :: readers[me] == 0 && wanted[me] && owner[me] && !TAKEN(me) -> serving[me] = true; step = 1
        :: readers[me] == 0 && wanted[me] && !owner[me] ->
            valid[me] = false; wanted[me] = false; step = 2
        :: else
        fi
    };
    if
    :: step == 1 -> serve()
    :: step == 2 -> signal_waiters()
    :: else
    fi;
    step = 0
}

/* ---- Writing -------------------------------------------------------------------------------- */

inline invalidate_copies()
{
    atomic { r = 0; had = 0; next_of(copies[me]) };
    do
    :: r < N ->
        atomic {
            seen = sig[me]; step = 0;
            if
#ifdef NO_PATIENCE
            :: !valid[r] -> step = 1
            :: valid[r] && readers[r] == 0 ->
#else
            :: !valid[r] && !fetching[r] -> step = 1
            :: valid[r] && readers[r] == 0 && !fetching[r] ->
#endif
#ifndef NO_INVALID
                valid[r] = false;
#endif
                hint[r] = me; had = had | COPY(r); step = 1
            :: else
            fi;
            if :: step == 1 -> r++; next_of(copies[me]) :: else fi
        };
        if
        :: step == 1
        :: else ->
            wait_w[r] = wait_w[r] | BIT(me);
            atomic { wait_on = readers[r] > 0 || fetching[r]; wanted[r] = true };
            if :: wait_on -> (sig[me] != seen) :: else fi;
            wait_on = false
        fi
    :: else -> break
    od;
    atomic { copies[me] = 0; r = 0; step = 0; seen = 0 }
}

inline begin_write()
{
    if
    :: !valid[me] ->
        assert(data[hint[me]] == latest);
        data[me] = data[hint[me]];
        valid[me] = true
    :: else
    fi;
    invalidate_copies();
    got = true
}

inline queue_to_write()
{
    seen = sig[me];
    wwrite[me] = true;
    wait_w[target] = wait_w[target] | BIT(me);
    atomic { wait_on = owner[target] && !FREE(target); wanted[target] = true };
    if :: wait_on -> (!wwrite[me] || sig[me] != seen) :: else fi;
    atomic {
        wait_on = false; seen = 0;
        if
        :: wwrite[me] -> wwrite[me] = false; step = 0
        :: else -> step = 1; taking[me] = false
        fi
    };
    if :: step == 1 -> begin_write() :: else fi;
    step = 0
}

inline take_from_target()
{
    atomic {
        if
        :: FREE(target) ->
            had = copies[target]; old_wanted = wanted[target];
            owner[target] = false; valid[target] = false; wanted[target] = false;
            copies[target] = 0; hint[target] = me; step = 1
        :: owner[target] && !FREE(target) -> step = 2
        :: else -> target = hint[target]; step = 3
        fi
    };
    if
    :: step == 1 ->
        atomic {
            taking[me] = false; owner[me] = true; writer[me] = true;
            copies[me] = (GROUPS < N -> had : had & ~COPY(me)); hint[me] = target; had = 0
        };
        if
        :: old_wanted ->
            atomic { wait_r[me] = wait_r[me] | wait_r[target]; wait_r[target] = 0 };
            atomic { wait_w[me] = wait_w[me] | wait_w[target]; wait_w[target] = 0 };
            wanted[me] = true
        :: else
        fi;
        old_wanted = false;
        begin_write()
    :: step == 2 -> queue_to_write()
    :: else
    fi;
    step = 0
}

inline write_acquire()
{
    do
    :: atomic {
            seen = sig[me]; step = 0;
            if :: !BUSY(me) -> taking[me] = true; step = 1 :: else fi
        };
        if
        :: step == 1 -> break
        :: else -> (!BUSY(me) || sig[me] != seen)
        fi
    od;
    got = false; step = 0; seen = 0; target = hint[me];
    do
    :: !got ->
        atomic {
            step = 0;
            if
            :: FREE(me) -> taking[me] = false; writer[me] = true; hint[me] = me; step = 1
            :: owner[me] && !FREE(me) -> target = me; step = 2
            :: !owner[me] && readers[me] > 0 -> seen = sig[me]; step = 3
            :: else -> if :: target == me -> target = hint[me] :: else fi
            fi
        };
        if
        :: step == 1 -> begin_write()
        :: step == 2 -> queue_to_write()
        :: step == 3 ->
            wait_w[me] = wait_w[me] | BIT(me);
            wanted[me] = true;
            (readers[me] == 0 || sig[me] != seen)
        :: else -> take_from_target()
        fi
    :: else -> break
    od;
    got = false; step = 0; seen = 0; target = 0
}

/* Push: those who had a copy get one again, and who waits is let in with it. */
inline push_copies()
{
    atomic { r = 0; next_of(had) };
    do
    :: r < N ->
        if
        :: !valid[r] && readers[r] == 0 && !taking[r] && !fetching[r] && !serving[r] && !granted[r] ->
            copies[me] = copies[me] | COPY(r);
            data[r] = data[me];
            atomic {
                if
                :: !valid[r] && readers[r] == 0 && !taking[r] && !fetching[r] && !serving[r] && !granted[r] ->
                    valid[r] = true; hint[r] = me;
                    if :: wread[r] -> wread[r] = false; readers[r]++; granted[r] = ACK :: else fi
                :: else
                fi
            }
        :: else
        fi;
        atomic { r++; next_of(had) }
    :: else -> break
    od;
    r = 0
}

inline write_release()
{
    if
    :: had != 0 -> push_copies()
    :: true
    fi;
    had = 0;
    atomic {
        step = 0;
        writer[me] = false;
#ifndef NO_SERVE
        if :: wanted[me] -> serving[me] = true; step = 1 :: else fi
#endif
    };
    if :: step == 1 -> serve() :: else fi;
    step = 0
}

/* ---- Threads -------------------------------------------------------------------------------- */

byte finished = 0;
#ifndef EXTRA
#define EXTRA 0
#endif
#define THREADS (N + EXTRA)
#ifdef NO_INVALID
#define OPERATIONS 2 /* it takes that many to see it */
#else
#define OPERATIONS 1
#endif

proctype thread(byte me; byte operations)
{
    byte n = 0, i = 0, r = 0, k = 0, who = 0, others = 0, passes = 0, mask = 0, had = 0, target = 0, seen = 0, step = 0;
    bool got = false, through = false, wait_on = false, old_wanted = false;
    do
    :: n < operations ->
        if
        :: read_acquire();
            assert(data[me] == latest && inside == 0);
            assert(data[me] == latest && inside == 0);
            read_release()
        :: write_acquire();
            inside++;
            assert(inside == 1 && data[me] == latest);
            data[me] = TORN;
            assert(inside == 1);
            atomic { latest++; data[me] = latest; inside-- };
            write_release()
        fi;
        n++
    :: else -> break
    od;
    finished++;
    if
    :: finished == THREADS -> assert(owner[0] + owner[1] + owner[N - 1] == 1 + (N == 2 && owner[1]))
    :: else
    fi
}

init {
    atomic {
        owner[0] = true; valid[0] = true;
        run thread(0, OPERATIONS); run thread(1, OPERATIONS);
#if N > 2
        run thread(2, OPERATIONS);
#endif
#if EXTRA
        run thread(0, 1)
#endif
    }
}
