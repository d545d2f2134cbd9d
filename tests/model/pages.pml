/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared pages: src/dsm/page (fetch.c, interval.c, drop.c, lock.c, meeting.c).
 *
 * Three ranks share one page of two bytes: x, which a lock guards, and y, which rank 1 writes before a
 * barrier and the others read after it. The page's home is rank 0, and moves to rank 1 at that barrier.
 * Ranks 0 and 2 have a second thread, which locks, adds one to x and unlocks whenever it likes; so does
 * rank 1's only thread, before the barrier and after it. Every access that the page does not allow is a
 * fault; a page that moves makes faults wait, and nothing else.
 * With ASYNC writes raise no fault: the kernel notes them, and a release asks (pages_async.pml).
 *
 * Must hold: whoever has the lock finds the x of the last holder; y is there after the barrier; nobody
 * waits for ever (no invalid end state).
 * Mutants, each of which must fail:
 *   SYNC_HELD       a barrier keeps `sync` while it waits for others (as it once did)
 *   LOST_NOTICE     the old home forgets what it wrote since it came to the barrier (likewise)
 *   FOLLOW_EARLY    a third rank fetches from the new home before that has the page (likewise)
 *   NO_PARTING      the new home takes the page before the old one has let it go
 *   NO_FOLLOWING    a rank goes on before all know the new home
 *   MOVE_UNLOCKED   others may release while homes move
 *   NO_RESCUE       a copy is dropped with what was written in it
 *   WHOLE_PAGE      a release sends the page, not what differs from the twin
 *   LATE_CLEAR      the mark of a written page is cleared after the page was left
 *   EARLY_UNLOCK    the lock opens before the changes are home
 *   OLD_TWIN        the twin stays as it was (ASYNC)
 */
#define N    3
#define NONE 0
#define READ 1
#define WRITE 2

byte x[N], y[N], tx[N], ty[N]; /* the backing, and the twin */
byte access[N], home[N];
bool written[N], owed[N], noted[N], busy[N], sync[N], moving[N];
byte log_end[N];
typedef vector { byte at[N] };
vector learnt[N], lock_vector, block;
byte came = 0, parted = 0, followed = 0;
byte lock_holder = 0;
byte latest = 0; /* what x must be for whoever has the lock */

#ifdef ASYNC
#define MAY_WRITE(r) (access[r] != NONE)
#define NOTE         noted[me] = true
#else
#define MAY_WRITE(r) (access[r] == WRITE)
#define NOTE         skip
#endif

inline enter() { atomic { !busy[me] -> busy[me] = true } }
inline leave() { busy[me] = false }
inline take_sync() { atomic { !sync[me] -> sync[me] = true } }
inline give_sync() { sync[me] = false }

/* The bytes that differ from the twin go home, one by one. */
inline send()
{
#ifdef WHOLE_PAGE
    atomic { from_x = x[me]; from_y = y[me]; sent = true };
    x[home[me]] = from_x; y[home[me]] = from_y;
#else
    atomic { from_x = x[me]; from_y = y[me]; sent = from_x != tx[me] || from_y != ty[me] };
    if :: from_x != tx[me] -> x[home[me]] = from_x :: else fi;
    if :: from_y != ty[me] -> y[home[me]] = from_y :: else fi;
#endif
#if defined(ASYNC) && !defined(OLD_TWIN)
    d_step { tx[me] = from_x; ty[me] = from_y };
#endif
    d_step { from_x = 0; from_y = 0 }
}

/* ---- Accesses -------------------------------------------------------------------------------- */

inline bring()
{
    if
    :: home[me] == me -> access[me] = READ
    :: else ->
        x[me] = x[home[me]]; y[me] = y[home[me]];
        d_step {
#ifdef ASYNC
            tx[me] = x[me]; ty[me] = y[me];
#endif
            access[me] = READ
        }
    fi
}

/* pages_provide(); a page that moves is waited for outside. */
inline fault(for_writing)
{
    atomic { !busy[me] && !moving[me] -> busy[me] = true };
    if :: access[me] == NONE -> bring() :: else fi;
    d_step {
        if
#ifndef ASYNC
        :: for_writing && access[me] == READ ->
            tx[me] = x[me]; ty[me] = y[me];
            written[me] = true; access[me] = WRITE
#endif
        :: else
        fi
    };
    leave()
}

inline add_to_x()
{
    do
    :: atomic { access[me] != NONE -> assert(x[me] == latest); break }
    :: access[me] == NONE -> fault(false)
    od;
    do
    :: atomic { MAY_WRITE(me) -> latest++; x[me] = latest; NOTE; break }
    :: !MAY_WRITE(me) -> fault(true)
    od
}

inline write_y()
{
    do
    :: atomic { MAY_WRITE(me) -> y[me] = 1; NOTE; break }
    :: !MAY_WRITE(me) -> fault(true)
    od
}

