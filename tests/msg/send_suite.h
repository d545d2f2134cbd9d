/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The suite of send and receive, written to the public headers only.
 *
 * All ranks run each case together, each with a mailbox that is new for the case. A case is
 * straight-line code; at the first check that does not hold its rank says so and ends, and with it
 * the job. Rank 0 prints a line per case.
 */
#pragma once

#include "check.h"
#include "meeting.h"
#include "pattern.h"

#include <rhinet/msg.h>
#include <stddef.h>

/* Longest wait for a peer: far above what any takes. */
#define LONG_NS RH_MILLISECONDS(20000)

struct mail_test {
    struct rh_job *job;
    struct rh_msg *msg;
    int rank, size;
    int next, previous; /* neighbours round the ring */
    struct meeting meeting;
    struct prng prng;    /* same numbers on all ranks; seeded anew for each case */
    bool is_quick;       /* memory and time are short: a sanitizer watches */
    bool is_thread;      /* ranks are threads of one process */
    bool has_left;       /* the case has called rh_leave() */
    const char *skipped; /* the case says that it could not run, and why */
    const char *outside; /* or that it has no meaning here */
};

#define CASE_ALONE         1u /* the last rank dies or leaves: launched alone, with --survive */
#define CASE_LATE          2u /* opens the mailbox itself */
#define CASE_SHORT_TIMEOUT 4u /* a launch of its own with a short timeout */
#define CASE_HEAVY         8u /* needs gigabytes, or much time */

struct mail_case {
    const char *name;
    void (*run)(struct mail_test *test);
    int least_size; /* ranks it needs */
    unsigned flags;
};

/* Each ends with an entry whose name is NULL. */
extern const struct mail_case send_basic_cases[];
extern const struct mail_case send_request_cases[];
extern const struct mail_case send_flow_cases[];
extern const struct mail_case send_way_cases[];
extern const struct mail_case send_end_cases[];

/* ---- Steps of a case ------------------------------------------------------------------------ */

/* Wait for all ranks that are not gone. Made of pushes only, each tried until it arrives, so that
 * it works on a NIC that drops some. */
void mail_meet(struct mail_test *test);
void mail_sleep_us(unsigned duration_us);
int64_t mail_now_ns(void);
uint64_t mail_counter(const struct mail_test *test, const char *name);

/* RHINET_MSG_WAY. */
const char *mail_way(void);
/* Whether the next rank's memory is in reach of loads and stores. */
bool mail_is_direct(const struct mail_test *test);
/* Whether the receiver can fetch long messages by itself, alone or jointly with the sender: by
 * RHINET_MSG_WAY, or because memory is not in reach. */
bool mail_pulls(const struct mail_test *test);

/* Memory between guards, checked by mail_free(). */
void *mail_alloc(size_t length);
void mail_free(void *buffer);

/* Send and receive a message whose bytes are the pattern of `seed`. */
void mail_send(struct mail_test *test, int rank, int tag, size_t length, uint64_t seed);
void mail_receive(struct mail_test *test, int rank, int tag, size_t length, uint64_t seed);
void mail_check(const void *data, size_t length, uint64_t seed, const char *file, int line);
#define CHECK_MESSAGE(data, length, seed) mail_check(data, length, seed, __FILE__, __LINE__)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Drivers -------------------------------------------------------------------------------- */

struct mail_options {
    const char *only; /* one case by name */
    bool is_quick, is_thread;
};

/* Runs the cases as one rank and leaves the job. Returns 0; ends the process if a check fails. */
int mail_suite_run(struct rh_job *job, const struct mail_options *options);
void mail_suite_list(void);
const struct mail_case *mail_suite_case(size_t index); /* NULL: there are no more */
