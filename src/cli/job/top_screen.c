/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One sample of `rhinet top`, as a table or as a line of JSON.
 */
#include "cli/job/info.h"
#include "cli/job/top.h"
#include "cli/json_put.h"
#include "cli/table.h"
#include "dsm/dsm_layer.h"
#include "nic/nic_layer.h"
#include "rma/rma_layer.h"

#include <inttypes.h>
#include <time.h>

#define RATE_COLUMNS 7
#define FRAME_LINES  5 /* heading, blank, titles, total, and the line the cursor stands on */

/* A host that has told nothing in between: what it tells next is not of this interval alone. */
static bool is_known(const struct top_sample *sample, uint32_t rank)
{
    return sample->before->rank[rank].is_counted && sample->now->rank[rank].is_counted;
}

static double rate(const struct top_sample *sample, uint32_t rank, unsigned which)
{
    uint64_t before = sample->before->rank[rank].counter[which];
    uint64_t now = sample->now->rank[rank].counter[which];
    return is_known(sample, rank) && now > before && sample->interval_s > 0
               ? (double)(now - before) / sample->interval_s
               : 0;
}

struct top_rates top_rates(const struct top_sample *sample, uint32_t rank)
{
    static const unsigned operations[] = {COUNTER_PUSH,   COUNTER_PULL,   COUNTER_INLINE,
                                          COUNTER_STORE,  COUNTER_ATOMIC, COUNTER_APPEND,
                                          COUNTER_RECEIVE};
    static const unsigned denials[] = {COUNTER_DENIED_SEGMENT, COUNTER_DENIED_STALE,
                                       COUNTER_DENIED_BOUNDS, COUNTER_DENIED_RIGHTS,
                                       COUNTER_DENIED_DEAD};
    struct top_rates rates = {0};
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        rates.operations += rate(sample, rank, operations[i]);
    for (size_t i = 0; i < sizeof(denials) / sizeof(denials[0]); i++)
        rates.denials += sample->now->rank[rank].counter[denials[i]];
    rates.bytes = rate(sample, rank, COUNTER_PUSH_BYTES) + rate(sample, rank, COUNTER_PULL_BYTES);
    rates.fetches = rate(sample, rank, COUNTER_DSM_FETCH) + rate(sample, rank, COUNTER_DSM_OWN);
    rates.bounces = rate(sample, rank, COUNTER_DSM_BOUNCE);
    rates.waits = rate(sample, rank, COUNTER_WAIT);
    rates.sleeps = rate(sample, rank, COUNTER_WAIT_SLEEP);
    return rates;
}

static void cells_unknown(struct table *table)
{
    for (int i = 0; i < RATE_COLUMNS; i++)
        table_cell(table, "-");
}

static void cells_rates(struct table *table, const struct top_rates *rates)
{
    char text[UNIT_TEXT_MAX];
    table_cell(table, "%s", unit_count(text, rates->operations));
    table_cell(table, "%s", unit_bytes(text, rates->bytes));
    table_cell(table, "%s", unit_count(text, rates->fetches));
    table_cell(table, "%s", unit_count(text, rates->bounces));
    table_cell(table, "%s", unit_count(text, rates->waits));
    table_cell(table, "%s", unit_count(text, rates->sleeps));
    table_cell(table, "%" PRIu64, rates->denials);
}

static void print_heading(FILE *out, const struct job_snapshot *job)
{
    uint32_t state_count[RH_PEER_DIED + 1] = {0};
    for (uint32_t i = 0; i < job->size; i++)
        state_count[job->rank[i].state]++;
    int64_t age_s = (int64_t)time(NULL) - job->start_time_s;
    fprintf(out, "job %" PRIx64 "  %s  up %" PRId64 ":%02d  %u ranks:", job->id, job->nic,
            age_s / 60, (int)(age_s % 60), job->size);
    for (int state = 0; state <= RH_PEER_DIED; state++) {
        if (state_count[state] > 0)
            fprintf(out, " %u %s", state_count[state], job_state_name((enum rh_peer_state)state));
    }
    uint32_t unseen = 0;
    for (uint32_t i = 0; i < job->size; i++)
        unseen += !job->rank[i].is_counted;
    if (unseen > 0)
        fprintf(out, "; %u on hosts that have told nothing of them", unseen);
    fputs("\n\n", out);
}

