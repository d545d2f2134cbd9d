/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which rank runs on which host.
 */
#include "job/launch/parts.h"

#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By name: the user may call a host as it calls itself, with or without its domain. */
bool launch_is_this_host(const char *name)
{
    char own[256] = "";
    gethostname(own, sizeof(own) - 1);
    size_t length = strcspn(own, ".");
    if (strcmp(name, "localhost") == 0 || strcmp(name, own) == 0)
        return true;
    return length > 0 && strlen(name) == length && strncmp(name, own, length) == 0;
}

/* How many ranks each host gets. Without counts: the same for all, the first ones one more. */
static bool share_out(const struct launch_hosts *hosts, int size, int *share)
{
    bool has_counts = false;
    int total = 0;
    for (int i = 0; i < hosts->count; i++)
        has_counts = has_counts || hosts->host[i].places > 0;
    for (int i = 0; i < hosts->count; i++) {
        int even = size / hosts->count + (i < size % hosts->count);
        int places = hosts->host[i].places > 0 ? hosts->host[i].places : 1;
        int left = size - total;
        share[i] = !has_counts ? even : places < left ? places : left;
        total += share[i];
    }
    return total == size;
}

static int places_of(const struct launch_hosts *hosts)
{
    int total = 0;
    for (int i = 0; i < hosts->count; i++)
        total += hosts->host[i].places > 0 ? hosts->host[i].places : 1;
    return total;
}

static void deal(struct job_map *map, bool cyclic, int *share)
{
    int node = 0;
    for (int rank = 0; rank < map->size; rank++) {
        while (share[node] == 0)
            node = (node + 1) % map->node_count;
        map->node_of[rank] = node;
        share[node]--;
        if (cyclic)
            node = (node + 1) % map->node_count;
    }
}

static int refuse(const char *text)
{
    fprintf(stderr, "rhinet run: %s\n", text);
    return LAUNCH_STATUS_FAILED;
}

/* Hosts that get no rank take no part. */
static int used_count(const int *share, int count)
{
    while (count > 0 && share[count - 1] == 0)
        count--;
    return count;
}

int launch_place(struct launch_options *options, struct job_map *map)
{
    const struct launch_hosts *hosts = options->hosts;
    char text[160];
    if (options->size == 0)
        options->size = places_of(hosts);
    int *share = calloc((size_t)hosts->count, sizeof(share[0]));
    if (!share)
        return refuse("no memory for the list of hosts");
    if (!share_out(hosts, options->size, share)) {
        free(share);
        snprintf(text, sizeof(text),
                 "%d processes, but the hosts take %d; write HOST:COUNT for more on a host",
                 options->size, places_of(hosts));
        return refuse(text);
    }
    int result = job_map_open(map, options->size, used_count(share, hosts->count));
    if (result == 0) {
        deal(map, hosts->cyclic, share);
        result = job_identity_make(&map->job_id, map->secret);
    }
    free(share);
    if (result < 0)
        return refuse(rh_error_text());
    for (int node = 0; node < map->node_count; node++) {
        snprintf(map->host[node], sizeof(map->host[0]), "%s", hosts->host[node].name);
        if (map->coordinator_node < 0 && launch_is_this_host(map->host[node]))
            map->coordinator_node = node;
    }
    gethostname(map->coordinator_host, sizeof(map->coordinator_host) - 1);
    if (map->node_count == 1 && map->coordinator_node == 0)
        return 0;
    options->map = map;
    options->nic = nic_choice(options->settings, (uint32_t)map->node_count);
    return 0;
}
