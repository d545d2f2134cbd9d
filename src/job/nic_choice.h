/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which NIC a job uses if its program names none: what the user says, else one that reaches all
 * hosts.
 */
#ifndef JOB_NIC_CHOICE_H
#define JOB_NIC_CHOICE_H

#include "base/settings.h"

/* The text is the settings', or constant. */
const char *nic_choice(const struct settings *settings, uint32_t node_count);

#endif
