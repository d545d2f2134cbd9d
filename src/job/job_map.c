/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See job_map.h.
 */
#include "job/job_map.h"

#include "base/error.h"
#include "job/job_layer.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define REACHES_ALL "mixed" /* shared memory on a host, the network between hosts */

int job_map_open(struct job_map *map, int size, int node_count)
{
    if (node_count < 1 || node_count > JOB_NODES_MAX || node_count > size)
        return error_fail(RH_EINVALID, "%d processes cannot run on %d hosts", size, node_count);
    *map = (struct job_map){.size = size, .node_count = node_count, .coordinator_node = -1};
    map->host = calloc((size_t)node_count, sizeof(map->host[0]));
    map->node_of = calloc((size_t)size, sizeof(map->node_of[0]));
    if (map->host && map->node_of)
        return 0;
    job_map_close(map);
    return error_no_memory("a job of %d", size);
}

void job_map_close(struct job_map *map)
{
    free(map->host);
    free(map->node_of);
    explicit_bzero(map, sizeof(*map));
}

int job_identity_make(uint64_t *job_id, uint8_t secret[32])
{
    uint32_t number = 0;
    if (getrandom(secret, 32, 0) != 32 || getrandom(&number, sizeof(number), 0) != sizeof(number))
        return error_fail(RH_EREFUSED, "the system gives no random numbers: %s", strerror(errno));
    *job_id = number | 0x10000000u; /* eight digits for people to type */
    return 0;
}

void job_member_secret(const uint8_t secret[32], uint8_t derived[32])
{
    static const uint8_t purpose[] = "rhinet members";
    crypto_generichash(derived, 32, purpose, sizeof(purpose), secret, 32);
}

int job_map_seat_count(const struct job_map *map)
{
    return map->node_count + (map->coordinator_node < 0);
}

int job_map_seat_of(const struct job_map *map, int node)
{
    int coordinator = map->coordinator_node;
    if (node == coordinator)
        return 0;
    return coordinator < 0 || node < coordinator ? node + 1 : node;
}

int job_map_node_of(const struct job_map *map, int seat)
{
    int coordinator = map->coordinator_node;
    if (seat == 0)
        return coordinator;
    return coordinator < 0 || seat <= coordinator ? seat - 1 : seat;
}

bool job_map_is_here(const struct job_map *map, int rank)
{
    return !map || job_map_seat_of(map, map->node_of[rank]) == map->seat;
}

const char *job_map_host_name(const struct job_map *map, int seat)
{
    int node = job_map_node_of(map, seat);
    return node < 0 ? map->coordinator_host : map->host[node];
}

static int last_of_run(const struct job_map *map, int first)
{
    int rank = first;
    while (rank + 1 < map->size && map->node_of[rank + 1] == map->node_of[first])
        rank++;
    return rank;
}

void job_map_ranks_text(const struct job_map *map, int node, char *text, size_t text_size)
{
    static const char more[] = ", ...";
    int count = 0;
    for (int rank = 0; rank < map->size; rank++)
        count += map->node_of[rank] == node;
    size_t used = (size_t)snprintf(text, text_size, count == 1 ? "rank" : "ranks");
    const char *between = " ";
    for (int rank = 0; rank < map->size; rank++) {
        if (map->node_of[rank] != node)
            continue;
        if (used + 32 + sizeof(more) > text_size) {
            snprintf(text + used, text_size - used, "%s", more);
            return;
        }
        int last = last_of_run(map, rank);
        used += (size_t)snprintf(text + used, text_size - used, "%s%d", between, rank);
        if (last > rank)
            used += (size_t)snprintf(text + used, text_size - used, "-%d", last);
        rank = last;
        between = ", ";
    }
}

const char *nic_choice(const struct settings *settings, uint32_t node_count)
{
    if (node_count > 1 && !setting_value(settings, SETTING_NIC)->from_environment)
        return REACHES_ALL;
    return setting_text(settings, SETTING_NIC);
}
