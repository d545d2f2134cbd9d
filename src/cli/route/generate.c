/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet route generate`: fabrics of known shapes, in ibnetdiscover's format, as an edge list or
 * as a picture.
 */
#include "cli/cli.h"
#include "cli/route/route.h"

#include <string.h>

static struct generate_options shape;
static const char *output;
static uint32_t format;

/* "4x4x4" */
static int take_size(char *text)
{
    const char *at = text;
    memset(shape.size, 0, sizeof(shape.size)); /* of an earlier --size that had more numbers */
    for (int i = 0; i < 4; i++) {
        if (!source_number_take(&at, &shape.size[i]) || shape.size[i] == 0)
            return -1;
        if (*at == '\0')
            return 0;
        if (*at++ != 'x')
            return -1;
    }
    return -1;
}

static const char *kind_name(size_t index)
{
    return generate_kinds[index].name;
}

enum { FORMAT_IBNETDISCOVER, FORMAT_EDGES };
static const char *const formats[] = {"ibnetdiscover", "edges", "dot", NULL};
static const char *const joins[] = {"top", "middle", "bottom", NULL}; /* enum generate_join */

#define NUMBER(name, value, place, help) CLI_NUMBER(name, value, 1, 1000000, &shape.place, help)

static const struct cli_option options[] = {
    NUMBER("ports", "N", ports, "ports of a switch, or cables of one in random networks"),
    NUMBER("levels", "N", levels, "levels of a fat tree"),
    NUMBER("over", "N", over, "hosts for each cable up"),
    CLI_CHOICE("join", "PLACE", joins, &shape.join, "joined trees: top, middle or bottom",
               .standard = "middle"),
    NUMBER("switches", "N", switches, "switches of a random network or a ring"),
    NUMBER("hosts", "N", hosts, "hosts of each switch"),
    CLI_CALL("size", "AxBxC", take_size, "extent of a mesh or torus",
             .allowed = "up to four numbers such as 4x4x4"),
    NUMBER("dimensions", "N", dimensions, "of a hypercube"),
    NUMBER("routers", "N", routers, "of a dragonfly's group"),
    NUMBER("global", "N", global, "links of each router to other groups"),
    NUMBER("prime", "Q", prime, "a slim fly's prime power"),
    CLI_NUMBER("seed", "N", 0, UINT64_MAX, &shape.seed, "of a random network"),
    CLI_CHOICE("format", "NAME", formats, &format, "ibnetdiscover, edges or dot",
               .standard = "ibnetdiscover"),
    CLI_FILE("output", "FILE", &output, "where to write, - is stdout", .letter = 'o',
             .standard = "-"),
    CLI_OPTIONS_END,
};

static int kinds_list(void)
{
    fputs("kinds of fabrics:\n", stderr);
    for (const struct generate_kind *kind = generate_kinds; kind->name; kind++)
        fprintf(stderr, "  %-10s %s\n", kind->name, kind->help);
    return 2;
}

static int fabric_write(const struct fabric *fabric, FILE *out)
{
    if (format == FORMAT_EDGES)
        return formats_edges_write(fabric, out);
    if (format == FORMAT_IBNETDISCOVER)
        return formats_ibnet_write(fabric, out);
    struct net *net;
    int result = net_create(&net, fabric);
    if (result == 0) {
        result = load_dot_write(net, NULL, out);
        net_destroy(net);
    }
    return result;
}

static int run(int count, char **words)
{
    struct fabric *fabric;
    if (count == 0)
        return kinds_list();
    if (generate_fabric(&fabric, words[0], &shape) < 0)
        return cli_fail();
    FILE *out = route_output_open(output);
    int result = 1;
    if (out) {
        result = fabric_write(fabric, out);
        result = route_output_close(out, output, result);
    }
    fabric_destroy(fabric);
    return result;
}

const struct cli_command cli_route_generate = {.name = "generate",
                                               .help = "make a fabric; without KIND it lists them",
                                               .operands = "[KIND]",
                                               .options = options,
                                               .suggest = kind_name,
                                               .run = run};