/* Some other byte of the page. */
inline touch()
{
    do
    :: access[me] != NONE -> break
    :: access[me] == NONE -> fault(false)
    od
}

inline read_y()
{
    do
    :: atomic { access[me] != NONE -> assert(y[me] == 1); break }
    :: access[me] == NONE -> fault(false)
    od
}

/* ---- Releases and acquires, with sync --------------------------------------------------------- */

inline harvest()
{
    d_step {
        if
#ifdef ASYNC
        :: noted[me] -> noted[me] = false; written[me] = true
#endif
        :: else
        fi
    }
}

inline close_interval()
{
    harvest();
    if
    :: written[me] ->
        enter();
#ifndef LATE_CLEAR
        written[me] = false;
#endif
        if
        :: MAY_WRITE(me) ->
#ifndef ASYNC
            access[me] = READ;
#endif
            if
            :: home[me] == me -> owed[me] = true
            :: else -> send(); if :: sent -> owed[me] = true :: else fi
            fi
        :: else
        fi;
        leave();
#ifdef LATE_CLEAR
        written[me] = false
#endif
    :: else
    fi;
    d_step {
        if
        :: owed[me] -> owed[me] = false; log_end[me]++; learnt[me].at[me] = log_end[me]
        :: else
        fi
    }
}

/* Entered. */
inline drop()
{
    if
    :: access[me] == NONE || home[me] == me -> skip
    :: else ->
#ifdef ASYNC
        d_step { access[me] = NONE; noted[me] = false; written[me] = false; sent = true };
#else
        d_step { sent = written[me]; access[me] = NONE; written[me] = false };
#endif
#ifndef NO_RESCUE
        if :: sent -> send() :: else fi;
        if :: sent -> owed[me] = true :: else fi
#endif
    fi
}

inline learn(what)
{
    d_step {
        sent = false; q = 0;
        do
        :: q < N ->
            if :: what.at[q] > learnt[me].at[q] -> learnt[me].at[q] = what.at[q]; sent = true :: else fi;
            q++
        :: else -> break
        od;
        q = 0
    };
    if :: sent -> enter(); drop(); leave() :: else fi
}

/* ---- The lock --------------------------------------------------------------------------------- */

inline with_lock()
{
    atomic { lock_holder == 0 -> lock_holder = me + 1 };
    take_sync(); learn(lock_vector); give_sync();
    add_to_x();
#ifdef EARLY_UNLOCK
    lock_holder = 0;
#endif
    take_sync();
    close_interval();
    d_step {
        q = 0;
        do :: q < N -> lock_vector.at[q] = learnt[me].at[q]; q++ :: else -> break od;
        q = 0
    };
    give_sync();
#ifndef EARLY_UNLOCK
    lock_holder = 0
#endif
}

/* ---- The barrier, at which the home moves ------------------------------------------------------ */

inline meet_at(counter)
{
    counter++;
    counter == N
}

/* The old home lets go; nobody here can write the page until it has moved. */
inline part()
{
    enter();
    d_step {
#ifndef LOST_NOTICE
#ifdef ASYNC
        owed[me] = true;
#else
        if :: written[me] -> owed[me] = true :: else fi;
#endif
#endif
        written[me] = false; noted[me] = false; access[me] = NONE; moving[me] = true
    };
    leave()
}

inline follow()
{
    enter();
    if
    :: me == 1 ->
        drop();
        x[me] = x[0]; y[me] = y[0];
        d_step { home[me] = 1; access[me] = READ }
#ifdef FOLLOW_EARLY
    :: else -> home[me] = 1
#else
    :: else -> d_step { home[me] = 1; moving[me] = true }
#endif
    fi;
    leave()
}

inline barrier()
{
    take_sync();
    close_interval();
    block.at[me] = log_end[me];
#ifndef SYNC_HELD
    give_sync();
#endif
    meet_at(came);
#ifndef SYNC_HELD
    take_sync();
#endif
    learn(block);
#ifdef MOVE_UNLOCKED
    give_sync();
#endif
    if :: me == 0 -> part() :: else fi;
#ifndef NO_PARTING
    meet_at(parted);
#endif
    follow();
#ifndef NO_FOLLOWING
    meet_at(followed);
#endif
    moving[me] = false;
#ifndef MOVE_UNLOCKED
    give_sync()
#endif
}

/* ---- Programs ---------------------------------------------------------------------------------- */

#define OWN byte from_x, from_y, q; bool sent

proctype old_home(byte me) { OWN; barrier(); read_y() }
proctype new_home(byte me) { OWN; write_y(); with_lock(); barrier(); with_lock() }
proctype sharer(byte me) { OWN; barrier(); read_y() }
proctype worker(byte me) { OWN; touch(); with_lock() }

init {
    atomic {
        access[0] = READ; access[2] = READ; /* rank 2 has a copy, rank 1 none */
        run old_home(0); run new_home(1); run sharer(2); run worker(0); run worker(2)
    }
}
