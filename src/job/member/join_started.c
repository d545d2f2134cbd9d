/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining a job that another launcher has started: the processes tell each other their hosts, the
 * lowest rank of each host starts the manager process there, and all meet at the manager processes.
 * Two fences.
 *
 *   key                 by            value
 *   rhinet-host         all           what tells this host from others, its name, the process
 *   rhinet-job          rank 0        number and secret of the job
 *   rhinet-socket       lowest ranks  name of the manager process's socket
 *   rhinet-coordinator  rank 0        where the first manager process listens
 *
 * The secret is as safe as the launcher's key-value space: PMIx and PMI show it to the job's own
 * processes only, but what lies between their servers is theirs to protect.
 */
#include "job/member/parts.h"

#include "base/descriptor.h"
#include "base/error.h"
#include "base/text.h"
#include "job/job_map.h"
#include "job/this_host.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct meeting {
    struct starter *starter;
    const struct settings *settings;
    struct job_map map;
    int node;   /* ours */
    int lowest; /* lowest rank of our host */
    int *pids;  /* of each rank, on its own host */
    int listen_fd;
};

/* ---- Who is where --------------------------------------------------------------------------- */

/* "boot.network.processes/name/process" */
static void describe_host(char text[STARTER_VALUE_MAX])
{
    char host[THIS_HOST_TEXT];
    char name[sizeof(((struct roster_node *)0)->host)] = "";
    this_host_text(host);
    gethostname(name, sizeof(name) - 1);
    for (char *at = name; *at; at++) {
        if (strchr(" ;=/", *at))
            *at = '?';
    }
    snprintf(text, STARTER_VALUE_MAX, "%s/%s/%d", host, name, (int)getpid());
}

static int introduce(struct meeting *meeting)
{
    struct starter *starter = meeting->starter;
    char text[STARTER_VALUE_MAX];
    describe_host(text);
    int result = starter->ops->put(starter, "rhinet-host", text);
    if (result == 0 && starter->rank == 0) {
        uint64_t job_id;
        uint8_t secret[32];
        char hex[2 * sizeof(secret) + 1];
        result = job_identity_make(&job_id, secret);
        sodium_bin2hex(hex, sizeof(hex), secret, sizeof(secret));
        snprintf(text, sizeof(text), "%016" PRIx64 "%s", job_id, hex);
        if (result == 0)
            result = starter->ops->put(starter, "rhinet-job", text);
    }
    return result < 0 ? result : starter->ops->fence(starter);
}

static int read_job(struct meeting *meeting)
{
    struct starter *starter = meeting->starter;
    struct job_map *map = &meeting->map;
    char text[STARTER_VALUE_MAX];
    int result = starter->ops->get(starter, 0, "rhinet-job", text);
    if (result < 0)
        return result;
    size_t length = strlen(text), expected = 16 + 2 * sizeof(map->secret);
    bool is_good = length == expected && sscanf(text, "%16" SCNx64, &map->job_id) == 1 &&
                   sodium_hex2bin(map->secret, sizeof(map->secret), text + 16, length - 16, NULL,
                                  NULL, NULL) == 0;
    explicit_bzero(text, sizeof(text)); /* nor is it shown: it may hold the secret all the same */
    if (!is_good)
        return error_set(RH_ECORRUPT, 0,
                         "what rank 0 says about the job is not %zu hexadecimal digits but %zu "
                         "characters; the same rhinet on all hosts?",
                         expected, length);
    return 0;
}

/* Cuts the process off the description of a host. */
static int split_process(char *text, int *pid)
{
    char *slash = strrchr(text, '/');
    uint64_t number;
    if (!slash || !text_to_u64(slash + 1, &number) || number < 1 || number > INT32_MAX)
        return error_fail(RH_ECORRUPT, "\"%s\" describes no host; the same rhinet on all hosts?",
                          text);
    *slash = '\0';
    *pid = (int)number;
    return 0;
}

/* All descriptions, numbered in the order of their first ranks. */
static int sort_hosts(struct meeting *meeting, char (*text)[STARTER_VALUE_MAX])
{
    struct starter *starter = meeting->starter;
    struct job_map *map = &meeting->map;
    int *first = calloc((size_t)starter->size, sizeof(first[0])); /* rank of each node */
    int node_count = 0;
    int result = first ? 0 : error_no_memory("the hosts");
    for (int rank = 0; rank < starter->size && result == 0; rank++) {
        int node = 0;
        result = starter->ops->get(starter, rank, "rhinet-host", text[rank]);
        if (result == 0)
            result = split_process(text[rank], &meeting->pids[rank]);
        while (result == 0 && node < node_count && strcmp(text[first[node]], text[rank]) != 0)
            node++;
        if (node == JOB_NODES_MAX)
            result = error_set(RH_EINVALID, rank, "more than %d hosts", JOB_NODES_MAX);
        else if (node == node_count)
            first[node_count++] = rank;
        map->node_of[rank] = node;
    }
    map->node_count = node_count;
    for (int node = 0; node < node_count && result == 0; node++) {
        const char *slash = strchr(text[first[node]], '/');
        snprintf(map->host[node], sizeof(map->host[0]), "%s", slash ? slash + 1 : "?");
    }
    meeting->node = result == 0 ? map->node_of[starter->rank] : 0;
    meeting->lowest = result == 0 ? first[meeting->node] : 0;
    free(first);
    return result;
}

