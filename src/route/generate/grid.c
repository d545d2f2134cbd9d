/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Grids: rings, meshes, tori, hypercubes. A ring is a torus of one dimension, a hypercube one whose
 * dimensions all have two places.
 */
#include "route/generate/generate.h"

#include "base/error.h"

#define DIMENSIONS_MAX 16
#define SWITCHES_MAX   (1u << 18)

struct grid {
    uint32_t extent[DIMENSIONS_MAX];
    uint32_t dimensions;
    uint32_t hosts;
    bool wraps;
};

static int grid_check(const struct grid *grid, uint32_t *switch_count)
{
    uint64_t count = 1;
    for (uint32_t d = 0; d < grid->dimensions; d++) {
        if (grid->extent[d] < 2 || grid->extent[d] > SWITCHES_MAX)
            return error_fail(-EINVAL, "dimension %u of the grid has extent %u, it needs 2 or more",
                              d + 1, grid->extent[d]);
        count *= grid->extent[d];
        if (count > SWITCHES_MAX)
            return error_fail(-EINVAL, "the grid has over %u switches", SWITCHES_MAX);
    }
    *switch_count = (uint32_t)count;
    return 0;
}

static int grid_cable(struct fabric *fabric, const struct grid *grid, uint32_t switch_count)
{
    for (uint32_t i = 0; i < switch_count; i++) {
        uint32_t stride = 1;
        for (uint32_t d = 0; d < grid->dimensions; stride *= grid->extent[d++]) {
            uint32_t at = i / stride % grid->extent[d], next = (at + 1) % grid->extent[d];
            /* with two places the way around would be the same cable twice */
            bool wrap = next == 0 && (!grid->wraps || grid->extent[d] == 2);
            if (wrap)
                continue;
            uint32_t peer = i - at * stride + next * stride;
            int result = fabric_link_add(fabric, (struct fabric_end){i, 0},
                                         (struct fabric_end){peer, 0});
            if (result < 0)
                return result;
        }
    }
    return 0;
}

static int grid_make(struct fabric *fabric, const struct grid *grid)
{
    uint32_t switch_count = 0;
    int result = grid_check(grid, &switch_count);
    for (uint32_t i = 0; i < switch_count && result == 0; i++) {
        char name[32];
        uint32_t index;
        snprintf(name, sizeof(name), "s%u", i);
        result = fabric_node_add(fabric, FABRIC_SWITCH, name, &index);
    }
    for (uint32_t i = 0; i < switch_count && result == 0; i++)
        result = generate_hosts_add(fabric, i, grid->hosts ? grid->hosts : 1);
    return result < 0 ? result : grid_cable(fabric, grid, switch_count);
}

int generate_ring(struct fabric *fabric, const struct generate_options *options)
{
    struct grid grid = {.extent = {options->switches ? options->switches : 4},
                        .dimensions = 1,
                        .hosts = options->hosts,
                        .wraps = true};
    return grid_make(fabric, &grid);
}

static struct grid grid_from(const struct generate_options *options, bool wraps)
{
    struct grid grid = {.hosts = options->hosts, .wraps = wraps};
    while (grid.dimensions < 4 && options->size[grid.dimensions] != 0) {
        grid.extent[grid.dimensions] = options->size[grid.dimensions];
        grid.dimensions++;
    }
    for (; grid.dimensions == 0 && grid.dimensions < 2; grid.dimensions = 2)
        grid.extent[0] = grid.extent[1] = 4;
    return grid;
}

int generate_mesh(struct fabric *fabric, const struct generate_options *options)
{
    struct grid grid = grid_from(options, false);
    return grid_make(fabric, &grid);
}

int generate_torus(struct fabric *fabric, const struct generate_options *options)
{
    struct grid grid = grid_from(options, true);
    return grid_make(fabric, &grid);
}

int generate_hypercube(struct fabric *fabric, const struct generate_options *options)
{
    struct grid grid = {.dimensions = options->dimensions ? options->dimensions : 3,
                        .hosts = options->hosts};
    if (grid.dimensions > DIMENSIONS_MAX)
        return error_fail(-EINVAL, "a hypercube of %u dimensions is too large, at most %d",
                          grid.dimensions, DIMENSIONS_MAX);
    for (uint32_t d = 0; d < grid.dimensions; d++)
        grid.extent[d] = 2;
    return grid_make(fabric, &grid);
}
