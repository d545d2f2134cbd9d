/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The suite that every NIC must pass, written to the public headers only.
 *
 * All ranks run each case together. A case is straight-line code: it makes its segments with the
 * test_ helpers, which clean up after it, and leaves at the first check that does not hold. Before
 * and after each case all ranks meet, so nothing of one case reaches the next.
 */
#pragma once

#include "check.h"
#include "meeting.h"
#include "pattern.h"

#include <rhinet/rma.h>

/* Longest wait for a peer within a case: far above what any takes, below the watchdog. */
#define TEST_WAIT_NS RH_MILLISECONDS(30000)

/* A call that should end at once, or at its deadline, and takes so long, hangs: on a busy machine
 * nothing shorter tells the two apart. */
#define HANG_NS RH_MILLISECONDS(20000)

struct test_resource;

/* One rank's view of the running suite. */
struct test {
    struct rh_job *job;
    int rank;
    int size;
    const struct test_case *running;
    struct meeting meeting;
    struct prng prng; /* same numbers on all ranks; seeded anew for each case */
    struct test_resource *resources;
    struct report *reports; /* on rank 0 */
    bool is_thread;         /* the ranks share an address space */
    bool has_left;          /* the case has called rh_leave() */
};

#define CASE_DIES    1u  /* the last rank is killed in it: needs a launch of its own */
#define CASE_LEAVES  2u  /* the last rank leaves in it: the same */
#define CASE_HEAVY   4u  /* needs gigabytes */
#define CASE_LATE    8u  /* peers are in the middle of using what is removed */
#define CASE_THREADS 16u /* its ranks have threads of their own */
#define CASE_PROCESS 32u /* looks at its process, which must be its own */

struct test_case {
    const char *name;
    void (*run)(struct test *test);
    uint64_t argument;
    unsigned flags;
};

/* Each ends with an entry whose name is NULL. */
extern const struct test_case life_cases[];
extern const struct test_case rights_cases[];
extern const struct test_case bounds_cases[];
extern const struct test_case size_cases[];
extern const struct test_case align_cases[];
extern const struct test_case atomic_cases[];
extern const struct test_case order_cases[];
extern const struct test_case store_cases[];
extern const struct test_case parts_cases[];
extern const struct test_case append_cases[];
extern const struct test_case queue_full_cases[];
extern const struct test_case wait_cases[];
extern const struct test_case wake_cases[];
extern const struct test_case exchange_cases[];
extern const struct test_case death_cases[];
extern const struct test_case death_queue_cases[];

/* ---- Ranks ---------------------------------------------------------------------------------- */

int test_next(const struct test *test);     /* the neighbour above, round the ring */
int test_previous(const struct test *test); /* and below */
int test_victim(const struct test *test);   /* the rank that dies or leaves: the last */
void test_barrier(struct test *test);

/* From now on do not expect this rank at the barrier. */
void test_mark_gone(struct test *test, int rank);

/* Kill this process (CASE_DIES), as kill -9 would. */
_Noreturn void test_die(void);

/* The same after some time, wherever the process then is. */
void test_die_soon(unsigned after_us);

/* Wait until this rank is known to have died or left. */
void test_await_end(struct test *test, int rank);

/* ---- Memory: all of it is given back when the case ends ------------------------------------ */

void *test_alloc(struct test *test, rh_sid sid, uint64_t length);
void test_segment(struct test *test, struct rh_segment *segment);
void *test_create(struct test *test, rh_sid sid, uint64_t length, unsigned rights);
void test_attach(struct test *test, rh_sid sid, void *base, uint64_t length);
void test_detach(struct test *test, rh_sid sid);
struct rh_queue *test_queue(struct test *test, rh_sid sid, uint32_t slot_count,
                            uint32_t slot_length);
void test_queue_destroy(struct test *test, struct rh_queue *queue);

/* Local memory between guards, which are checked when the case ends. Zeroed. */
void *test_buffer(struct test *test, size_t length);

/* ---- Small steps ----------------------------------------------------------------------------- */

/* Write an 8-byte word at a peer, so that a waiter there notices. */
void test_signal(struct test *test, struct rh_remote word, uint64_t value);

/* Wait until an own word is at least value. */
void test_await(struct test *test, const uint64_t *word, uint64_t value, int from);

void test_sleep_us(unsigned duration_us);
int64_t test_now_ns(void);
uint64_t test_counter(struct test *test, const char *name);

void check_pattern(const void *base, size_t length, uint64_t seed, const char *file, int line);
void check_filled(const void *base, size_t length, unsigned char value, const char *file, int line);

#define CHECK_PATTERN(base, length, seed) check_pattern(base, length, seed, __FILE__, __LINE__)
#define CHECK_FILLED(base, length, value) check_filled(base, length, value, __FILE__, __LINE__)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
