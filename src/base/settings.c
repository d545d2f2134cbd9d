/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of settings and its reader.
 */
#include "base/settings.h"

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "RHINET_"

static const struct setting_spec specs[SETTING_COUNT] = {
    [SETTING_NIC] =
        {.name = "RHINET_NIC",
         .kind = SETTING_TEXT,
         .initial = "shm",
         .help = "NIC to use: shm (one machine), ofi or mixed (several hosts, where mixed is the "
                 "default), martini (simulated); fault(shm) injects faults"},
    [SETTING_TIMEOUT] = {.name = "RHINET_TIMEOUT",
                         .kind = SETTING_DURATION,
                         .initial = "60s",
                         .least = 1000,
                         .most = INT64_MAX,
                         .help = "longest wait of a blocking call that names no timeout itself"},
    [SETTING_SPIN] = {.name = "RHINET_SPIN",
                      .kind = SETTING_DURATION,
                      .initial = "200us",
                      .most = 10000000000,
                      .help =
                          "how long a wait polls before it sleeps; with more ranks than cores it "
                          "yields the core meanwhile"},
    [SETTING_STUCK] = {.name = "RHINET_STUCK",
                       .kind = SETTING_DURATION,
                       .initial = "10s",
                       .most = INT64_MAX,
                       .help = "a wait that takes longer says so on stderr, once, with whom it "
                               "waits for and what that rank does; 0: never"},
    [SETTING_SEGMENTS] = {.name = "RHINET_SEGMENTS",
                          .kind = SETTING_NUMBER,
                          .initial = "256",
                          .least = 8,
                          .most = 65536,
                          .help = "segments and queues a process may have at a time"},
    [SETTING_LOCKS] = {.name = "RHINET_LOCKS",
                       .kind = SETTING_NUMBER,
                       .initial = "1024",
                       .least = 1,
                       .most = 1 << 20,
                       .help =
                           "locks that a job has, 192 bytes each on every rank; the same on all"},
    [SETTING_DSM_HEAP] = {.name = "RHINET_DSM_HEAP",
                          .kind = SETTING_NUMBER,
                          .initial = "32",
                          .least = 1,
                          .most = 1 << 20,
                          .help = "distributed shared memory: MiB of it, which every rank has in "
                                  "full; the same on all"},
    [SETTING_DSM_VARIABLES] =
        {.name = "RHINET_DSM_VARIABLES",
         .kind = SETTING_NUMBER,
         .initial = "1024",
         .least = 1,
         .most = 1 << 20,
         .help = "distributed shared memory: synchronisation variables, 384 bytes each on every "
                 "rank; the same on all"},
    [SETTING_DSM_CHECK] =
        {.name = "RHINET_DSM_CHECK",
         .kind = SETTING_CHOICE,
         .initial = "off",
         .choices = "off|on",
         .help = "on: distributed shared memory that is not held is out of reach, and an access to "
                 "it is reported, as a data race if nothing orders it with another rank's; so are "
                 "variables that go to and fro. Slow"},
    [SETTING_HUGE_PAGES] =
        {.name = "RHINET_HUGE_PAGES",
         .kind = SETTING_CHOICE,
         .initial = "no",
         .choices = "no|try",
         .help = "try: back large allocated segments by huge pages if there are any"},
    [SETTING_CMA] = {.name = "RHINET_CMA",
                     .kind = SETTING_CHOICE,
                     .initial = "auto",
                     .choices = "auto|off",
                     .help =
                         "off: move attached memory through the owner's agent thread instead of "
                         "the kernel's cross-memory attach"},
    [SETTING_MEMBARRIER] =
        {.name = "RHINET_MEMBARRIER",
         .kind = SETTING_CHOICE,
         .initial = "auto",
         .choices = "auto|off",
         .help = "off: a fence in every push instead of membarrier(2) before a sleep"},
    [SETTING_FAULT] = {.name = "RHINET_FAULT",
                       .kind = SETTING_TEXT,
                       .initial = "",
                       .help = "faults for the fault NIC, for example seed=7,delay=0.1:200us; see "
                               "rhinet(7)"},
    [SETTING_OFI_PROVIDER] = {.name = "RHINET_OFI_PROVIDER",
                              .kind = SETTING_TEXT,
                              .initial = "",
                              .help = "libfabric provider of the NICs ofi and mixed, such as "
                                      "tcp;ofi_rxm; empty: the best there is, which `rhinet info` "
                                      "names with the reason"},
    [SETTING_MIXED_RANKS] =
        {.name = "RHINET_MIXED_RANKS",
         .kind = SETTING_NUMBER,
         .initial = "0",
         .most = 1 << 18,
         .help = "NIC mixed: let only groups of this many neighbouring ranks use shared memory, to "
                 "try a cluster on one machine; 0: all ranks of a host; the same on all"},
    [SETTING_MARTINI] = {.name = "RHINET_MARTINI",
                         .kind = SETTING_TEXT,
                         .initial = "",
                         .help = "what NIC martini simulates, for example seed=7,report=-; see "
                                 "rhinet(7)"},
    [SETTING_MSG_WAY] = {.name = "RHINET_MSG_WAY",
                         .kind = SETTING_CHOICE,
                         .initial = "auto",
                         .choices = "auto|push|ring|pull|joint",
                         .help =
                             "how messages too long for a descriptor travel: push into the "
                             "receiver's buffer, ring of blocks, pull from the sender, copied by "
                             "both together; auto goes by length and NIC"},
    [SETTING_PM] = {.name = "RHINET_PM",
                    .kind = SETTING_CHOICE,
                    .initial = "pm-auto",
                    .choices = "pm-auto|pm-ring|pm-queue",
                    .help = "how PM messages travel: one queue and a few lanes, one ring per "
                            "sender, or one queue"},
    [SETTING_DSM_FAULTS] = {.name = "RHINET_DSM_FAULTS",
                            .kind = SETTING_CHOICE,
                            .initial = "auto",
                            .choices = "auto|async|sigbus|mprotect",
                            .help = "how shared pages notice accesses: see rh_dsm_pages_open(3); "
                                    "auto: the fastest that this kernel has"},
    [SETTING_DSM_BULK] = {.name = "RHINET_DSM_BULK",
                          .kind = SETTING_CHOICE,
                          .initial = "rdma",
                          .choices = "rdma|datagram",
                          .help = "how the data of shared variables travels: by remote memory, or "
                                  "in datagrams of 2048 bytes, to compare; the same on all"},
    [SETTING_GRACE] = {.name = "RHINET_GRACE",
                       .kind = SETTING_DURATION,
                       .initial = "300ms",
                       .most = 3600000000000,
                       .help =
                           "ranks that the launcher has asked to end (SIGTERM) are killed after "
                           "that"},
    [SETTING_HOST_TIMEOUT] = {.name = "RHINET_HOST_TIMEOUT",
                              .kind = SETTING_DURATION,
                              .initial = "5s",
                              .least = 100000000,
                              .most = 3600000000000,
                              .help = "a host that is not heard for that long is lost, and its "
                                      "ranks count as dead"},
    [SETTING_INTERFACE] = {.name = "RHINET_INTERFACE",
                           .kind = SETTING_TEXT,
                           .initial = "",
                           .help = "network between hosts: name of an interface, or a subnet such "
                                   "as 10.1.0.0/16; empty: all, best first"},
    [SETTING_PORTS] = {.name = "RHINET_PORTS",
                       .kind = SETTING_TEXT,
                       .initial = "",
                       .help = "TCP ports for task managers, such as 7000-7100; empty: any"},
    [SETTING_RSH] = {.name = "RHINET_RSH",
                     .kind = SETTING_TEXT,
                     .initial = "",
                     .help = "command of `rhinet run --hosts` that runs another on a host, called "
                             "as CMD HOST PROGRAM ARGUMENT...; empty: ssh -x -o BatchMode=yes"},
    [SETTING_STARTER] = {.name = "RHINET_STARTER",
                         .kind = SETTING_CHOICE,
                         .initial = "auto",
                         .choices = "auto|pmix|pmi1|pmi2|alone",
                         .help = "how a program that `rhinet run` has not started finds its job: "
                                 "what the launcher offers, or a job of one"},
    [SETTING_CACHE_SIZE] = {.name = "RHINET_CACHE_SIZE",
                            .kind = SETTING_TEXT,
                            .initial = "auto",
                            .help = "file cache: memory of each node, such as 8G; auto: an eighth "
                                    "of what is free, 8G at most"},
    [SETTING_CACHE_PATH] = {.name = "RHINET_CACHE_PATH",
                            .kind = SETTING_TEXT,
                            .initial = "",
                            .help = "file cache: folders to cache, with a colon between them; "
                                    "empty: all that nodes can share"},
    [SETTING_CACHE_BLOCK] = {.name = "RHINET_CACHE_BLOCK",
                             .kind = SETTING_TEXT,
                             .initial = "1M",
                             .help = "file cache: length of a block, a power of two from 64K to "
                                     "64M; an eighth of it for small files"},
    [SETTING_CACHE_GROUPS] = {.name = "RHINET_CACHE_GROUPS",
                              .kind = SETTING_NUMBER,
                              .initial = "0",
                              .most = 15,
                              .help = "file cache: groups of nodes, each with a copy of its own of "
                                      "a hot block; 0: by the number of nodes; the same on all"},
    [SETTING_CACHE_SINGLETS] = {.name = "RHINET_CACHE_SINGLETS",
                                .kind = SETTING_TEXT,
                                .initial = "auto",
                                .help = "file cache: part of the memory that is kept for blocks "
                                        "that no other node has, 0 to 0.99; auto: it adapts"},
    [SETTING_CACHE_AHEAD] = {.name = "RHINET_CACHE_AHEAD",
                             .kind = SETTING_NUMBER,
                             .initial = "8",
                             .most = 256,
                             .help = "file cache: blocks that are read ahead; 0: none"},
    [SETTING_CACHE_SETTLE] = {.name = "RHINET_CACHE_SETTLE",
                              .kind = SETTING_DURATION,
                              .initial = "1s",
                              .most = 3600000000000,
                              .help = "file cache: a file that changed less than that ago is not "
                                      "cached; must exceed the tick of the file system's clock"},
    [SETTING_CACHE_LEASE] = {.name = "RHINET_CACHE_LEASE",
                             .kind = SETTING_DURATION,
                             .initial = "10s",
                             .least = 100000000,
                             .most = 3600000000000,
                             .help = "file cache: a node that has begun to load a block and says "
                                     "nothing for that long is not waited for"},
    [SETTING_CACHE_PATIENCE] = {.name = "RHINET_CACHE_PATIENCE",
                                .kind = SETTING_DURATION,
                                .initial = "30s",
                                .least = 10000000,
                                .most = 3600000000000,
                                .help = "file cache: a read that the cache has not served after "
                                        "that long goes to the file system"},
    [SETTING_CACHE_CHECKSUM] = {.name = "RHINET_CACHE_CHECKSUM",
                                .kind = SETTING_CHOICE,
                                .initial = "off",
                                .choices = "off|on",
                                .help = "file cache: on: blocks that come from other nodes are "
                                        "checked by XXH3"},
    [SETTING_CACHE_DIRECT] = {.name = "RHINET_CACHE_DIRECT",
                              .kind = SETTING_CHOICE,
                              .initial = "auto",
                              .choices = "auto|off",
                              .help = "file cache: off: read the file system through the kernel's "
                                      "cache even where direct I/O is possible"},
    [SETTING_CACHE_THREADS] = {.name = "RHINET_CACHE_THREADS",
                               .kind = SETTING_NUMBER,
                               .initial = "8",
                               .least = 1,
                               .most = 32,
                               .help = "file cache: threads of a node's agent, which is how many "
                                       "blocks it gets at a time"},
    [SETTING_CACHE_PRETEND] = {.name = "RHINET_CACHE_PRETEND",
                               .kind = SETTING_TEXT,
                               .initial = "",
                               .help = "file cache, for experiments: pretend that the file system "
                                       "gives all nodes together so many bytes a second, such as "
                                       "100M"},
    [SETTING_CACHE_PRELOAD] = {.name = "RHINET_CACHE_PRELOAD",
                               .kind = SETTING_TEXT,
                               .initial = "",
                               .help = "file cache: the library that programs are started with; "
                                       "empty: the one that belongs to this rhinet"},
    [SETTING_CACHE_SOCKET] = {.name = "RHINET_CACHE_SOCKET",
                              .kind = SETTING_TEXT,
                              .initial = "",
                              .help = "file cache: where a program finds its node's agent; set by "
                                      "`rhinet cache run`, not by you"},
    [SETTING_LOG] = {.name = "RHINET_LOG",
                     .kind = SETTING_CHOICE,
                     .initial = "warning",
                     .choices = "error|warning|info|debug",
                     .help = "what the library prints on stderr by itself"},
    [SETTING_MANAGER_FD] = {.name = "RHINET_MANAGER_FD",
                            .kind = SETTING_NUMBER,
                            .initial = "0",
                            .most = 1 << 20,
                            .help =
                                "connection to the task manager; set by the launcher, not by you"},
    [SETTING_MARTINI_FD] = {.name = "RHINET_MARTINI_FD",
                            .kind = SETTING_NUMBER,
                            .initial = "0",
                            .most = 1 << 20,
                            .help = "connection to the simulation of NIC martini; set by the "
                                    "launcher, not by you"},
};