static int read_hosts(struct meeting *meeting)
{
    int size = meeting->starter->size;
    int result = job_map_open(&meeting->map, size, size < JOB_NODES_MAX ? size : JOB_NODES_MAX);
    if (result < 0)
        return result;
    char(*text)[STARTER_VALUE_MAX] = calloc((size_t)size, sizeof(text[0]));
    meeting->pids = calloc((size_t)size, sizeof(meeting->pids[0]));
    if (!text || !meeting->pids) {
        free(text);
        return error_no_memory("the hosts");
    }
    result = sort_hosts(meeting, text);
    free(text);
    meeting->map.coordinator_node = 0;
    meeting->map.seat = job_map_seat_of(&meeting->map, meeting->node);
    return result < 0 ? result : read_job(meeting);
}

/* ---- The manager processes ------------------------------------------------------------------ */

static int start_manager_process(struct meeting *meeting, const struct address_list *coordinator,
                                 struct address_list *addresses)
{
    struct manager_process_plan plan = {
        .map = &meeting->map,
        .settings = meeting->settings,
        .coordinator = coordinator,
        .nic = nic_choice(meeting->settings, (uint32_t)meeting->map.node_count),
        .command = program_invocation_short_name,
        .pids = meeting->pids,
        .listen_fd = meeting->listen_fd,
    };
    return manager_process_start(&plan, addresses);
}

static void change_character(char *text, char from, char to)
{
    for (; *text; text++) {
        if (*text == from)
            *text = to;
    }
}

/* The first host's manager process must be there before the others are: they call it. */
static int offer_manager_process(struct meeting *meeting)
{
    struct starter *starter = meeting->starter;
    struct address_list addresses = {0};
    char name[MANAGER_PROCESS_NAME_BYTES];
    char text[STARTER_VALUE_MAX] = "-";
    meeting->listen_fd = manager_process_listen(name);
    if (meeting->listen_fd < 0)
        return meeting->listen_fd;
    int result = starter->ops->put(starter, "rhinet-socket", name);
    if (result < 0 || meeting->node != 0)
        return result;
    result = start_manager_process(meeting, NULL, &addresses);
    if (result < 0)
        return result;
    if (meeting->map.node_count > 1)
        address_list_print(&addresses, text, sizeof(text));
    change_character(text, ' ', ',');
    return starter->ops->put(starter, "rhinet-coordinator", text);
}

static int start_later_manager_process(struct meeting *meeting)
{
    struct starter *starter = meeting->starter;
    struct address_list coordinator, unused;
    char text[STARTER_VALUE_MAX];
    int result = starter->ops->get(starter, 0, "rhinet-coordinator", text);
    if (result < 0)
        return result;
    change_character(text, ',', ' ');
    if (!address_list_parse(&coordinator, text))
        return error_set(RH_ECORRUPT, 0, "rank 0 says \"%s\" is its task manager's address", text);
    return start_manager_process(meeting, &coordinator, &unused);
}

static int meet(struct meeting *meeting, char name[STARTER_VALUE_MAX])
{
    struct starter *starter = meeting->starter;
    int result = introduce(meeting);
    if (result == 0)
        result = read_hosts(meeting);
    bool is_lowest = meeting->lowest == starter->rank;
    if (result == 0 && is_lowest)
        result = offer_manager_process(meeting);
    if (result == 0)
        result = starter->ops->fence(starter);
    if (result == 0 && is_lowest && meeting->node != 0)
        result = start_later_manager_process(meeting);
    if (result == 0)
        result = starter->ops->get(starter, meeting->lowest, "rhinet-socket", name);
    return result;
}

int join_started(struct starter *starter, const struct settings *settings)
{
    struct meeting meeting = {.starter = starter, .settings = settings, .listen_fd = -1};
    char name[STARTER_VALUE_MAX];
    int result = meet(&meeting, name);
    descriptor_close(&meeting.listen_fd);
    if (result == 0)
        result = manager_process_connect(name, &meeting.map, starter->rank);
    job_map_close(&meeting.map);
    free(meeting.pids);
    return result;
}
