/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who comes to an open job first: src/job/member/join_open.c, src/job/manager/open_run.c.
 *
 * Processes join and leave, twice each, and may be killed on the way. There is one name. Who calls and
 * finds nobody binds it, listens, and starts a manager, which has the name from then on. A manager
 * ends when its last member has gone; who called meanwhile is hung up on. Must hold: all who are in
 * are with one manager, which lives, and whoever is not killed gets in. Mutants, each of which must
 * fail:
 *   TAKES_NAME  who is refused takes the name, though somebody holds it who does not listen yet
 *   NO_RETRY    who is hung up on gives up
 *   ENDS_EARLY  a manager ends though a member is in
 *   KEEPS_NAME  who has started a manager keeps its own copy of the socket open
 */
#define PROCESSES 3
#define MANAGERS  7 /* at most one for each attempt */

byte holder = 0;        /* the manager, or manager to be, that the name leads to */
bool listens = false;
byte last = 0;
byte copies[MANAGERS];  /* of a manager's socket that are open: the name goes with the last */
bool serves[MANAGERS];
byte line[PROCESSES];   /* whom a process is connected to; 0: nobody */
byte with[PROCESSES];   /* whose member it is */

/* Whoever has called and was not let in is hung up on when the last copy is closed. */
inline let_go(m)
{
    d_step {
        copies[m]--;
        if
        :: copies[m] == 0 ->
            if :: holder == m -> holder = 0; listens = false :: else fi;
            p = 0;
            do
            :: p < PROCESSES -> if :: line[p] == m -> line[p] = 0 :: else fi; p++
            :: else -> break
            od;
            p = 0
        :: else
        fi
    }
}

#define SOMEBODY_IN(m) (with[0] == m || with[1] == m || with[2] == m)
#define CALLED(m)      (line[0] == m || line[1] == m || line[2] == m)

proctype manager(byte m)
{
    byte p = 0;
    bool has_begun = false;
    serves[m] = true;
    do
    :: atomic { line[0] == m && with[0] == 0 -> with[0] = m; has_begun = true }
    :: atomic { line[1] == m && with[1] == 0 -> with[1] = m; has_begun = true }
    :: atomic { line[2] == m && with[2] == 0 -> with[2] = m; has_begun = true }
#ifdef ENDS_EARLY
    :: has_begun && !CALLED(m) -> break
    :: has_begun && SOMEBODY_IN(m) -> break
#else
    :: has_begun && !SOMEBODY_IN(m) && !CALLED(m) -> break /* and somebody calls now */
#endif
    :: !has_begun && !CALLED(m) && timeout -> break /* who started us was killed */
    od;
    serves[m] = false;
    let_go(m)
}

inline check_all()
{
    assert(serves[with[me]]);
    assert(with[0] == 0 || with[0] == with[me]);
    assert(with[1] == 0 || with[1] == with[me]);
    assert(with[2] == 0 || with[2] == with[me])
}

active [PROCESSES] proctype process()
{
    byte me = _pid, own, round, p = 0;
    for (round : 1 .. 2) {
call:
        if
        :: atomic { holder != 0 && listens -> line[me] = holder }
            if
            :: with[me] != 0
            :: atomic { line[me] == 0 && with[me] == 0 ->
#ifdef NO_RETRY
                assert(false)
#else
                goto call
#endif
                }
            fi
#ifdef TAKES_NAME
        :: atomic { (holder == 0 || !listens) && last + 1 < MANAGERS ->
#else
        :: atomic { holder == 0 && last + 1 < MANAGERS ->
#endif
                last++; own = last; holder = own; copies[own] = 1 }
            if
            :: true -> listens = true
            :: let_go(own); goto end_killed
            fi;
            atomic { copies[own]++; run manager(own) };
#ifndef KEEPS_NAME
            let_go(own);
#endif
            goto call
        fi;
        check_all();
        check_all(); /* also later */
        if
        :: true
        :: atomic { true -> with[me] = 0; line[me] = 0 }; goto end_killed
        fi;
        atomic { with[me] = 0; line[me] = 0 } /* leave */
    }
end_killed:
    skip
}
