/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NICs of clusters, on libfabric: `ofi` reaches every other rank by the network, `mixed` those
 * of the own host by shared memory and the others by the network. See ofi_nic.h for how they work.
 */
#pragma once

#include "nic/nic.h"

#include <stddef.h>

extern const struct nic_ops ofi_ops;
extern const struct nic_ops mixed_ops;

/* For `rhinet info`: which provider this machine would use, and why, or why there is none. */
struct ofi_choice {
    char provider[64]; /* "" if there is none */
    char reason[384];
};
void ofi_choose(const struct settings *settings, struct ofi_choice *choice);
