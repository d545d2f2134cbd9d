/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measurements that fail: whatever they call fails once, at its first, middle and last time. The
 * failure must come out at the top, nothing is measured after it, and the next measurement is the
 * same as ever. The linker puts the calls below before the real ones (--wrap).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "cache/node/node.h"
#include "experiment/cache/cluster.h"
#include "experiment/thesis/pm/mpi_measure.h"
#include "experiment/thesis/pm/pm.h"
#include "simulated/simulated.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB 1024u

/* ---- Calls that fail ------------------------------------------------------------------------ */

enum damage { FAILS, PRETENDS, SPOILS };

static struct {
    const char *call; /* its name; NULL: none fails */
    uint64_t at;      /* which time; 0: never, only counted */
    uint64_t count;   /* so far */
    enum damage damage;
    bool is_empty; /* simulated jobs succeed without being run */
    bool is_pm;    /* what failed is a call of PM, which has texts of its own */
} plan;

static bool is_met(const char *call)
{
    return plan.call && strcmp(plan.call, call) == 0 && ++plan.count == plan.at;
}

static int refusal(const char *call)
{
    plan.is_pm = strncmp(call, "pm", 2) == 0;
    if (plan.is_pm)
        return RH_EREFUSED;
    return error_set(RH_EREFUSED, ERROR_NO_RANK, "%s is made to fail", call);
}

#define CAUGHT(name, parameters, arguments)                                                        \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        return is_met(#name) ? refusal(#name) : __real_##name arguments;                           \
    }

CAUGHT(pmOpenContext,
       (struct pm_context * *pm, struct rh_job *job, const struct pm_options *options),
       (pm, job, options))
CAUGHT(pmGetInfo, (const struct pm_context *pm, struct pm_info *info), (pm, info))
CAUGHT(pmGetSendBuffer, (struct pm_context * pm, int rank, size_t length, void **buffer),
       (pm, rank, length, buffer))
CAUGHT(pmSend, (struct pm_context * pm), (pm))
CAUGHT(pmSendWait, (struct pm_context * pm, int64_t timeout_ns), (pm, timeout_ns))
CAUGHT(pmCancelSend, (struct pm_context * pm), (pm))
CAUGHT(pmReceive, (struct pm_context * pm, struct pm_message *message), (pm, message))
CAUGHT(pmReceiveWait, (struct pm_context * pm, struct pm_message *message, int64_t timeout_ns),
       (pm, message, timeout_ns))
CAUGHT(pmReleaseReceiveBuffer, (struct pm_context * pm), (pm))
CAUGHT(pmRegisterMemory,
       (struct pm_context * pm, void *base, size_t length, struct pm_memory *memory),
       (pm, base, length, memory))
CAUGHT(pmWrite,
       (struct pm_context * pm, const struct pm_place *target, const void *source, size_t length),
       (pm, target, source, length))
CAUGHT(pmWaitDone, (struct pm_context * pm, int64_t timeout_ns), (pm, timeout_ns))
CAUGHT(sim_create, (struct sim * *sim, uint64_t seed), (sim, seed))
CAUGHT(node_open,
       (struct node * node, struct rh_job *job, struct cache_control *control,
        const struct node_options *options),
       (node, job, control, options))

/* What is open must be closed, also when that is told as a failure. */
int __real_pmCloseContext(struct pm_context *pm);
int __wrap_pmCloseContext(struct pm_context *pm);
int __wrap_pmCloseContext(struct pm_context *pm)
{
    int result = __real_pmCloseContext(pm);
    return is_met("pmCloseContext") ? refusal("pmCloseContext") : result;
}

const char *__real_pmErrorText(void);
const char *__wrap_pmErrorText(void);
const char *__wrap_pmErrorText(void)
{
    static char text[64];
    snprintf(text, sizeof(text), "%s is made to fail", plan.call ? plan.call : "nothing");
    return plan.is_pm ? text : __real_pmErrorText();
}

int __real_simulated_run(const struct simulated_options *options, struct simulated_report *report);
int __wrap_simulated_run(const struct simulated_options *options, struct simulated_report *report);
int __wrap_simulated_run(const struct simulated_options *options, struct simulated_report *report)
{
    if (is_met("simulated_run"))
        return refusal("simulated_run");
    return plan.is_empty ? 0 : __real_simulated_run(options, report);
}

