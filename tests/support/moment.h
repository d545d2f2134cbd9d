/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time and death for tests. Usually those of the machine; where ranks are fibers of a simulated job
 * (simulation.h) they are the simulation's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Ranks are fibers: no threads, no signals. */
bool moment_is_simulated(void);

/* This process is a rank of a job, whose network may be simulated: then time is the job's, since
 * virtual time stands still while a rank sleeps by itself. */
struct rh_job;
void moment_of_job(struct rh_job *job);

void moment_sleep_us(unsigned duration_us);
int64_t moment_now_ns(void);

/* The calling rank dies, as by kill -9: now, or wherever it is then. */
_Noreturn void moment_die(void);
void moment_die_soon(unsigned after_us);

struct moment_ops {
    void (*sleep_us)(unsigned duration_us);
    int64_t (*now_ns)(void);
    void (*die)(void); /* NULL, and the next: as a process does */
    void (*die_soon)(unsigned after_us);
};
/* NULL: those of the machine. Only while a single thread runs. */
void moment_set(const struct moment_ops *ops);
