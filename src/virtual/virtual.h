/* SPDX-License-Identifier: BSD-3-Clause
 *
 * librhinet_virtual.so, the library that is loaded before a rank of NIC martini, so that the
 * program lives in virtual time: clocks and sleeps of the C library, MPI_Wtime, and the meter of
 * what the program computes between two calls of rhinet or MPI. It knows the simulation only by
 * what the rank's NIC offers it (struct virtual_time), and the NIC knows it only by the one symbol
 * that it exports for that, VIRTUAL_SYMBOL, a struct virtual_program.
 *
 *   clock.c   clocks and sleeps    edge.c   the meter, and whose clock counts now
 *   mpi.c     MPI's start and end  calls.py makes the edges of all calls of rhinet
 *
 * What rhinet, MPI and what they stand on ask the C library is answered by the machine's clock:
 * they wait for other processes, not in the world. So it is for what never joins a job.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define VIRTUAL_SYMBOL   rhinet_virtual
#define VIRTUAL_NAME     "rhinet_virtual"
#define VIRTUAL_VARIABLE "RHINET_VIRTUAL" /* what the library is to do: words between commas */
#define VIRTUAL_METER    "meter"          /* measure what the program computes */

/* The world, as a rank's NIC reaches it. */
struct virtual_time {
    void *context;
    int64_t (*now_ns)(void *context); /* since the world began; INT64_MIN: it is gone */
    void (*sleep)(void *context, int64_t duration_ns);
    /* While something outside of the world is waited for: lets the world go on, until only the
     * outside can change anything, or something has come. */
    void (*park)(void *context);
    void (*gather)(void *context); /* behind what all ranks have waited for outside */
};

struct virtual_computed {
    uint64_t ns;    /* of processor time; 0 if there is no meter */
    uint64_t calls; /* of libraries that the thread has returned from, since it began */
};

/* The program, as its rank's NIC sees it. */
struct virtual_program {
    /* One for each process: the world that its clocks show from now on; NULL: none any more. */
    void (*attach)(const struct virtual_time *time);
    /* What the thread has computed since the last time. */
    struct virtual_computed (*computed_take)(void);
    /* It waits for something outside of the world: MPI's start or end. */
    bool (*is_outside)(void);
    /* The edge of a library: what lies between is not the program's computing. */
    void (*enter)(void);
    void (*leave)(void);
};

extern const struct virtual_program VIRTUAL_SYMBOL;
