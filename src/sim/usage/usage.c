/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See usage.h. JSON is written by hand: this room needs src/base only, and all names but those of
 * links are ours.
 */
#include "sim/usage/usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINKS_SHOWN 8

sim_time histogram_quantile(const struct histogram *histogram, double part)
{
    uint64_t wanted = (uint64_t)(part * (double)histogram->count), seen = 0;
    for (uint32_t i = 0; i < HISTOGRAM_ROOM; i++) {
        seen += histogram->steps[i];
        if (seen <= wanted || histogram->steps[i] == 0)
            continue;
        uint32_t power = i / HISTOGRAM_FINE, fine = i % HISTOGRAM_FINE;
        uint64_t end = i < HISTOGRAM_FINE
                           ? i
                           : ((uint64_t)(HISTOGRAM_FINE + fine + 1) << (power - 4)) - 1;
        sim_time value = (sim_time)end;
        value = value > histogram->most ? histogram->most : value;
        return value < histogram->least ? histogram->least : value;
    }
    return histogram->most;
}

static double us(double ps)
{
    return ps / (double)SIM_US;
}

static double share(const struct usage_view *view, double time)
{
    return view->span > 0 ? time / (double)view->span : 0;
}

static uint32_t node_count(const struct usage_view *view)
{
    return cluster_node_count(view->cluster);
}

/* ---- One time of all nodes ------------------------------------------------------------------- */

/* Of a node: the times that there are, by number. */
enum part { PART_PCI, PART_CPU, PART_SEND_FIFO, PART_RECEIVE_FIFO, PART_MODULES };

static const char *const part_names[] = {"PCI", "on-chip CPU", "Send FIFO", "receive FIFO"};

/* How long it was busy, or packets times how long they were in it. */
static sim_time part_time(const struct usage_view *view, uint32_t node, int part)
{
    const struct chip *chip = cluster_chip(view->cluster, node);
    const struct cluster_usage *usage = cluster_usage(view->cluster, node);
    sim_time sum = 0, one;
    if (part == PART_PCI) {
        for (int i = 0; i < PCI_KINDS; i++)
            sum += host_usage(cluster_host(view->cluster, node))->time[i];
        return sum;
    }
    if (part == PART_CPU)
        return chip_count(chip)->cpu;
    if (part == PART_SEND_FIFO)
        return usage->send_fifo;
    if (part == PART_RECEIVE_FIFO)
        return usage->receive_fifo + (sim_time)usage->receiving * view->span;
    for (uint32_t state = 1; chip_state_time(chip, part - PART_MODULES, state, &one); state++)
        sum += one;
    return sum;
}

static const char *part_name(int part)
{
    return part < PART_MODULES ? part_names[part] : chip_module_name(part - PART_MODULES);
}

/* The on-chip CPU is no module here: its time is counted by itself. */
static bool is_part(int part)
{
    return part != PART_MODULES + CHIP_CPU;
}
#define PARTS (PART_MODULES + CHIP_MODULES)

/* ---- Steps: the states of modules, and transactions on PCI ----------------------------------- */

struct step {
    const char *module, *name;
    sim_time time; /* of all nodes */
};

#define STEPS_MAX 96

static int compare_steps(const void *a, const void *b)
{
    const struct step *left = a, *right = b;
    return (left->time < right->time) - (left->time > right->time);
}

/* The longest first; how many. */
static size_t steps_collect(const struct usage_view *view, struct step steps[STEPS_MAX])
{
    const struct chip *first = cluster_chip(view->cluster, 0);
    sim_time one;
    size_t count = 0;
    for (int kind = 0; kind < PCI_KINDS; kind++) {
        struct step step = {"PCI", pci_kind_name((enum pci_kind)kind), 0};
        for (uint32_t node = 0; node < node_count(view); node++)
            step.time += host_usage(cluster_host(view->cluster, node))->time[kind];
        steps[count++] = step;
    }
    for (int module = 0; module < CHIP_MODULES; module++) {
        for (uint32_t state = 1;
             module != CHIP_CPU && count < STEPS_MAX && chip_state_time(first, module, state, &one);
             state++) {
            struct step step = {chip_module_name(module), chip_state_text(module, state), 0};
            for (uint32_t node = 0; node < node_count(view); node++) {
                chip_state_time(cluster_chip(view->cluster, node), module, state, &one);
                step.time += one;
            }
            steps[count++] = step;
        }
    }
    qsort(steps, count, sizeof(steps[0]), compare_steps);
    while (count > 0 && steps[count - 1].time == 0)
        count--;
    return count;
}

