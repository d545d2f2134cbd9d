/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A whole job in one process and in virtual time: each rank is a fiber on a node of a simulated
 * cluster, with NIC martini. The code on it is the real one, from the NIC upwards. The same options
 * give the same run, event by event: simulated_report.hash proves it.
 *
 * For tests and experiments. One job belongs to one thread; a process may run many, one after the
 * other or in several threads.
 */
#pragma once

#include "simulated/world.h"

struct simulated;

/* What goes wrong, and when; all zero: nothing. */
struct simulated_faults {
    double loss;         /* probability that a packet vanishes: then its pair is cut */
    uint32_t cpu_factor; /* on-chip CPUs take so many times as long; 0: as usual */
    int victim;          /* this node dies ... */
    int64_t victim_ns;   /* ... then; 0: nobody does */
};

struct simulated_options {
    int size;                 /* ranks */
    const char *nic;          /* NULL: "martini"; it may be wrapped */
    struct martini_spec spec; /* size, timeout_ns, ended and context are filled in */
    struct simulated_faults faults;
    /* RHINET_ variables; NULL: none. Of RHINET_MARTINI only the network counts (topology, routing,
     * lanes), unless spec has a plan; the rest is said in spec. */
    char *const *environment;
    /* The life of one rank: returns 0, or what it failed with. */
    int (*rank_main)(struct rh_job *job, void *context);
    void *context;
    bool leaves_itself; /* rank_main calls rh_leave() itself */
    size_t stack_size;  /* of a rank; 0: SIMULATED_STACK */
    int64_t limit_ns;   /* virtual time after which it is a failure; 0: an hour */
    /* See martini_on_switch(). */
    void (*switched)(void *context, int rank);
    struct simulated **handle; /* where to tell, before ranks run, what this job is; may be NULL */
};
#define SIMULATED_STACK (512 * 1024)

struct simulated_report {
    int64_t time_ns; /* virtual, at the end */
    uint64_t hash, events, lost;
    int unfinished; /* ranks that had neither ended nor died: they wait for ever */
};

/* Runs the job to its end. 0; the first rank's failure; RH_ETIMEOUT: not all ranks have ended. */
int simulated_run(const struct simulated_options *options, struct simulated_report *report);

/* For ranks, while it runs: a rank dies as by kill -9, now or after some time. RH_ENOSPACE. */
void simulated_kill(struct simulated *simulated, int rank);
_Noreturn void simulated_die(struct simulated *simulated); /* the calling one */
int simulated_kill_after(struct simulated *simulated, int rank, int64_t delay_ns);

int simulated_rank(const struct simulated *simulated); /* the one that runs now, or -1 */
/* Lets time pass for the calling rank, and nothing else. */
void simulated_sleep(struct simulated *simulated, int64_t duration_ns);
int64_t simulated_now_ns(const struct simulated *simulated);
struct martini_world *simulated_world(const struct simulated *simulated);
