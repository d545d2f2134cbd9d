/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options that ask what if the simulated controller were another: each sets constants.
 */
#pragma once

#include "cli/option.h"
#include "sim/constants.h"

extern const struct cli_option sim_what_if_options[];

/* The constants of the machine, as the options change them. */
void sim_what_if_apply(struct sim_constants *constants);