static uint64_t packets(const struct usage_view *view)
{
    return cluster_latency(view->cluster)->count;
}

static double per_packet_ns(const struct usage_view *view, sim_time time)
{
    return packets(view) ? (double)time / (double)packets(view) / (double)SIM_NS : 0;
}

/* ---- Links ----------------------------------------------------------------------------------- */

static int compare_busy(const void *a, const void *b)
{
    const struct network_load *left = a, *right = b;
    return (left->busy < right->busy) - (left->busy > right->busy);
}

/* All of them, the busiest first; NULL when memory is out. The caller frees them. */
static struct network_load *links_sorted(const struct usage_view *view, uint32_t *count)
{
    const struct network *network = cluster_network(view->cluster);
    *count = network_link_count(network);
    struct network_load *loads = calloc(*count + 1u, sizeof(*loads));
    for (uint32_t i = 0; loads && i < *count; i++)
        network_link_load(network, i, &loads[i]);
    if (loads)
        qsort(loads, *count, sizeof(*loads), compare_busy);
    return loads;
}

/* ---- For people ------------------------------------------------------------------------------ */

static void latency_print(const char *name, const struct histogram *latency, FILE *out)
{
    if (latency->count == 0)
        return;
    fprintf(out, "  %-16s %10" PRIu64 " %10.3f %10.3f %10.3f %10.3f %10.3f\n", name, latency->count,
            us(latency->sum / (double)latency->count), us((double)histogram_quantile(latency, 0.5)),
            us((double)histogram_quantile(latency, 0.9)),
            us((double)histogram_quantile(latency, 0.99)), us((double)latency->most));
}

static void parts_print(const struct usage_view *view, FILE *out)
{
    fprintf(out, "part               busy, mean  busiest node\n");
    for (int part = 0; part < PARTS; part++) {
        sim_time sum = 0, most = 0;
        uint32_t busiest = 0;
        for (uint32_t node = 0; is_part(part) && node < node_count(view); node++) {
            sim_time one = part_time(view, node, part);
            sum += one;
            if (one > most) {
                most = one;
                busiest = node;
            }
        }
        bool is_fifo = part == PART_SEND_FIFO || part == PART_RECEIVE_FIFO;
        if (sum > 0)
            fprintf(out,
                    is_fifo ? "  %-16s %9.4f packets %9.4f (%u)\n"
                            : "  %-16s %9.2f %%  %9.2f %% (%u)\n",
                    part_name(part),
                    (is_fifo ? 1 : 100) * share(view, (double)sum) / node_count(view),
                    (is_fifo ? 1 : 100) * share(view, (double)most), busiest);
    }
}

