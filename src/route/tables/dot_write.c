/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a picture of the network for Graphviz: switches by level, cables coloured and thickened by
 * the load of their busier direction, from green (idle) over yellow to red (the bottleneck).
 */
#include "route/tables/load.h"

#include <errno.h>
#include <math.h>

static double channel_load(const struct load *load, uint32_t channel)
{
    double most = 0;
    for (uint32_t k = 0; load && k < load->traffic->class_count; k++)
        most = fmax(most, load->channel[k][channel]);
    return most;
}

static void cable_write(const struct net *net, const struct load *load, uint32_t channel,
                        double most, FILE *out)
{
    double there = channel_load(load, channel);
    double back = channel_load(load, net->reverse[channel]);
    double part = most > 0 ? fmax(there, back) / most : 0;
    fprintf(out, "  s%u -- s%u", net->tail[channel], net->head[channel]);
    if (load) /* hue: a third of the circle is green, 0 is red */
        fprintf(out,
                " [color=\"%.3f 1.000 0.800\", penwidth=%.1f, tooltip=\"%s - %s: %.3f there, %.3f "
                "back\"]",
                (1 - part) / 3, 0.5 + 3 * part, net_name(net, net->tail[channel]),
                net_name(net, net->head[channel]), there, back);
    fprintf(out, ";\n");
}

int load_dot_write(const struct net *net, const struct load *load, FILE *out)
{
    double most = 0;
    for (uint32_t c = 0; load && c < net->channel_count; c++)
        most = fmax(most, channel_load(load, c));
    fprintf(out, "graph fabric {\n  graph [overlap=false, splines=false, ranksep=1.5];\n"
                 "  node [shape=box, fontsize=10, style=filled, fillcolor=white];\n");
    for (uint32_t s = 0; s < net->switch_count; s++) {
        uint32_t hosts = net->host_first[s + 1] - net->host_first[s];
        fprintf(out, "  s%u [label=\"%s", s, net_name(net, s));
        if (hosts > 0)
            fprintf(out, "\\n%u hosts\", fillcolor=lightblue", hosts);
        else
            fprintf(out, "\"");
        fprintf(out, "];\n");
    }
    for (uint32_t c = 0; c < net->channel_count; c++) {
        if (c < net->reverse[c])
            cable_write(net, load, c, most, out);
    }
    fprintf(out, "}\n");
    return ferror(out) ? -EIO : 0;
}
