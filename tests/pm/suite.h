/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The suite that every implementation of PM must pass. RHINET_PM says which is tested.
 *
 * All ranks run each case together, each with a context that was opened for it. A case leaves at
 * the first check that does not hold. Contexts are closed when all ranks have left it.
 */
#pragma once

#include "check.h"
#include "meeting.h"
#include "pattern.h"

#include <rhinet/pm.h>

#define SUITE_WAIT_NS RH_MILLISECONDS(10000)

struct suite {
    struct rh_job *job;
    int rank, size;
    struct pm_context *pm;
    struct pm_info info;
    struct meeting meeting;
    struct prng prng; /* different on each rank */
    uint64_t *verdicts;
    bool is_thread; /* ranks are threads: nobody can be killed */
};

#define CASE_DIES  1u /* the last rank is killed in it: needs a launch of its own */
#define CASE_SPLIT 2u /* with PM_SPLIT_PUSHES, which only pm-ring grants */
#define CASE_RING  4u /* looks into pm-ring */

struct suite_case {
    const char *name;
    void (*run)(struct suite *suite);
    unsigned flags;
};

/* Each ends with an entry whose name is NULL. */
extern const struct suite_case rule_cases[];
extern const struct suite_case message_cases[];
extern const struct suite_case full_cases[];
extern const struct suite_case memory_cases[];
extern const struct suite_case death_cases[];

struct suite_options {
    const char *only;
    bool is_thread;
};

/* Names of all cases; those with a launch of their own are marked. */
void suite_list(void);
/* Run it as one of the ranks. Returns 1 if a case failed; rank 0 prints. */
int suite_run(struct rh_job *job, const struct suite_options *options);

/* ---- For cases ------------------------------------------------------------------------------ */

void suite_meet(struct suite *suite);
bool suite_is(const struct suite *suite, const char *implementation);
int suite_next(const struct suite *suite);

/* Send a message whose bytes are the pattern of seed, waiting for room. */
void suite_send(struct suite *suite, int rank, size_t length, uint64_t seed);
/* Receive one that must be from source, of this length and pattern, and release it. */
void suite_take(struct suite *suite, int source, size_t length, uint64_t seed);
void suite_check_message(const struct pm_message *message, int source, size_t length,
                         uint64_t seed);