void usage_print(const struct usage_view *view, FILE *out)
{
    struct step steps[STEPS_MAX];
    char from[NETWORK_NAME_MAX], to[NETWORK_NAME_MAX];
    uint32_t link_count;
    size_t count = steps_collect(view, steps);
    struct network_load *links = links_sorted(view, &link_count);
    fprintf(out, "where the time went: %u nodes, %.3f us, %" PRIu64 " packets\n", node_count(view),
            us((double)view->span), packets(view));
    parts_print(view, out);
    fprintf(out, "step                              us  ns a packet\n");
    for (size_t i = 0; i < count; i++)
        fprintf(out, "  %-10s %-14s %10.3f %12.1f\n", steps[i].module, steps[i].name,
                us((double)steps[i].time), per_packet_ns(view, steps[i].time));
    fprintf(out,
            "latency, us             count       mean     median       90 %%       99 %%       "
            "most\n");
    latency_print("packets", cluster_latency(view->cluster), out);
    for (size_t i = 0; i < view->call_count; i++)
        latency_print(view->calls[i].name, view->calls[i].latency, out);
    fprintf(out, "busiest links\n");
    for (uint32_t i = 0; links && i < link_count && i < LINKS_SHOWN && links[i].busy > 0; i++)
        fprintf(out, "  %s to %s: %.2f %%, %" PRIu64 " packets\n",
                network_name(cluster_network(view->cluster), links[i].from.node, from),
                network_name(cluster_network(view->cluster), links[i].to.node, to),
                100 * share(view, (double)links[i].busy), links[i].packets);
    free(links);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A name from a file may have anything in it. */
static void text_json(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void latency_json(const char *name, const struct histogram *latency, const char *before,
                         FILE *out)
{
    fprintf(out,
            "%s{\"what\":\"%s\",\"count\":%" PRIu64
            ",\"mean_us\":%.6f,\"least_us\":%.6f,\"median_us\":%.6f,\"p90_us\":%.6f,"
            "\"p99_us\":%.6f,\"p999_us\":%.6f,\"most_us\":%.6f}",
            before, name, latency->count,
            latency->count ? us(latency->sum / (double)latency->count) : 0,
            us((double)latency->least), us((double)histogram_quantile(latency, 0.5)),
            us((double)histogram_quantile(latency, 0.9)),
            us((double)histogram_quantile(latency, 0.99)),
            us((double)histogram_quantile(latency, 0.999)), us((double)latency->most));
}

static void nodes_json(const struct usage_view *view, FILE *out)
{
    fputs("\"parts\":[", out);
    for (uint32_t node = 0; node < node_count(view); node++) {
        fprintf(out, "%s\n{\"node\":%u", node ? "," : "", node);
        for (int part = 0; part < PARTS; part++) {
            if (is_part(part))
                fprintf(out, ",\"%s\":%.6f", part_name(part),
                        share(view, (double)part_time(view, node, part)));
        }
        fputc('}', out);
    }
    fputs("\n],\n", out);
}

static void links_json(const struct usage_view *view, FILE *out)
{
    char name[NETWORK_NAME_MAX];
    uint32_t count;
    struct network_load *links = links_sorted(view, &count);
    fputs("\"links\":[", out);
    for (uint32_t i = 0; links && i < count; i++) {
        fprintf(out, "%s\n{\"from\":", i ? "," : "");
        text_json(network_name(cluster_network(view->cluster), links[i].from.node, name), out);
        fputs(",\"to\":", out);
        text_json(network_name(cluster_network(view->cluster), links[i].to.node, name), out);
        fprintf(out, ",\"busy\":%.6f,\"packets\":%" PRIu64 "}", share(view, (double)links[i].busy),
                links[i].packets);
    }
    fputs("\n]}\n", out);
    free(links);
}

void usage_json(const struct usage_view *view, FILE *out)
{
    struct step steps[STEPS_MAX];
    size_t count = steps_collect(view, steps);
    fprintf(out,
            "{\"format\":\"rhinet usage 1\",\"nodes\":%u,\"span_us\":%.6f,\"packets\":%" PRIu64
            ",\n",
            node_count(view), us((double)view->span), packets(view));
    nodes_json(view, out);
    fputs("\"steps\":[", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s\n{\"module\":\"%s\",\"step\":\"%s\",\"us\":%.6f,\"ns_a_packet\":%.3f}",
                i ? "," : "", steps[i].module, steps[i].name, us((double)steps[i].time),
                per_packet_ns(view, steps[i].time));
    fputs("\n],\n\"latencies\":[", out);
    latency_json("packets", cluster_latency(view->cluster), "\n", out);
    for (size_t i = 0; i < view->call_count; i++) {
        if (view->calls[i].latency->count > 0)
            latency_json(view->calls[i].name, view->calls[i].latency, ",\n", out);
    }
    fputs("\n],\n", out);
    links_json(view, out);
}
