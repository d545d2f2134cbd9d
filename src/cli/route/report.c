/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `rhinet route` reports about a routing: throughput, loads, prohibited turns, the checker's
 * verdict; for people and as JSON.
 */
#include "cli/route/route.h"

#include "cli/json_put.h"

#include <inttypes.h>
#include <math.h>

#define BINS  10
#define WORST 8

static const char *class_name(const struct traffic *traffic, uint32_t class)
{
    if (traffic->class_count < 2)
        return "throughput";
    return class == 0 ? "throughput inside groups" : "throughput between groups";
}

static void histogram_fill(const struct routing *routing, uint32_t class, uint32_t bins[BINS],
                           double *most)
{
    const struct load *load = routing->load;
    *most = 0;
    for (uint32_t c = 0; c < load->net->channel_count; c++)
        *most = fmax(*most, load->channel[class][c]);
    for (uint32_t i = 0; i < BINS; i++)
        bins[i] = 0;
    for (uint32_t c = 0; c<load->net->channel_count && * most> 0; c++) {
        uint32_t bin = (uint32_t)(load->channel[class][c] / *most * BINS);
        bins[bin < BINS ? bin : BINS - 1]++;
    }
}

/* The busiest channels of a class, busiest first. */
static uint32_t worst_find(const struct routing *routing, uint32_t class, uint32_t worst[WORST])
{
    const float *load = routing->load->channel[class];
    uint32_t count = 0;
    for (uint32_t c = 0; c < routing->net->channel_count; c++) {
        uint32_t at = count < WORST ? count++ : WORST;
        if (at == WORST && load[c] <= load[worst[WORST - 1]])
            continue;
        at = at == WORST ? WORST - 1 : at;
        for (; at > 0 && load[worst[at - 1]] < load[c]; at--)
            worst[at] = worst[at - 1];
        worst[at] = c;
    }
    return count;
}

static void loads_text(FILE *out, const struct routing *routing, uint32_t class)
{
    const struct net *net = routing->net;
    uint32_t bins[BINS], worst[WORST];
    double most;
    histogram_fill(routing, class, bins, &most);
    fprintf(out, "\nlink loads%s, of %u channels:\n",
            routing->traffic->class_count < 2 ? ""
            : class == 0                      ? " inside groups"
                                              : " between groups",
            net->channel_count);
    for (uint32_t i = 0; i < BINS; i++) {
        uint32_t width = net->channel_count ? bins[i] * 50 / net->channel_count : 0;
        fprintf(out, "  %6.3f - %6.3f %8u %.*s\n", most * i / BINS, most * (i + 1) / BINS, bins[i],
                (int)width, "##################################################");
    }
    uint32_t count = worst_find(routing, class, worst);
    for (uint32_t i = 0; i < count && i < 3; i++)
        fprintf(out, "  busiest: %.3f  %s port %u -> %s\n", routing->load->channel[class][worst[i]],
                net_name(net, net->tail[worst[i]]), net->port[worst[i]],
                net_name(net, net->head[worst[i]]));
}

struct turn_counts {
    uint64_t total, prohibited;
    uint32_t most, most_at; /* the switch with most prohibited turns */
    uint32_t switches;      /* with any */
};

static struct turn_counts turns_count(const struct routing *routing)
{
    struct turn_counts counts = {0};
    for (uint32_t s = 0; s < routing->net->switch_count; s++) {
        uint32_t total, prohibited = turns_prohibited(routing->turns, s, &total);
        counts.total += total;
        counts.prohibited += prohibited;
        counts.switches += prohibited > 0;
        if (prohibited > counts.most) {
            counts.most = prohibited;
            counts.most_at = s;
        }
    }
    return counts;
}

void route_check_text(FILE *out, const struct check_report *check)
{
    fprintf(out, "check: %s\n", check_passed(check) ? "passed" : "FAILED");
    fprintf(out, "  host pairs connected      %" PRIu64 " of %" PRIu64 "\n", check->pairs_connected,
            check->pairs);
    fprintf(out,
            "  entries missing           %" PRIu64 " (and %" PRIu64
            " between switches without hosts, where nothing is sent)\n",
            check->entries_missing, check->entries_unused);
    fprintf(out, "  switches passed           %.2f on average, %u at most\n", check->hops_mean,
            check->hops_max);
    fprintf(out, "  virtual channels          %u%s\n", check->lanes_used,
            check->lanes_fit ? "" : ", MORE THAN THERE ARE");
    fprintf(out, "  channel dependencies      %" PRIu64 ", %s\n", check->dependencies,
            !check->loop_free ? "WITH A CYCLE: this can deadlock"
            : !check->loop_free_strict
                ? "no cycle for traffic between hosts (there is one with what "
                  "switches send and receive)"
                : "no cycle");
    if (check->lids_unknown > 0)
        fprintf(out,
                "  LIDs of no port           %u, %u first, have entries that were not checked; if "
                "ports have an LMC, read the fabric from ibnetdiscover, which tells it\n",
                check->lids_unknown, check->lid_unknown);
    if (check->problem[0])
        fprintf(out, "  first problem             %s\n", check->problem);
    if (check->witness[0])
        fprintf(out, "  the cycle                 %s\n", check->witness);
}

