/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the settings mean for a node: the agent's options, and the control memory that it shares
 * with its clients.
 */
#pragma once

#include "cache/agent/agent.h"

/* memfds of the control memory have this name, by which `rhinet cache stat` finds them. */
#define SETUP_MEMORY_NAME "rhinet-cache"
#define SETUP_CARD_NAME   "rhinet-cache-card"

struct settings;

/* Fills all of the options. The control memory stays until the process ends. Errors: RH_EINVALID (a
 * setting), RH_ENOSPACE. */
int setup_agent(struct agent_options *options, const struct settings *settings);

/* "8G", or "20%" of the memory that is free on this host, 90 at most. */
bool setup_size(const char *text, uint64_t *bytes);