const struct setting_spec *setting_spec(enum setting which)
{
    return &specs[which];
}

static int choice_index(const char *choices, const char *text)
{
    size_t length = strlen(text);
    int index = 0;
    for (const char *at = choices; at; at = strchr(at, '|'), index++) {
        at += *at == '|';
        size_t span = strcspn(at, "|");
        if (span == length && strncmp(at, text, length) == 0)
            return index;
    }
    return -1;
}

static int bad_value(const struct setting_spec *spec, const char *text, const char *allowed)
{
    return error_set(RH_EINVALID, ERROR_NO_RANK,
                     "%s=%s: expected %s; unset it for the default (%s)", spec->name, text, allowed,
                     spec->initial);
}

static int parse_value(const struct setting_spec *spec, const char *text, uint64_t *number)
{
    char allowed[96];
    int64_t ns = 0;
    switch (spec->kind) {
    case SETTING_TEXT:
        return 0;
    case SETTING_CHOICE: {
        int index = choice_index(spec->choices, text);
        if (index < 0)
            return bad_value(spec, text, spec->choices);
        *number = (uint64_t)index;
        return 0;
    }
    case SETTING_DURATION:
        if (!text_to_duration(text, &ns))
            return bad_value(spec, text, "a time such as 250ns, 10us, 5ms or 2s");
        *number = (uint64_t)ns;
        snprintf(allowed, sizeof(allowed), "a time from %lluns to %.3gs",
                 (unsigned long long)spec->least, (double)spec->most / 1e9);
        break;
    case SETTING_NUMBER:
        if (!text_to_u64(text, number))
            return bad_value(spec, text, "a whole number");
        snprintf(allowed, sizeof(allowed), "a number from %llu to %llu",
                 (unsigned long long)spec->least, (unsigned long long)spec->most);
        break;
    }
    if (*number < spec->least || *number > spec->most)
        return bad_value(spec, text, allowed);
    return 0;
}

