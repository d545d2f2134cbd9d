/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PM on simulated nodes: the first and the last rank exchange messages while those between them, as
 * many as asked for, are there and silent. Private to this folder.
 */
#pragma once

#include "sim/constants.h"

#include <rhinet/pm.h>
#include <stdint.h>

struct pm_setup {
    const struct sim_constants *constants;
    const char *implementation; /* pm-ring, pm-queue, pm-auto */
    int ranks;
    uint32_t size;   /* of a message: cut into several if PM carries less */
    uint32_t rounds; /* that are timed */
};

/* All return 0 or a code of rhinet/error.h. */
int pm_round_trip(const struct pm_setup *setup, double *us);
/* Message after message in one direction. */
int pm_stream(const struct pm_setup *setup, double *mbps);
/* pmWrite() after pmWrite(), two under way. */
int pm_write_stream(const struct pm_setup *setup, double *mbps);

/* For programs like these: the longest message of this PM; how the thesis's PM is opened; to be
 * called before a context is closed, as another rank may still wait for an answer. */
uint32_t pm_message_max(const struct pm_setup *setup);
void pm_options_of(const struct pm_setup *setup, struct pm_options *options);
void pm_linger(struct rh_job *job);
