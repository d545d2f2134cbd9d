/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See guids.h.
 */
#include "route/fabric/guids.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>

static int guid_compare(const void *a, const void *b)
{
    const struct guid_at *x = a, *y = b;
    return x->guid < y->guid ? -1 : x->guid > y->guid;
}

int guids_create(struct guids *guids, const struct fabric *fabric)
{
    *guids = (struct guids){.sorted = malloc((fabric->node_count + 1) * sizeof(struct guid_at))};
    if (!guids->sorted)
        return error_fail(-ENOMEM, "no memory for %u GUIDs", fabric->node_count);
    for (uint32_t i = 0; i < fabric->node_count; i++) {
        const struct fabric_node *node = &fabric->nodes[i];
        if (node->kind == FABRIC_SWITCH) {
            guids->sorted[guids->count] = (struct guid_at){node->guid, guids->count};
            guids->count++;
        }
    }
    qsort(guids->sorted, guids->count, sizeof(*guids->sorted), guid_compare);
    for (uint32_t i = 1; i < guids->count; i++) {
        uint64_t guid = guids->sorted[i].guid;
        if (guid == 0 || guid != guids->sorted[i - 1].guid)
            continue;
        guids_destroy(guids);
        return error_fail(-EEXIST,
                          "two switches have the GUID 0x%016" PRIx64
                          ", so that tables cannot tell them apart; correct the fabric file",
                          guid);
    }
    return 0;
}

void guids_destroy(struct guids *guids)
{
    free(guids->sorted);
    guids->sorted = NULL;
}

uint32_t guids_find(const struct guids *guids, uint64_t guid)
{
    struct guid_at key = {.guid = guid};
    const struct guid_at *found = bsearch(&key, guids->sorted, guids->count, sizeof(key),
                                          guid_compare);
    return found ? found->at : FABRIC_NONE;
}
