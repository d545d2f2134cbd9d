/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cluster.h.
 */
#include "job/cluster.h"

#include "base/error.h"
#include "job/job_layer.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define REACHES_ALL "mixed" /* shared memory on a host, the network between hosts */

int cluster_open(struct cluster *cluster, int size, int node_count)
{
    if (node_count < 1 || node_count > CLUSTER_NODES_MAX || node_count > size)
        return error_set(RH_EINVALID, ERROR_NO_RANK, "%d processes cannot run on %d hosts", size,
                         node_count);
    *cluster = (struct cluster){.size = size, .node_count = node_count, .judge_node = -1};
    cluster->host = calloc((size_t)node_count, sizeof(cluster->host[0]));
    cluster->node_of = calloc((size_t)size, sizeof(cluster->node_of[0]));
    if (cluster->host && cluster->node_of)
        return 0;
    cluster_close(cluster);
    return error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for a job of %d", size);
}

void cluster_close(struct cluster *cluster)
{
    free(cluster->host);
    free(cluster->node_of);
    explicit_bzero(cluster, sizeof(*cluster));
}

int cluster_make_identity(uint64_t *job_id, uint8_t secret[32])
{
    uint32_t number = 0;
    if (getrandom(secret, 32, 0) != 32 || getrandom(&number, sizeof(number), 0) != sizeof(number))
        return error_set(RH_EREFUSED, ERROR_NO_RANK, "the system gives no random numbers: %s",
                         strerror(errno));
    *job_id = number | 0x10000000u; /* eight digits for people to type */
    return 0;
}

void cluster_member_secret(const uint8_t secret[32], uint8_t derived[32])
{
    static const uint8_t purpose[] = "rhinet members";
    crypto_generichash(derived, 32, purpose, sizeof(purpose), secret, 32);
}

int cluster_seat_count(const struct cluster *cluster)
{
    return cluster->node_count + (cluster->judge_node < 0);
}

int cluster_seat_of(const struct cluster *cluster, int node)
{
    int judge = cluster->judge_node;
    if (node == judge)
        return 0;
    return judge < 0 || node < judge ? node + 1 : node;
}

int cluster_node_of(const struct cluster *cluster, int seat)
{
    int judge = cluster->judge_node;
    if (seat == 0)
        return judge;
    return judge < 0 || seat <= judge ? seat - 1 : seat;
}

const char *cluster_host_name(const struct cluster *cluster, int seat)
{
    int node = cluster_node_of(cluster, seat);
    return node < 0 ? cluster->judge_host : cluster->host[node];
}

static int last_of_run(const struct cluster *cluster, int first)
{
    int rank = first;
    while (rank + 1 < cluster->size && cluster->node_of[rank + 1] == cluster->node_of[first])
        rank++;
    return rank;
}

void cluster_ranks_text(const struct cluster *cluster, int node, char *text, size_t text_size)
{
    static const char more[] = ", ...";
    int count = 0;
    for (int rank = 0; rank < cluster->size; rank++)
        count += cluster->node_of[rank] == node;
    size_t used = (size_t)snprintf(text, text_size, count == 1 ? "rank" : "ranks");
    const char *between = " ";
    for (int rank = 0; rank < cluster->size; rank++) {
        if (cluster->node_of[rank] != node)
            continue;
        if (used + 32 + sizeof(more) > text_size) {
            snprintf(text + used, text_size - used, "%s", more);
            return;
        }
        int last = last_of_run(cluster, rank);
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
