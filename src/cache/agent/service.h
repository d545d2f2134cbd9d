/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A service: a node's agent without a program, for whatever runs on the host meanwhile.
 */
#pragma once

#include "cache/agent/place.h"

#include <stdint.h>

/* What it says on standard output when its agent is ready: "cache NAME: node 0 of 2 is ready". */
#define SERVICE_READY "cache %s: node %d of %d is ready\n"

/* Serve at a place until the service is told to end, nobody has used it for idle_ns (0: never), or
 * a signal (SIGTERM, SIGINT, SIGHUP) ends this node's part. As a rank that `rhinet run`, srun or
 * mpirun has started, or alone. Whatever way it ends, nothing is left at the place. Returns the
 * exit status. */
int service_run(struct place *place, const struct settings *settings, int64_t idle_ns);
