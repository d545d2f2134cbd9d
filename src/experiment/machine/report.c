/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What was measured, as a table for people or one JSON object per line for programs.
 */
#include "cli/json_put.h"
#include "cli/table.h"
#include "experiment/machine/bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MEMORY_PER_SENDER_MAX 256.0 /* bytes */
#define BOUND_TEXT_MAX        80
#define NEAR_NS               90 /* a line's trip between cores that are near */

enum verdict { VERDICT_NONE, VERDICT_OK, VERDICT_MISSED, VERDICT_UNSURE, VERDICT_OPEN };

static const char *const verdict_text[] = {"", "ok", "missed", "too few good rounds",
                                           "needs --peers"};

/* One case, and what was found. */
struct finding {
    const struct bench_sheet *sheet;
    const struct bench_case *which;
    const struct bench_figure *figure;
    bool is_there;
    struct bench_round median;
};

static struct finding find(const struct bench_sheet *sheet, int index)
{
    struct finding finding = {.sheet = sheet,
                              .which = &bench_layer_of(sheet)->cases[index],
                              .figure = &sheet->figure[index]};
    finding.is_there = bench_figure_median(finding.figure, &finding.median);
    return finding;
}

/* ---- Verdict -------------------------------------------------------------------------------- */

/* What one more sender costs the receiver: against the job with two, if that was measured, else as
 * the library says. */
static double memory_per_sender(const struct finding *finding)
{
    const struct bench_layer *layer = bench_layer_of(finding->sheet);
    int amount = finding->which->amount;
    for (int i = 0; i < layer->case_count; i++) {
        const struct bench_figure *few = &finding->sheet->figure[i];
        int fewer = amount - layer->cases[i].amount;
        if (layer->cases[i].set_up == finding->which->set_up && few->memory > 0 && fewer > 0)
            return ((double)finding->figure->memory - (double)few->memory) / fewer;
    }
    return (double)finding->figure->memory_per_sender;
}

static bool meets(enum bench_bound bound, double bound_value, double ratio, double value)
{
    switch (bound) {
    case BENCH_RATIO_AT_MOST:
        return ratio <= bound_value;
    case BENCH_RATIO_AT_LEAST:
        return ratio >= bound_value;
    case BENCH_VALUE_AT_MOST:
        return value <= bound_value;
    case BENCH_NO_BOUND:
        break;
    }
    return true;
}

static enum verdict judge_versus(const struct finding *finding)
{
    const struct bench_case *which = finding->which;
    struct bench_round round;
    unsigned count = bench_figure_versus(finding->figure, BENCH_OPEN_MPI, &round);
    if (which->versus == BENCH_NO_BOUND)
        return VERDICT_OK;
    if (count == 0)
        return VERDICT_OPEN;
    if (count < BENCH_ROUNDS_MIN)
        return VERDICT_UNSURE;
    return meets(which->versus, which->versus_value, round.value / round.raw, 0) ? VERDICT_OK
                                                                                 : VERDICT_MISSED;
}

static enum verdict judge(const struct finding *finding)
{
    const struct bench_case *which = finding->which;
    const struct bench_round *median = &finding->median;
    if (bench_is_far(finding->sheet) ||
        (which->bound == BENCH_NO_BOUND && which->versus == BENCH_NO_BOUND))
        return VERDICT_NONE;
    if (finding->figure->round_count < BENCH_ROUNDS_MIN)
        return VERDICT_UNSURE;
    if (!meets(which->bound, which->bound_value, median->value / median->raw, median->value))
        return VERDICT_MISSED;
    if (finding->figure->memory > 0 && memory_per_sender(finding) > MEMORY_PER_SENDER_MAX)
        return VERDICT_MISSED;
    return judge_versus(finding);
}

static const char *sign_of(enum bench_bound bound)
{
    return bound == BENCH_RATIO_AT_LEAST ? ">=" : "<=";
}

