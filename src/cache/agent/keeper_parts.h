/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the keepers of programs (keeper.c) and of services (service.c) share; nobody else includes
 * this.
 */
#pragma once

#include "cache/agent/agent.h"
#include "cache/agent/setup.h"

struct keeper {
    struct agent_options agent;
    uint32_t request_count;
    int rank;
    int agent_pid;   /* 0: it is gone */
    int program_pid; /* 0: it has ended */
    int status;      /* the program's, as waitpid gives it */
};

/* The agent's memory and options, from the settings. */
int keeper_set_up(struct keeper *keeper, const struct settings *settings);

/* Fork the agent; it dies with us. */
int keeper_agent_start(struct keeper *keeper, const struct settings *settings);

/* It has ended: its clients are told. */
void keeper_agent_gone(struct keeper *keeper);