static void spoil(struct node *node, const struct loader_file *file, uint64_t block)
{
    uint64_t id[2], token;
    cache_block_id(file->id, block, id);
    uint32_t slot = cache_index_find(&node->store.arena, id, &token);
    assert_true(slot != CACHE_NO_SLOT);
    memset(store_data(&node->store, slot), 0, 64 * KIB);
}

int __real_node_bring(struct node *node, struct loader_file *file, uint64_t block,
                      const struct node_arrival *arrival);
int __wrap_node_bring(struct node *node, struct loader_file *file, uint64_t block,
                      const struct node_arrival *arrival);
int __wrap_node_bring(struct node *node, struct loader_file *file, uint64_t block,
                      const struct node_arrival *arrival)
{
    bool is_it = is_met("node_bring");
    if (is_it && plan.damage == FAILS)
        return -EIO;
    if (plan.call && plan.at > 0 && plan.damage == PRETENDS)
        return 0;
    int result = __real_node_bring(node, file, block, arrival);
    if (is_it && plan.damage == SPOILS && result == 0)
        spoil(node, file, block);
    return result;
}

static void plan_set(const char *call, uint64_t at, bool is_empty)
{
    memset(&plan, 0, sizeof(plan));
    plan.call = call;
    plan.at = at;
    plan.is_empty = is_empty;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* Every measurement that a part consists of fails in turn: the part ends there. */
static void test_rows(void **state)
{
    static int (*const parts[])(struct session * session) = {cluster_facts, pm_rows, pm_facts,
                                                             pm_nodes, mpi_rows};
    struct thesis_report *report = calloc(1, sizeof(*report));
    struct session session = {
        .report = report, .which = "all", .constants = sim_constants_default()};
    uint64_t all = 0;
    (void)state;
    assert_non_null(report);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (uint64_t at = 1;; at++) {
            plan_set("simulated_run", at, true);
            int result = parts[i](&session);
            if (plan.count < at) {
                assert_int_equal(result, 0);
                break;
            }
            assert_int_equal(result, RH_EREFUSED);
            assert_int_equal(plan.count, at);
            assert_string_equal(rh_error_text(), "simulated_run is made to fail");
            memset(report, 0, sizeof(*report));
            all++;
        }
    }
    plan_set(NULL, 0, false);
    assert_true(all > 100);
    free(report);
}

static bool is_group_begun(const struct thesis_row *row)
{
    for (const struct thesis_row *before = thesis_rows; before < row; before++) {
        if (strcmp(before->group, row->group) == 0)
            return true;
    }
    return false;
}

/* The same for the parts that are the simulator's own: no world can be made. */
static void test_chapters(void **state)
{
    struct thesis_report *report = calloc(1, sizeof(*report));
    struct thesis_hosts hosts;
    uint64_t failed = 0;
    (void)state;
    assert_non_null(report);
    assert_int_equal(thesis_hosts_usual(&hosts), 0);
    for (const struct thesis_row *row = thesis_rows; row->id; row++) {
        if (is_group_begun(row))
            continue;
        plan_set("sim_create", 0, true);
        assert_int_equal(thesis_run(report, row->group, &hosts, NULL), 0);
        uint64_t count = plan.count, step = count / 4 + 1;
        for (uint64_t at = count; at > 0; at = at > step ? at - step : 0) {
            plan_set("sim_create", at, true);
            assert_int_equal(thesis_run(report, row->group, &hosts, NULL), RH_EREFUSED);
            assert_int_equal(plan.count, at);
            failed++;
        }
    }
    plan_set(NULL, 0, false);
    assert_true(failed > 20);
    free(report);
}

/* ---- Measurements --------------------------------------------------------------------------- */

static struct sim_constants usual;

static int facts(const struct pm_setup *setup, double *value)
{
    static struct thesis_report report;
    *value = 0;
    struct session session = {.report = &report, .which = "all", .constants = *setup->constants};
    return pm_facts(&session);
}

static const struct {
    int (*run)(const struct pm_setup *setup, double *value);
    struct pm_setup setup;
} measurements[] = {
    {pm_round_trip, {&usual, "pm-ring", 2, 8, 4}},
    {pm_round_trip, {&usual, "pm-queue", 3, 4096, 4}},
    {pm_stream, {&usual, "pm-ring", 2, 2040, 4}},
    {pm_write_stream, {&usual, "pm-ring", 2, 64 * KIB, 2}},
    {mpi_exchange, {&usual, "pm-ring", 2, 64 * KIB, 2}},
    {mpi_exchange, {&usual, "pm-queue", 3, 4, 2}},
    {facts, {&usual, NULL, 2, 0, 0}},
};

