/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a fabric file may leave out: GUIDs, and which part of the fabric a node belongs to. All are
 * functions of the file alone, so that two runs agree.
 */
#include "route/fabric/fabric.h"

#include <stdlib.h>
#include <string.h>

#define GUID_SWITCH 0x0002c90200000000ull
#define GUID_HOST   0x0002c90300000000ull

void fabric_guids_assign(struct fabric *fabric)
{
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        struct fabric_node *node = &fabric->nodes[i];
        bool is_switch = node->kind == FABRIC_SWITCH;
        /* 256 numbers for each host, so that its ports follow its own */
        uint64_t base = is_switch ? GUID_SWITCH + i : GUID_HOST + (uint64_t)i * 256;
        if (node->guid == 0)
            node->guid = base;
        if (is_switch && node->ports[0].guid == 0)
            node->ports[0].guid = node->guid;
        for (uint32_t p = 1; !is_switch && p <= node->port_count; p++) {
            if (node->ports[p].guid == 0)
                node->ports[p].guid = node->guid + p;
        }
    }
}

#define GROUPS_MAX 256

/* Length of the part of the name that names the group; 0: no separator, so the unnamed group. */
static size_t group_length(const char *name, char separator)
{
    const char *end = strchr(name, separator);
    return end ? (size_t)(end - name) : 0;
}

void fabric_groups_by_name(struct fabric *fabric, char separator)
{
    const char *first_member[GROUPS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        struct fabric_node *node = &fabric->nodes[i];
        size_t length = group_length(node->name, separator);
        uint32_t group = 0;
        while (group < count && (group_length(first_member[group], separator) != length ||
                                 memcmp(first_member[group], node->name, length) != 0))
            group++;
        if (group == GROUPS_MAX)
            group = GROUPS_MAX - 1; /* so many are surely not what was meant: the rest is one */
        else if (group == count)
            first_member[count++] = node->name;
        node->group = group;
    }
    fabric->group_count = count ? count : 1;
}
