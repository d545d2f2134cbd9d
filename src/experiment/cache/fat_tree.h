/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network for up to 128 hosts in which no link is shared by more traffic than a host's own: three
 * levels of 8-port switches, as many links up as down on each. Private to this folder.
 */
#pragma once

#include "sim/switch/switch.h"

#define FAT_TREE_HOSTS 128

/* RH_EINVALID: too many hosts; RH_ENOSPACE. */
int fat_tree_make(struct network_plan *plan, uint32_t host_count, uint32_t mbps);
void fat_tree_free(struct network_plan *plan);