static int set_value(struct settings *settings, enum setting which, const char *text, int from)
{
    const struct setting_spec *spec = &specs[which];
    size_t room = sizeof(settings->value[which].text);
    if (strlen(text) >= room)
        return error_set(RH_EINVALID, ERROR_NO_RANK, "%s is longer than %zu characters", spec->name,
                         room - 1);
    uint64_t number = 0;
    int result = parse_value(spec, text, &number);
    if (result < 0)
        return result;
    memcpy(settings->value[which].text, text, strlen(text) + 1);
    settings->value[which].number = number;
    settings->value[which].from_environment = from;
    return 0;
}

static int find_spec(const char *name, size_t length)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (strlen(specs[i].name) == length && strncmp(specs[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

static void warn_unknown(const char *name, size_t length)
{
    const char *names[SETTING_COUNT];
    char copy[64];
    for (int i = 0; i < SETTING_COUNT; i++)
        names[i] = specs[i].name;
    snprintf(copy, sizeof(copy), "%.*s", (int)length, name);
    const char *nearest = text_nearest(copy, names, SETTING_COUNT);
    if (nearest)
        log_warning("%s is not a setting; did you mean %s?", copy, nearest);
    else
        log_warning("%s is not a setting; `rhinet info --settings` lists them", copy);
}

int settings_load(struct settings *settings, char *const *environment)
{
    memset(settings, 0, sizeof(*settings));
    for (int i = 0; i < SETTING_COUNT; i++)
        set_value(settings, i, specs[i].initial, 0);
    for (; environment && *environment; environment++) {
        const char *entry = *environment;
        const char *equals = strchr(entry, '=');
        if (!equals || strncmp(entry, PREFIX, strlen(PREFIX)) != 0)
            continue;
        int which = find_spec(entry, (size_t)(equals - entry));
        int result = which < 0 ? 0 : set_value(settings, which, equals + 1, 1);
        if (result < 0)
            return result;
    }
    return 0;
}

void settings_warn(char *const *environment)
{
    for (; environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        if (equals && strncmp(*environment, PREFIX, strlen(PREFIX)) == 0 &&
            find_spec(*environment, (size_t)(equals - *environment)) < 0)
            warn_unknown(*environment, (size_t)(equals - *environment));
    }
}
