/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which part of the fabric a node belongs to, by its name: a function of the file alone, so that
 * two runs agree.
 */
#include "route/fabric/fabric.h"

#include <string.h>

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
