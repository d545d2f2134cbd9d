/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of shapes. See generate.h.
 */
#include "route/generate/generate.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

const struct generate_kind generate_kinds[] = {
    {"fat-tree", generate_fat_tree, "k-port switches in levels: --ports --levels --over"},
    {"joined", generate_joined, "two 3-level fat trees joined: --ports --join top|middle|bottom"},
    {"random", generate_random, "random cables: --switches --ports --hosts --seed"},
    {"ring", generate_ring, "a ring: --switches --hosts"},
    {"mesh", generate_mesh, "a grid of up to 4 dimensions: --size 4x4x4 --hosts"},
    {"torus", generate_torus, "a grid whose ends meet: --size 4x4x4 --hosts"},
    {"hypercube", generate_hypercube, "a hypercube: --dimensions --hosts"},
    {"dragonfly", generate_dragonfly, "groups, all joined: --routers --global --hosts"},
    {"slim-fly", generate_slim_fly, "diameter 2, prime q of the form 4w+1: --prime --hosts"},
    {NULL, NULL, NULL},
};

int generate_hosts_add(struct fabric *fabric, uint32_t at, uint32_t count)
{
    for (uint32_t j = 0; j < count; j++) {
        char name[300];
        uint32_t host;
        const char *base = fabric->nodes[at].name;
        const char *dot = strrchr(base, '.');
        int prefix = dot ? (int)(dot + 1 - base) : 0; /* keep the group's name in front */
        snprintf(name, sizeof(name), "%.*sh%s.%u", prefix, base, base + prefix, j);
        int result = fabric_node_add(fabric, FABRIC_HOST, name, &host);
        if (result == 0) {
            fabric->nodes[host].group = fabric->nodes[at].group;
            result = fabric_link_add(fabric, (struct fabric_end){at, (uint16_t)(j + 1)},
                                     (struct fabric_end){host, 1});
        }
        if (result < 0)
            return result;
    }
    return 0;
}

int generate_fabric(struct fabric **out, const char *kind, const struct generate_options *options)
{
    const char *names[32];
    size_t count = 0;
    const struct generate_kind *found = NULL;
    for (const struct generate_kind *at = generate_kinds; at->name; at++) {
        names[count++] = at->name;
        if (strcmp(at->name, kind) == 0)
            found = at;
    }
    if (!found) {
        const char *near = text_nearest(kind, names, count);
        return error_fail(-EINVAL, "no kind of fabric is called '%s'%s%s%s", kind,
                          near ? "; did you mean '" : "; `rhinet route generate` lists them",
                          near ? near : "", near ? "'?" : "");
    }
    struct fabric *fabric;
    int result = fabric_create(&fabric);
    if (result < 0)
        return result;
    result = found->make(fabric, options);
    if (result == 0)
        result = fabric_lids_assign(fabric);
    if (result < 0) {
        fabric_destroy(fabric);
        return result;
    }
    *out = fabric;
    return 0;
}
