/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the test programs of locks, barriers and collectives share: being a rank, failing with a
 * line that says why, dying at a moment of chance. A rank that is content prints "ok RANK".
 */
#pragma once

#include "moment.h"
#include "simulation.h"

#include <rhinet/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

struct member {
    struct rh_job *job;
    struct rh_msg *msg;
    int rank, size;
    uint64_t seed;   /* the same on all ranks */
    uint64_t random; /* different on each */
};

static inline uint64_t member_mix(uint64_t value)
{
    value = (value ^ value >> 31) * 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 27) * 0xbf58476d1ce4e5b9u;
    return value ^ value >> 29;
}

static inline uint64_t member_next(uint64_t *random)
{
    *random += 0x9e3779b97f4a7c15u;
    return member_mix(*random);
}

#define MEMBER_FAIL(member, ...)                                                                   \
    do {                                                                                           \
        fprintf(stderr, "rank %d, %s:%d: ", (member)->rank, __FILE__, __LINE__);                   \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, " (last error: %s)\n", rh_error_text());                                   \
        _exit(3);                                                                                  \
    } while (0)

#define MEMBER_CHECK(member, condition)                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            MEMBER_FAIL(member, "expected %s", #condition);                                        \
    } while (0)

#define MEMBER_CODE(member, call, expected)                                                        \
    do {                                                                                           \
        int member_code_ = (call);                                                                 \
        if (member_code_ != (expected))                                                            \
            MEMBER_FAIL(member, "%s: expected %d, got %d", #call, (int)(expected), member_code_);  \
    } while (0)

#define MEMBER_OK(member, call) MEMBER_CODE(member, call, 0)

static inline void member_start(struct member *member, uint64_t seed)
{
    member->rank = -1;
    if (!member->job)
        MEMBER_OK(member, rh_join(&member->job, NULL));
    moment_of_job(member->job);
    member->rank = rh_rank(member->job);
    member->size = rh_size(member->job);
    member->seed = seed;
    member->random = member_mix(seed + 1) + (uint64_t)member->rank;
    MEMBER_OK(member, rh_msg_open(&member->msg, member->job));
}

static inline void member_end(struct member *member)
{
    MEMBER_OK(member, rh_msg_close(member->msg));
    MEMBER_OK(member, rh_leave(member->job));
    printf("ok %d\n", member->rank);
}

/* Die somewhere within the next `most_us` microseconds, in the middle of whatever it is then. */
static inline void member_die_soon(struct member *member, unsigned most_us)
{
    unsigned us = 1 + (unsigned)(member_next(&member->random) % most_us);
    if (moment_is_simulated()) {
        moment_die_soon(us);
        return;
    }
    struct itimerval timer = {.it_value = {.tv_sec = us / 1000000, .tv_usec = us % 1000000}};
    setitimer(ITIMER_REAL, &timer, NULL); /* SIGALRM is not caught: it kills */
}

static inline void member_sleep_us(unsigned us)
{
    moment_sleep_us(us);
}

static inline int64_t member_now_ms(void)
{
    return moment_now_ns() / 1000000;
}

/* ---- The program ----------------------------------------------------------------------------- */

/* One rank's part of a case; job: NULL, it is to join. 0, or 2: there is no such case. */
typedef int (*member_part)(struct rh_job *job, const char *name, uint64_t seed);

struct member_program {
    member_part part;
    const char *name;
    uint64_t seed;
};

static inline int member_fiber(struct rh_job *job, void *context)
{
    const struct member_program *program = context;
    return program->part(job, program->name, program->seed);
}

extern char **environ;

/* PROGRAM CASE SEED: one rank. PROGRAM CASE SEED RANKS: all of them, on a simulated cluster. */
static inline int member_main(int count, char **words, member_part part)
{
    if (count != 3 && count != 4)
        return 2;
    struct member_program program = {part, words[1], strtoull(words[2], NULL, 10)};
    struct simulated_report report;
    if (count == 3)
        return part(NULL, program.name, program.seed);
    setenv("RHINET_STUCK", "0", 0);
    struct simulation_options options = {.size = (int)strtol(words[3], NULL, 10),
                                         .seed = program.seed,
                                         .environment = environ,
                                         .rank_main = member_fiber,
                                         .context = &program,
                                         .leaves_itself = true};
    int result = simulation_run(&options, &report);
    printf("# %.6f s of virtual time, %llu events\n", (double)report.time_ns / 1e9,
           (unsigned long long)report.events);
    return result != 0;
}
