/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fat trees of k-port switches, alone and joined in pairs.
 *
 * With n = k/2 a switch of level l is named by levels-1 digits, the first from 0 … 2n-1 (at the
 * top: n-1), the others from 0 … n-1. It is cabled to the switches one level up whose digits are
 * the same but for digit levels-2-l. In three levels that gives the paper's bottom b(pod,i), middle
 * m(pod,plane) and top t(plane,c).
 */
#include "route/generate/generate.h"

#include "base/error.h"

#define LEVELS_MAX 6
#define NODES_MAX  (1u << 21)

struct tree {
    struct fabric *fabric;
    const char *prefix;
    uint32_t group;
    uint32_t n, levels, hosts;
    uint32_t first[LEVELS_MAX]; /* first switch of each level */
};

static uint32_t level_size(const struct tree *tree, uint32_t level)
{
    uint32_t size = level + 1 == tree->levels ? 1 : 2;
    for (uint32_t i = 0; i + 1 < tree->levels; i++)
        size *= tree->n;
    return size;
}

/* Weight of a digit in a switch's number; the first digit, 0, is the most significant. */
static uint32_t digit_weight(const struct tree *tree, uint32_t digit)
{
    uint32_t weight = 1;
    for (uint32_t i = digit + 2; i < tree->levels; i++)
        weight *= tree->n;
    return weight;
}

static void switch_name(const struct tree *tree, uint32_t level, uint32_t number, char *name,
                        size_t size)
{
    static const char letters[] = "bmt";
    uint32_t n = tree->n;
    if (tree->levels == 3 && level < 2)
        snprintf(name, size, "%s%c(%u,%u)", tree->prefix, letters[level], number / n, number % n);
    else if (tree->levels == 3)
        snprintf(name, size, "%st(%u,%u)", tree->prefix, number % n, number / n);
    else
        snprintf(name, size, "%ss%u(%u)", tree->prefix, level, number);
}

static int level_add(struct tree *tree, uint32_t level)
{
    tree->first[level] = tree->fabric->node_count;
    for (uint32_t i = 0; i < level_size(tree, level); i++) {
        char name[64];
        uint32_t index;
        switch_name(tree, level, i, name, sizeof(name));
        int result = fabric_node_add(tree->fabric, FABRIC_SWITCH, name, &index);
        if (result < 0)
            return result;
        tree->fabric->nodes[index].group = tree->group;
    }
    return 0;
}

/* Cables from a level to the next one up: down ports come first, then up ports. */
static int level_cable(const struct tree *tree, uint32_t level)
{
    uint32_t digit = tree->levels - 2 - level;
    uint32_t weight = digit_weight(tree, digit);
    uint32_t radix = digit == 0 ? 2 * tree->n : tree->n;
    for (uint32_t i = 0; i < level_size(tree, level); i++) {
        uint32_t mine = i / weight % radix, base = i - mine * weight;
        uint32_t down_count = level == 0 ? tree->hosts : tree->n;
        for (uint32_t up = 0; up < tree->n; up++) {
            struct fabric_end low = {tree->first[level] + i, (uint16_t)(down_count + 1 + up)};
            struct fabric_end high = {tree->first[level + 1] + base + up * weight,
                                      (uint16_t)(mine + 1)};
            int result = fabric_link_add(tree->fabric, low, high);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

static int tree_add(struct tree *tree)
{
    int result = 0;
    for (uint32_t l = 0; l < tree->levels && result == 0; l++)
        result = level_add(tree, l);
    for (uint32_t i = 0; i < level_size(tree, 0) && result == 0; i++)
        result = generate_hosts_add(tree->fabric, tree->first[0] + i, tree->hosts);
    for (uint32_t l = 0; l + 1 < tree->levels && result == 0; l++)
        result = level_cable(tree, l);
    return result;
}

static int tree_prepare(struct tree *tree, const struct generate_options *options)
{
    uint32_t ports = options->ports ? options->ports : 4;
    tree->levels = options->levels ? options->levels : 3;
    if (ports % 2 != 0 || ports > 128 || tree->levels > LEVELS_MAX || options->over > 16)
        return error_fail(-EINVAL,
                          "a fat tree needs an even number of ports up to 128, up to %d levels and "
                          "at most 16 hosts for each cable up; asked for %u, %u and %u",
                          LEVELS_MAX, ports, tree->levels, options->over);
    tree->n = ports / 2;
    tree->hosts = options->hosts ? options->hosts : tree->n * (options->over ? options->over : 1);
    double switches = 2.0 * tree->levels;
    for (uint32_t i = 0; i + 1 < tree->levels; i++)
        switches *= tree->n;
    if (switches * (1 + tree->hosts) > NODES_MAX || tree->hosts + tree->n > FABRIC_PORTS_MAX)
        return error_fail(-EINVAL,
                          "%u levels of %u ports with %u hosts each are too many nodes (limit %u)",
                          tree->levels, ports, tree->hosts, NODES_MAX);
    return 0;
}

int generate_fat_tree(struct fabric *fabric, const struct generate_options *options)
{
    struct tree tree = {.fabric = fabric, .prefix = ""};
    int result = tree_prepare(&tree, options);
    return result < 0 ? result : tree_add(&tree);
}

static int trees_join(const struct tree *a, const struct tree *b, enum generate_join join)
{
    uint32_t n = a->n, level = join == GENERATE_TOP ? 2 : join == GENERATE_MIDDLE ? 1 : 0;
    uint16_t port = (uint16_t)((level == 0 ? a->hosts + n : 2 * n) + 1);
    for (uint32_t d = 0; d < n; d++) {
        for (uint32_t e = 0; e < n; e++) {
            /* middle: T0.m(e,d) - T1.m(d,e), bottom likewise; top: t(d,e) of both */
            uint32_t far = level == 2 ? e * n + d : d * n + e;
            int result = fabric_link_add(a->fabric,
                                         (struct fabric_end){a->first[level] + e * n + d, port},
                                         (struct fabric_end){b->first[level] + far, port});
            if (result < 0)
                return result;
        }
    }
    return 0;
}

int generate_joined(struct fabric *fabric, const struct generate_options *options)
{
    struct generate_options three = *options;
    three.levels = 3;
    struct tree trees[2] = {{.fabric = fabric, .prefix = "T0.", .group = 0},
                            {.fabric = fabric, .prefix = "T1.", .group = 1}};
    int result = 0;
    for (int i = 0; i < 2 && result == 0; i++) {
        result = tree_prepare(&trees[i], &three);
        if (result == 0)
            result = tree_add(&trees[i]);
    }
    fabric->group_count = 2;
    return result < 0 ? result : trees_join(&trees[0], &trees[1], options->join);
}
