/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What jobs, their members, task managers and launchers have by name. Data only: it is part of
 * src/base.
 */
#include "job/job_layer.h"

#include "base/settings.h"

static const struct setting_spec settings[] = {
    TEXT_SETTING(SETTING_NIC, "RHINET_NIC", "shm",
                 "NIC to use: shm (one machine), ofi or mixed (several hosts, where mixed is the "
                 "default), martini (simulated); fault(shm) injects faults"),
    NUMBER_SETTING(SETTING_MANAGER_FD, "RHINET_MANAGER_FD", "0", 0, 1 << 20,
                   "connection to the task manager; set by the launcher, not by you"),
    CHOICE_SETTING(SETTING_STARTER, "RHINET_STARTER", "auto", "auto|pmix|pmi1|pmi2|alone",
                   "how a program that `rhinet run` has not started finds its job: what the "
                   "launcher offers, or a job of one"),
    DURATION_SETTING(SETTING_GRACE, "RHINET_GRACE", "300ms", 0, 3600000000000,
                     "ranks that the launcher has asked to end (SIGTERM) are killed after that"),
    DURATION_SETTING(SETTING_HOST_TIMEOUT, "RHINET_HOST_TIMEOUT", "5s", 100000000, 3600000000000,
                     "a host that is not heard for that long is lost, and its ranks count as dead"),
    TEXT_SETTING(SETTING_INTERFACE, "RHINET_INTERFACE", "",
                 "network between hosts: name of an interface, or a subnet such as 10.1.0.0/16; "
                 "empty: all, best first"),
    TEXT_SETTING(SETTING_PORTS, "RHINET_PORTS", "",
                 "TCP ports for task managers, such as 7000-7100; empty: any"),
    TEXT_SETTING(SETTING_RSH, "RHINET_RSH", "",
                 "command of `rhinet run --hosts` that runs another on a host, called as CMD HOST "
                 "PROGRAM ARGUMENT...; empty: ssh -x -o BatchMode=yes"),
    TEXT_SETTING(SETTING_OPEN_JOB, "RHINET_OPEN_JOB", "",
                 "which open job a program joins that no launcher has started and that asks for "
                 "one: those of one user and name meet; empty: the usual one"),
    NUMBER_SETTING(SETTING_OPEN_RANKS, "RHINET_OPEN_RANKS", "1024", 2, 65536,
                   "how many processes an open job takes; who comes first says it"),
    TEXT_SETTING(SETTING_MANAGER_PROGRAM, "RHINET_MANAGER_PATH", "",
                 "the program that serves an open job; empty: rhinet-manager, as installed"),
};

const struct layer job_layer = {
    LAYER_LIST(setting, settings),
};
