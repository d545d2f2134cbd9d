/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet route generate`: fabrics of known shapes, in ibnetdiscover's format, as an edge list or
 * as a picture.
 */
#include "route/generate.h"
#include "cli/cli.h"
#include "cli/route/route.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_OUTPUT = 'o',
    OPTION_FIRST = 256,
    PORTS,
    LEVELS,
    OVER,
    HOSTS,
    SWITCHES,
    SIZE,
    DIMENSIONS,
    ROUTERS,
    GLOBAL,
    PRIME,
    SEED,
    JOIN,
    FORMAT
};

static const struct option long_options[] = {
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"ports", required_argument, NULL, PORTS},
    {"levels", required_argument, NULL, LEVELS},
    {"over", required_argument, NULL, OVER},
    {"hosts", required_argument, NULL, HOSTS},
    {"switches", required_argument, NULL, SWITCHES},
    {"size", required_argument, NULL, SIZE},
    {"dimensions", required_argument, NULL, DIMENSIONS},
    {"routers", required_argument, NULL, ROUTERS},
    {"global", required_argument, NULL, GLOBAL},
    {"prime", required_argument, NULL, PRIME},
    {"seed", required_argument, NULL, SEED},
    {"join", required_argument, NULL, JOIN},
    {"format", required_argument, NULL, FORMAT},
    {NULL, 0, NULL, 0},
};

struct generate_arguments {
    struct generate_options options;
    const char *output;
    const char *format;
};

/* "4x4x4" */
static bool size_parse(const char *text, uint32_t size[4])
{
    const char *at = text;
    for (int i = 0; i < 4; i++) {
        if (!source_take_number(&at, &size[i]) || size[i] == 0)
            break;
        if (*at == '\0')
            return true;
        if (*at++ != 'x')
            break;
    }
    fprintf(stderr, "rhinet route: --size is up to four numbers such as 4x4x4, not '%s'\n", text);
    return false;
}

static bool join_parse(const char *text, enum generate_join *join)
{
    static const char *const names[] = {"top", "middle", "bottom"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *join = (enum generate_join)i;
            return true;
        }
    }
    fprintf(stderr, "rhinet route: --join is top, middle or bottom, not '%s'\n", text);
    return false;
}

static bool option_take(struct generate_arguments *arguments, int option, const char *name,
                        const char *value)
{
    struct generate_options *options = &arguments->options;
    uint32_t *const numbers[] = {&options->ports,      &options->levels,   &options->over,
                                 &options->hosts,      &options->switches, NULL,
                                 &options->dimensions, &options->routers,  &options->global,
                                 &options->prime};
    uint64_t number;
    if (option == OPTION_OUTPUT) {
        arguments->output = value;
        return true;
    }
    if (option == FORMAT) {
        arguments->format = value;
        return true;
    }
    if (option == SIZE)
        return size_parse(value, options->size);
    if (option == JOIN)
        return join_parse(value, &options->join);
    if (!route_number(name, value, option == SEED ? 0 : 1, option == SEED ? UINT64_MAX : 1000000,
                      &number))
        return false;
    if (option == SEED)
        options->seed = number;
    else
        *numbers[option - PORTS] = (uint32_t)number;
    return true;
}

static int kinds_list(void)
{
    fputs("kinds of fabrics:\n", stderr);
    for (const struct generate_kind *kind = generate_kinds; kind->name; kind++)
        fprintf(stderr, "  %-10s %s\n", kind->name, kind->help);
    return 2;
}

static int fabric_write(const struct fabric *fabric, const char *format, FILE *out)
{
    if (strcmp(format, "edges") == 0)
        return formats_edges_write(fabric, out);
    if (strcmp(format, "ibnetdiscover") == 0)
        return formats_ibnet_write(fabric, out);
    struct net *net;
    int result = net_create(&net, fabric);
    if (result == 0) {
        result = formats_dot_write(net, NULL, out);
        net_destroy(net);
    }
    return result;
}

int cli_route_generate(int argc, char **argv)
{
    struct generate_arguments arguments = {.output = "-", .format = "ibnetdiscover"};
    arguments.options.join = GENERATE_MIDDLE;
    int option, index = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "o:", long_options, &index)) != -1) {
        if (option == '?')
            return cli_usage_error("generate does not know that option");
        if (!option_take(&arguments, option, long_options[index].name, optarg))
            return 2;
    }
    if (argc - optind != 1)
        return kinds_list();
    if (strcmp(arguments.format, "edges") != 0 && strcmp(arguments.format, "ibnetdiscover") != 0 &&
        strcmp(arguments.format, "dot") != 0)
        return cli_usage_error("--format is ibnetdiscover, edges or dot, not '%s'",
                               arguments.format);
    struct fabric *fabric;
    if (generate_fabric(&fabric, argv[optind], &arguments.options) < 0)
        return route_fail();
    FILE *out = route_output_open(arguments.output);
    int result = 1;
    if (out) {
        result = fabric_write(fabric, arguments.format, out) < 0 ? 1 : 0;
        result = route_output_close(out, arguments.output, result);
    }
    fabric_destroy(fabric);
    return result;
}
