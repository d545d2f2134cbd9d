/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a simulated run says: a table for people, JSON for programs, loads of links.
 */
#include "cli/json_put.h"
#include "cli/route/route.h"
#include "cli/sim/sim.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct table_column columns[] = {
    {"load/link", true, 0},   {"accepted/link", true, 0}, {"mean us", true, 0},
    {"median us", true, 1},   {"99 % us", true, 1},       {"most us", true, 2},
    {"messages", true, 1},    {"end us", true, 2},        {"events/s", true, 3},
    {"flit-hops/s", true, 3}, {"remark", false, 0},
};

static double us(double ps)
{
    return ps / (double)SIM_US;
}

static const char *remark(const struct workload_report *report)
{
    if (report->deadlock_count > 0)
        return "DEADLOCK";
    if (report->is_saturated)
        return "saturated";
    return report->count.packets_lost > 0 ? "packets lost" : "";
}

void sim_result_text(const struct sim_result *result, FILE *out)
{
    fprintf(out, "%s: %u switches, %u hosts, %u virtual channels, %s; %s, %u B, seed %" PRIu64 "\n",
            result->network, result->switch_count, result->host_count, result->lane_count,
            result->routing, result->traffic, result->bytes, result->seed);
    fprintf(out, "nearest host, alone in the network: %.3f us\n", us((double)result->latency_min));
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    char text[UNIT_TEXT_MAX];
    for (size_t i = 0; i < result->point_count; i++) {
        const struct sim_point *point = &result->points[i];
        const struct workload_report *report = &point->report;
        table_cell(table, "%.3f", report->offered);
        table_cell(table, "%.3f", report->accepted);
        table_cell(table, "%.3f", us(report->latency.mean));
        table_cell(table, "%.3f", us((double)report->latency.median));
        table_cell(table, "%.3f", us((double)report->latency.p99));
        table_cell(table, "%.3f", us((double)report->latency.most));
        table_cell(table, "%" PRIu64, report->latency.count);
        table_cell(table, "%.1f", us((double)report->end));
        table_cell(table, "%s", unit_count(text, (double)report->events / point->seconds));
        table_cell(table, "%s", unit_count(text, (double)report->count.flit_hops / point->seconds));
        table_cell(table, "%s", remark(report));
    }
    table_print(table, out, terminal_width());
    table_destroy(table);
}

static json_t *point_json(const struct sim_point *point)
{
    const struct workload_report *report = &point->report;
    const struct workload_latency *latency = &report->latency;
    char hash[32];
    json_t *row = json_object();
    snprintf(hash, sizeof(hash), "%016" PRIx64, report->hash);
    json_put_real(row, "load", point->load);
    json_put_real(row, "offered", report->offered);
    json_put_real(row, "accepted", report->accepted);
    json_put_real(row, "latency_mean_us", us(latency->mean));
    json_put_real(row, "latency_least_us", us((double)latency->least));
    json_put_real(row, "latency_median_us", us((double)latency->median));
    json_put_real(row, "latency_p99_us", us((double)latency->p99));
    json_put_real(row, "latency_p999_us", us((double)latency->p999));
    json_put_real(row, "latency_most_us", us((double)latency->most));
    json_put_number(row, "messages", latency->count);
    json_put_number(row, "messages_unfinished", report->messages_unfinished);
    json_put_flag(row, "saturated", report->is_saturated);
    json_put_number(row, "deadlocks", report->deadlock_count);
    if (report->deadlock_count > 0)
        json_put_text(row, "deadlock", report->deadlock);
    json_put_real(row, "end_us", us((double)report->end));
    json_put_number(row, "packets_sent", report->count.packets_sent);
    json_put_number(row, "packets_delivered", report->count.packets_delivered);
    json_put_number(row, "packets_lost", report->count.packets_lost);
    json_put_number(row, "packets_inside", report->count.packets_inside);
    json_put_number(row, "flits_resent", report->count.flits_resent);
    json_put_number(row, "bits_corrected", report->count.bits_corrected);
    json_put_number(row, "flit_hops", report->count.flit_hops);
    json_put_number(row, "events", report->events);
    json_put_text(row, "hash", hash);
    json_put_real(row, "seconds", point->seconds);
    return row;
}

