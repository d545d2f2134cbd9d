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
        if (which < 0) {
            warn_unknown(entry, (size_t)(equals - entry));
            continue;
        }
        int result = set_value(settings, which, equals + 1, 1);
        if (result < 0)
            return result;
    }
    return 0;
}