static void add_rank(struct table *table, const struct top_sample *sample, uint32_t rank)
{
    const struct job_rank *state = &sample->now->rank[rank];
    struct top_rates rates = top_rates(sample, rank);
    table_cell(table, "%u", rank);
    table_cell(table, "%s", job_state_name(state->state));
    table_cell(table, "%d", state->pid);
    if (is_known(sample, rank))
        cells_rates(table, &rates);
    else
        cells_unknown(table);
}

static void add_total(struct table *table, const struct top_sample *sample)
{
    struct top_rates total = {0};
    for (uint32_t i = 0; i < sample->now->size; i++) {
        struct top_rates rates = top_rates(sample, i);
        total.operations += rates.operations;
        total.bytes += rates.bytes;
        total.fetches += rates.fetches;
        total.bounces += rates.bounces;
        total.waits += rates.waits;
        total.sleeps += rates.sleeps;
        total.denials += rates.denials;
    }
    table_cell(table, "all");
    table_cell(table, "%s", "");
    table_cell(table, "%s", "");
    cells_rates(table, &total);
}

void top_print(FILE *out, const struct top_sample *sample, int width, int height)
{
    static const struct table_column columns[] = {
        {.title = "RANK", .is_number = true},
        {.title = "STATE"},
        {.title = "PID", .is_number = true, .rank = 2},
        {.title = "OPS/S", .is_number = true},
        {.title = "BYTES/S", .is_number = true},
        {.title = "FETCHES/S", .is_number = true, .rank = 5},
        {.title = "BOUNCES/S", .is_number = true, .rank = 6},
        {.title = "WAITS/S", .is_number = true, .rank = 3},
        {.title = "SLEEPS/S", .is_number = true, .rank = 4},
        {.title = "DENIED", .is_number = true, .rank = 1},
    };
    uint32_t size = sample->now->size;
    uint32_t shown = size;
    if (height > FRAME_LINES && size > (uint32_t)(height - FRAME_LINES))
        shown = (uint32_t)(height - FRAME_LINES) - 1; /* the line that says so */
    print_heading(out, sample->now);
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (uint32_t i = 0; i < shown; i++)
        add_rank(table, sample, i);
    add_total(table, sample);
    table_print(table, out, width);
    table_destroy(table);
    if (shown < size)
        fprintf(out, "and %u more ranks; --once shows all\n", size - shown);
}

/* What is not known is null: 0 would say that nothing has been done. */
static void rates_put(json_t *object, const struct top_rates *rates, bool is_known)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"ops_per_s", rates->operations},  {"bytes_per_s", rates->bytes},
               {"fetches_per_s", rates->fetches}, {"bounces_per_s", rates->bounces},
               {"waits_per_s", rates->waits},     {"sleeps_per_s", rates->sleeps}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        json_object_set_new(object, all[i].name, is_known ? json_real(all[i].value) : json_null());
    json_object_set_new(object, "denials",
                        is_known ? json_integer((json_int_t)rates->denials) : json_null());
}

static json_t *rank_json(const struct top_sample *sample, uint32_t which)
{
    const struct job_rank *rank = &sample->now->rank[which];
    struct top_rates rates = top_rates(sample, which);
    json_t *object = json_object();
    json_put_number(object, "rank", which);
    json_put_text(object, "state", job_state_name(rank->state));
    json_put_number(object, "pid", (uint64_t)rank->pid);
    rates_put(object, &rates, is_known(sample, which));
    json_object_set_new(object, "counters", info_counters_json(rank));
    return object;
}

json_t *top_json(const struct top_sample *sample)
{
    char id[24];
    snprintf(id, sizeof(id), "%" PRIx64, sample->now->id);
    json_t *ranks = json_array();
    for (uint32_t i = 0; i < sample->now->size; i++)
        json_array_append_new(ranks, rank_json(sample, i));
    json_t *object = json_object();
    json_put_format(object, "top 1");
    json_put_text(object, "job", id);
    json_put_number(object, "time", (uint64_t)time(NULL));
    json_put_real(object, "interval_s", sample->interval_s);
    json_object_set_new(object, "ranks", ranks);
    return object;
}

int top_json_print(FILE *out, const struct top_sample *sample)
{
    json_t *object = top_json(sample);
    int result = object ? json_dumpf(object, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) : -1;
    json_decref(object);
    fputc('\n', out);
    return result == 0 && fflush(out) == 0 ? 0 : -1;
}