static json_t *links_json(const struct network *network, sim_time span)
{
    json_t *links = json_array();
    char name[NETWORK_NAME_MAX];
    for (uint32_t i = 0; i < network_link_count(network); i++) {
        struct network_load load;
        json_t *row = json_object();
        network_link_load(network, i, &load);
        json_put_text(row, "from", network_name(network, load.from.node, name));
        json_put_number(row, "from_port", load.from.port);
        json_put_text(row, "to", network_name(network, load.to.node, name));
        json_put_number(row, "to_port", load.to.port);
        json_put_number(row, "packets", load.packets);
        json_put_number(row, "flits", load.flits);
        json_put_real(row, "busy", span ? (double)load.busy / (double)span : 0);
        json_array_append_new(links, row);
    }
    return links;
}

int sim_result_json(const struct sim_result *result, const struct network *network,
                    const char *path)
{
    FILE *out = route_output_open(path);
    if (!out)
        return 1;
    json_t *object = json_object(), *points = json_array();
    json_put_format(object, "simulation 1");
    json_put_text(object, "topology", result->topology);
    json_put_text(object, "routing", result->routing);
    json_put_text(object, "traffic", result->traffic);
    json_put_text(object, "network", result->network);
    json_put_number(object, "switches", result->switch_count);
    json_put_number(object, "hosts", result->host_count);
    json_put_number(object, "virtual_channels", result->lane_count);
    json_put_number(object, "bytes", result->bytes);
    json_put_number(object, "seed", result->seed);
    json_put_real(object, "latency_nearest_us", us((double)result->latency_min));
    for (size_t i = 0; i < result->point_count; i++)
        json_array_append_new(points, point_json(&result->points[i]));
    json_object_set_new(object, "points", points);
    /* of the last load */
    sim_time span = result->points[result->point_count - 1].report.end;
    json_object_set_new(object, "links", links_json(network, span));
    int failed = json_dumpf(object, out, JSON_INDENT(2)) < 0;
    fputc('\n', out);
    json_decref(object);
    return route_output_close(out, path, failed);
}

static int compare_busy(const void *a, const void *b)
{
    const struct network_load *left = a, *right = b;
    return (left->busy < right->busy) - (left->busy > right->busy);
}

static const struct table_column link_columns[] = {
    {"link from", false, 0}, {"port", true, 0}, {"to", false, 0},
    {"port", true, 0},       {"busy", true, 0}, {"packets", true, 1},
};

void sim_links_text(const struct network *network, sim_time span, uint32_t most, FILE *out)
{
    uint32_t count = network_link_count(network);
    struct network_load *loads = calloc(count + 1u, sizeof(*loads));
    struct table *table = table_create(link_columns,
                                       sizeof(link_columns) / sizeof(link_columns[0]));
    char name[NETWORK_NAME_MAX];
    for (uint32_t i = 0; loads && i < count; i++)
        network_link_load(network, i, &loads[i]);
    if (loads)
        qsort(loads, count, sizeof(*loads), compare_busy);
    for (uint32_t i = 0; loads && i < count && i < most; i++) {
        table_cell(table, "%s", network_name(network, loads[i].from.node, name));
        table_cell(table, "%u", loads[i].from.port);
        table_cell(table, "%s", network_name(network, loads[i].to.node, name));
        table_cell(table, "%u", loads[i].to.port);
        table_cell(table, "%.1f %%", span ? 100 * (double)loads[i].busy / (double)span : 0.0);
        table_cell(table, "%" PRIu64, loads[i].packets);
    }
    fputc('\n', out);
    table_print(table, out, terminal_width());
    table_destroy(table);
    free(loads);
}