static const char *const calls[] = {
    "simulated_run", "pmOpenContext",          "pmGetInfo",        "pmGetSendBuffer", "pmSend",
    "pmSendWait",    "pmCancelSend",           "pmReceive",        "pmReceiveWait",   "pmWrite",
    "pmWaitDone",    "pmReleaseReceiveBuffer", "pmRegisterMemory", "pmCloseContext",
};

static int measure(size_t which, const char *call, uint64_t at, double *value)
{
    plan_set(call, at, false);
    return measurements[which].run(&measurements[which].setup, value);
}

static void test_measurements(void **state)
{
    (void)state;
    usual = sim_constants_default();
    for (size_t i = 0; i < sizeof(measurements) / sizeof(measurements[0]); i++) {
        double good, value;
        size_t used = 0;
        for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++) {
            assert_int_equal(measure(i, calls[k], 0, &good), 0);
            uint64_t count = plan.count;
            const uint64_t times[] = {1, count / 2, count};
            for (size_t n = 0; count > 0 && n < 3; n++) {
                if (n > 0 && times[n] <= times[n - 1])
                    continue;
                char said[64];
                snprintf(said, sizeof(said), "%s is made to fail", calls[k]);
                assert_int_equal(measure(i, calls[k], times[n], &value), RH_EREFUSED);
                assert_string_equal(rh_error_text(), said);
            }
            used += count > 0;
        }
        assert_true(used > 4);
        assert_int_equal(measure(i, NULL, 0, &value), 0);
        assert_true(value == good);
    }
}

/* ---- The cache on a cluster ------------------------------------------------------------------ */

static struct cache_cluster_trial trial_of(enum cache_cluster_kind kind)
{
    return (struct cache_cluster_trial){.kind = kind,
                                        .nodes = 3,
                                        .groups = 1,
                                        .singlets = 0.5,
                                        .block_length = 64 * KIB,
                                        .cache_blocks = 12,
                                        .file_length = 8 * 64 * KIB,
                                        .read_length = 16 * KIB,
                                        .reads = 8,
                                        .seed = 3};
}

static int run_trial(const struct cache_cluster_trial *trial, const char *call, uint64_t at,
                     enum damage damage)
{
    struct cache_cluster_result result;
    plan_set(call, at, false);
    plan.damage = damage;
    return cache_cluster_run(trial, &result);
}

static void test_cache_cluster(void **state)
{
    static const char *const cache_calls[] = {"node_open", "node_bring", "sim_create"};
    (void)state;
    for (int kind = CACHE_CLUSTER_SEQUENTIAL; kind <= CACHE_CLUSTER_RANDOM; kind++) {
        struct cache_cluster_trial trial = trial_of((enum cache_cluster_kind)kind);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(run_trial(&trial, cache_calls[i], 0, FAILS), 0);
            uint64_t count = plan.count;
            assert_true(count > 0);
            assert_true(run_trial(&trial, cache_calls[i], 1, FAILS) < 0);
            assert_true(run_trial(&trial, cache_calls[i], count, FAILS) < 0);
        }
        assert_int_equal(run_trial(&trial, "node_bring", 1, FAILS), -EIO);
        assert_non_null(strstr(rh_error_text(), "block "));
        assert_int_equal(run_trial(&trial, "node_bring", 1, PRETENDS), RH_ETIMEOUT);
        assert_non_null(strstr(rh_error_text(), "is always given up at once"));
        assert_int_equal(run_trial(&trial, "node_bring", 1, SPOILS), RH_ECORRUPT);
        assert_non_null(strstr(rh_error_text(), "read something else at "));
    }
}

static void test_cache_cluster_shapes(void **state)
{
    struct cache_cluster_trial trial = trial_of(CACHE_CLUSTER_STRIDE);
    (void)state;
    trial.cache_blocks = 0;
    assert_int_equal(run_trial(&trial, NULL, 0, FAILS), RH_EINVALID);
    assert_non_null(strstr(rh_error_text(), "0 blocks of 65536 bytes are no cache"));
    trial = trial_of(CACHE_CLUSTER_STRIDE);
    trial.nodes = CACHE_CLUSTER_NODES + 1;
    assert_int_equal(run_trial(&trial, NULL, 0, FAILS), RH_EINVALID);
    assert_non_null(strstr(rh_error_text(), "129 hosts: the tree has room for 128"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_chapters),
        cmocka_unit_test(test_measurements),
        cmocka_unit_test(test_cache_cluster),
        cmocka_unit_test(test_cache_cluster_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
