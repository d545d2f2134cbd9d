/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options that ask what if the simulated controller were another: each sets constants.
 */
#pragma once

#include "cli/option.h"
#include "experiment/thesis/thesis.h"

extern const struct cli_option sim_what_if_options[];

/* The machines as they were, or both as --platform says; changed by these options, and then by
 * --set. 0, or the exit status after it has said what is wrong. */
int what_if_hosts(struct thesis_hosts *hosts, const struct cli_list *platforms,
                  const struct cli_list *set);
