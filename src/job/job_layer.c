/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What jobs, their members, task managers and launchers have by name. Data only: it is part of
 * src/base.
 */
#include "job/job_layer.h"

#include "base/settings.h"

static const struct setting_spec settings[] = {
    [LAYER_AT(SETTING_NIC)] =
        {.name = "RHINET_NIC",
         .kind = SETTING_TEXT,
         .initial = "shm",
         .help = "NIC to use: shm (one machine), ofi or mixed (several hosts, where mixed is the "
                 "default), martini (simulated); fault(shm) injects faults"},
    [LAYER_AT(SETTING_MANAGER_FD)] =
        {.name = "RHINET_MANAGER_FD",
         .kind = SETTING_NUMBER,
         .initial = "0",
         .most = 1 << 20,
         .help = "connection to the task manager; set by the launcher, not by you"},
    [LAYER_AT(SETTING_STARTER)] =
        {.name = "RHINET_STARTER",
         .kind = SETTING_CHOICE,
         .initial = "auto",
         .choices = "auto|pmix|pmi1|pmi2|alone",
         .help = "how a program that `rhinet run` has not started finds its job: "
                 "what the launcher offers, or a job of one"},
    [LAYER_AT(SETTING_GRACE)] =
        {.name = "RHINET_GRACE",
         .kind = SETTING_DURATION,
         .initial = "300ms",
         .most = 3600000000000,
         .help = "ranks that the launcher has asked to end (SIGTERM) are killed after "
                 "that"},
    [LAYER_AT(
        SETTING_HOST_TIMEOUT)] = {.name = "RHINET_HOST_TIMEOUT",
                                  .kind = SETTING_DURATION,
                                  .initial = "5s",
                                  .least = 100000000,
                                  .most = 3600000000000,
                                  .help = "a host that is not heard for that long is lost, and its "
                                          "ranks count as dead"},
    [LAYER_AT(SETTING_INTERFACE)] =
        {.name = "RHINET_INTERFACE",
         .kind = SETTING_TEXT,
         .initial = "",
         .help = "network between hosts: name of an interface, or a subnet such "
                 "as 10.1.0.0/16; empty: all, best first"},
    [LAYER_AT(
        SETTING_PORTS)] = {.name = "RHINET_PORTS",
                           .kind = SETTING_TEXT,
                           .initial = "",
                           .help = "TCP ports for task managers, such as 7000-7100; empty: any"},
    [LAYER_AT(SETTING_RSH)] =
        {.name = "RHINET_RSH",
         .kind = SETTING_TEXT,
         .initial = "",
         .help = "command of `rhinet run --hosts` that runs another on a host, called "
                 "as CMD HOST PROGRAM ARGUMENT...; empty: ssh -x -o BatchMode=yes"},
};

const struct layer job_layer = {
    .name = "job",
    LAYER_LIST(setting, settings),
};