static void bound_text(const struct finding *finding, char text[BOUND_TEXT_MAX])
{
    const struct bench_case *which = finding->which;
    int at = 0;
    text[0] = '\0';
    if (bench_is_far(finding->sheet))
        return;
    if (which->bound == BENCH_VALUE_AT_MOST)
        at = snprintf(text, BOUND_TEXT_MAX, "<= %g %s", which->bound_value, which->unit);
    else if (which->bound != BENCH_NO_BOUND)
        at = snprintf(text, BOUND_TEXT_MAX, "%s %.2f x raw", sign_of(which->bound),
                      which->bound_value);
    if (which->versus != BENCH_NO_BOUND)
        at += snprintf(text + at, BOUND_TEXT_MAX - (size_t)at, "%s%s %g x Open MPI",
                       at > 0 ? ", " : "", sign_of(which->versus), which->versus_value);
    if (finding->figure->memory > 0)
        snprintf(text + at, BOUND_TEXT_MAX - (size_t)at, ", <= %g bytes a sender",
                 MEMORY_PER_SENDER_MAX);
}

/* ---- Table ---------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
    {.title = "NAME"},
    {.title = "VALUE", .is_number = true},
    {.title = "UNIT"},
    {.title = "RAW", .is_number = true, .rank = 1},
    {.title = "RATIO", .is_number = true},
    {.title = "MUST REACH", .rank = 2},
    {.title = ""},
    {.title = "LINE TRIP", .is_number = true, .rank = 3},
    {.title = "ROUNDS", .is_number = true, .rank = 4},
    {.title = "DISCARDED", .is_number = true, .rank = 5},
    {.title = "BESIDE OTHERS"}, /* with peers, or of a receiver's memory */
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

/* Whether the two cores are neighbours on the chip. */
static const char *distance(double trip_ns)
{
    return trip_ns < NEAR_NS ? "near" : "far";
}

/* "0.41 x Open MPI (181.2), ...": our value as a multiple of theirs. */
static void others_text(const struct finding *finding, char *text, size_t text_size)
{
    size_t at = 0;
    text[0] = '\0';
    for (int peer = 0; peer < BENCH_PEER_COUNT && at < text_size; peer++) {
        struct bench_round round;
        if (bench_figure_versus(finding->figure, (enum bench_peer)peer, &round) > 0)
            at += (size_t)snprintf(text + at, text_size - at, "%s%.2f x %s (%.1f)",
                                   at > 0 ? ", " : "", round.value / round.raw,
                                   bench_peer_name((enum bench_peer)peer), round.raw);
    }
    const struct bench_round *median = &finding->median;
    if (finding->which->has_tail && finding->is_there && at < text_size)
        at += (size_t)snprintf(text + at, text_size - at,
                               "99 %%: %.0f (raw %.0f), 99.9 %%: %.0f (raw %.0f)", median->tail[0],
                               median->raw_tail[0], median->tail[1], median->raw_tail[1]);
    if (finding->figure->memory > 0 && at < text_size)
        snprintf(text + at, text_size - at, "%.0f bytes a sender", memory_per_sender(finding));
}

static void add_row(struct table *table, const struct finding *finding)
{
    const struct bench_round *median = &finding->median;
    bool is_there = finding->is_there;
    char bound[BOUND_TEXT_MAX], others[256];
    bound_text(finding, bound);
    others_text(finding, others, sizeof(others));
    table_cell(table, "%s", finding->which->name);
    table_cell(table, is_there ? "%.1f" : "-", median->value);
    table_cell(table, "%s", finding->which->unit);
    table_cell(table, is_there ? "%.1f" : "-", median->raw);
    table_cell(table, is_there ? "%.2f" : "-", median->value / median->raw);
    table_cell(table, "%s", bound);
    table_cell(table, "%s", is_there ? verdict_text[judge(finding)] : "not measured");
    if (is_there && median->trip > 0)
        table_cell(table, "%.0f ns %s", median->trip, distance(median->trip));
    else
        table_cell(table, "-");
    table_cell(table, "%u", finding->figure->round_count);
    table_cell(table, "%u", finding->figure->discarded_count);
    table_cell(table, "%s", others);
}

