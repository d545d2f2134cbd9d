/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC on the simulated Martini controller, as a rank has it. What the rank asks of its NIC is a
 * call (call.h), which goes through a port to the rank's station in a simulated world
 * (simulated/world.h). Nothing of that world is here.
 */
#pragma once

#include "nic/nic.h"

extern const struct nic_ops martini_ops;

struct martini_call;

/* How a rank's calls reach its station. */
struct martini_port {
    void *context;
    /* Carries out the call; the answer is in it. 0, or RH_EREFUSED: the simulation is gone. */
    int (*call)(void *context, struct martini_call *call);
};