void route_report_text(FILE *out, const struct routing *routing, const struct check_report *check)
{
    const struct net *net = routing->net;
    struct turn_counts turns = turns_count(routing);
    fprintf(out, "fabric: %u switches, %u host ports, %u cables between switches\n",
            net->switch_count, net->host_count, net->channel_count / 2);
    fprintf(out, "algorithm: %s, %u virtual channel%s\n", routing->algorithm->name,
            routing->lane_count, routing->lane_count == 1 ? "" : "s");
    for (uint32_t k = 0; k < routing->traffic->class_count; k++)
        fprintf(out, "%s: %.4f\n", class_name(routing->traffic, k),
                load_throughput(routing->load, k));
    fprintf(out, "turns: %" PRIu64 " of %" PRIu64 " prohibited, at %u switches", turns.prohibited,
            turns.total, turns.switches);
    if (turns.most > 0)
        fprintf(out, ", most at %s (%u)", net_name(net, turns.most_at), turns.most);
    fprintf(out, "\ntime: turns %.3f s, tables %.3f s; processor time %.3f s\n",
            routing->turns_seconds, routing->tables_seconds, routing->cpu_seconds);
    if (check)
        route_check_text(out, check);
    for (uint32_t k = 0; k < routing->traffic->class_count; k++)
        loads_text(out, routing, k);
}

static json_t *loads_json(const struct routing *routing, uint32_t class)
{
    const struct net *net = routing->net;
    json_t *object = json_object(), *histogram = json_array(), *busiest = json_array();
    uint32_t bins[BINS], worst[WORST];
    double most;
    histogram_fill(routing, class, bins, &most);
    json_put_real(object, "throughput", load_throughput(routing->load, class));
    json_put_real(object, "busiest_load", most);
    for (uint32_t i = 0; i < BINS; i++)
        json_array_append_new(histogram, json_integer(bins[i]));
    uint32_t count = worst_find(routing, class, worst);
    for (uint32_t i = 0; i < count; i++) {
        json_t *link = json_object();
        json_put_text(link, "from", net_name(net, net->tail[worst[i]]));
        json_put_number(link, "port", net->port[worst[i]]);
        json_put_text(link, "to", net_name(net, net->head[worst[i]]));
        json_put_real(link, "load", routing->load->channel[class][worst[i]]);
        json_array_append_new(busiest, link);
    }
    json_object_set_new(object, "histogram", histogram);
    json_object_set_new(object, "busiest", busiest);
    return object;
}

json_t *route_check_json(const struct check_report *check)
{
    json_t *object = json_object();
    json_put_flag(object, "passed", check_passed(check));
    json_put_number(object, "pairs", check->pairs);
    json_put_number(object, "pairs_connected", check->pairs_connected);
    json_put_number(object, "entries_missing", check->entries_missing);
    json_put_number(object, "entries_unused", check->entries_unused);
    json_put_number(object, "lids_unknown", check->lids_unknown);
    json_put_number(object, "switches_passed_most", check->hops_max);
    json_put_real(object, "switches_passed_mean", check->hops_mean);
    json_put_number(object, "virtual_channels", check->lanes_used);
    json_put_flag(object, "virtual_channels_fit", check->lanes_fit);
    json_put_number(object, "dependencies", check->dependencies);
    json_put_flag(object, "loop_free", check->loop_free);
    json_put_flag(object, "loop_free_strict", check->loop_free_strict);
    json_put_text(object, "problem", check->problem);
    json_put_text(object, "witness", check->witness);
    return object;
}

static json_t *prohibited_json(const struct routing *routing)
{
    json_t *object = json_object();
    for (uint32_t s = 0; s < routing->net->switch_count; s++) {
        uint32_t total, prohibited = turns_prohibited(routing->turns, s, &total);
        if (prohibited > 0)
            json_put_number(object, net_name(routing->net, s), prohibited);
    }
    return object;
}

int route_json_write(json_t *object, const char *path)
{
    FILE *out = route_output_open(path);
    int result = out ? 0 : 1;
    if (out) {
        if (json_dumpf(object, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER) != 0)
            result = 1;
        fputc('\n', out);
        result = route_output_close(out, path, result);
    }
    json_decref(object);
    return result;
}

void route_cut_json(json_t *object, const struct fabric_cut *cut)
{
    json_put_number(object, "cut_off_switches", cut->switches);
    json_put_number(object, "cut_off_hosts", cut->hosts);
}

int route_report_json(const struct route_report *report, const char *path)
{
    const struct routing *routing = report->routing;
    static const char *const names[TRAFFIC_CLASSES] = {"inside", "between"};
    struct turn_counts turns = turns_count(routing);
    json_t *object = json_object(), *classes = json_object();
    json_put_format(object, "routing 1");
    json_put_number(object, "switches", routing->net->switch_count);
    json_put_number(object, "hosts", routing->net->host_count);
    json_put_number(object, "cables", routing->net->channel_count / 2);
    route_cut_json(object, &report->input->cut);
    json_put_text(object, "algorithm", routing->algorithm->name);
    json_put_number(object, "virtual_channels", routing->lane_count);
    json_put_number(object, "turns", turns.total);
    json_put_number(object, "turns_prohibited", turns.prohibited);
    json_object_set_new(object, "turns_prohibited_at", prohibited_json(routing));
    json_put_real(object, "turns_seconds", routing->turns_seconds);
    json_put_real(object, "tables_seconds", routing->tables_seconds);
    json_put_real(object, "cpu_seconds", routing->cpu_seconds);
    for (uint32_t k = 0; k < routing->traffic->class_count; k++)
        json_object_set_new(classes, routing->traffic->class_count < 2 ? "all" : names[k],
                            loads_json(routing, k));
    json_object_set_new(object, "traffic", classes);
    if (report->check)
        json_object_set_new(object, "check", route_check_json(report->check));
    if (report->has_map)
        route_map_json(object, routing);
    return route_json_write(object, path);
}