static int write_table(const struct bench_sheet *sheet)
{
    struct table *table = table_create(columns, COLUMN_COUNT);
    for (int i = 0; i < bench_layer_of(sheet)->case_count; i++) {
        struct finding finding = find(sheet, i);
        if (sheet->wishes.is_chosen[i])
            add_row(table, &finding);
    }
    table_print(table, stdout, terminal_width());
    table_destroy(table);
    if (bench_layer_of(sheet)->has_curves)
        bench_curves_print(sheet);
    return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* Four digits are more than any of this is worth, and easier to read. */
static double rounded(double value)
{
    double scale = value > 0 ? pow(10, 3 - floor(log10(value))) : 1;
    return round(value * scale) / scale;
}

/* One peer stands in the object itself, Open MPI if it is there; all of them in a list. */
static void put_peers(json_t *object, const struct finding *finding)
{
    json_t *all = json_array();
    json_object_set_new(object, "peer", json_null());
    json_object_set_new(object, "peer_ratio", json_null());
    for (int i = 0; i < BENCH_PEER_COUNT; i++) {
        struct bench_round round;
        const char *name = bench_peer_name((enum bench_peer)i);
        unsigned count = bench_figure_versus(finding->figure, (enum bench_peer)i, &round);
        if (count == 0)
            continue;
        double ratio = rounded(round.value / round.raw);
        json_array_append_new(all,
                              json_pack("{s:s, s:f, s:f, s:i}", "peer", name, "value",
                                        rounded(round.raw), "ratio", ratio, "rounds", (int)count));
        if (json_array_size(all) > 1)
            continue;
        json_put_text(object, "peer", name);
        json_put_real(object, "peer_value", rounded(round.raw));
        json_put_real(object, "peer_ratio", ratio);
    }
    json_object_set_new(object, "peers", all);
}

static void put_tail(json_t *object, const struct bench_round *median)
{
    json_put_real(object, "p99", rounded(median->tail[0]));
    json_put_real(object, "p99.9", rounded(median->tail[1]));
    json_put_real(object, "raw_p99", rounded(median->raw_tail[0]));
    json_put_real(object, "raw_p99.9", rounded(median->raw_tail[1]));
}

static json_t *make_object(const struct finding *finding)
{
    const struct bench_figure *figure = finding->figure;
    const struct bench_round *median = &finding->median;
    char bound[BOUND_TEXT_MAX];
    json_t *object = json_object();
    json_put_format(object, "bench 1");
    bound_text(finding, bound);
    json_put_text(object, "name", finding->which->name);
    if (finding->is_there) {
        enum verdict verdict = judge(finding);
        json_put_real(object, "value", rounded(median->value));
        json_put_text(object, "unit", finding->which->unit);
        json_put_real(object, "raw", rounded(median->raw));
        json_put_real(object, "ratio", rounded(median->value / median->raw));
        if (finding->which->has_tail)
            put_tail(object, median);
        if (median->trip > 0) {
            json_put_real(object, "line_trip_ns", rounded(median->trip));
            json_put_text(object, "cores", distance(median->trip));
        }
        if (verdict == VERDICT_OK || verdict == VERDICT_MISSED)
            json_put_flag(object, "ok", verdict == VERDICT_OK);
    }
    if (bound[0] != '\0')
        json_put_text(object, "target", bound);
    if (figure->memory > 0)
        json_put_real(object, "memory_per_sender", rounded(memory_per_sender(finding)));
    json_put_number(object, "rounds", figure->round_count);
    json_put_number(object, "discarded", figure->discarded_count);
    if (figure->one_core_count > 0)
        json_put_number(object, "discarded_one_core", figure->one_core_count);
    if (finding->sheet->wishes.with_peers)
        put_peers(object, finding);
    return object;
}

static int write_json(const struct bench_sheet *sheet, FILE *out)
{
    for (int i = 0; i < bench_layer_of(sheet)->case_count; i++) {
        struct finding finding = find(sheet, i);
        if (!sheet->wishes.is_chosen[i])
            continue;
        json_t *object = make_object(&finding);
        json_dumpf(object, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
        fputc('\n', out);
        json_decref(object);
    }
    return ferror(out) ? -EIO : 0;
}

int bench_report_write(const struct bench_report *report)
{
    if (!report->json_path)
        return write_table(report->sheet);
    if (strcmp(report->json_path, "-") == 0)
        return write_json(report->sheet, stdout);
    write_table(report->sheet);
    FILE *out = fopen(report->json_path, "we");
    int result = out ? write_json(report->sheet, out) : -errno;
    if (out && fclose(out) != 0 && result == 0)
        result = -errno;
    if (result < 0)
        fprintf(stderr, "rhinet bench: %s: %s\n", report->json_path, strerror(-result));
    return result;
}
