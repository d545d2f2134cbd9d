/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which file systems are cached, and by which number each is known on all nodes.
 *
 * st_dev means something on one host only. A network file system is known by its kind and what is
 * mounted ("server:/volume"); a local one belongs to its host, and is known by that and its device:
 * then only nodes of the same host share what they have of it.
 */
#ifndef CACHE_MOUNTS_H
#define CACHE_MOUNTS_H

#include "cache/layout.h"

/* Add a path below which files are cached. It is resolved first. Errors: RH_EINVALID. */
int mounts_add_path(struct cache_control *control, const char *path);

/* Without a path: everything on network file systems. RH_EINVALID if there are none. */
int mounts_add_network(struct cache_control *control);

/* Fill the table of devices from the paths, or add those that were mounted since. */
int mounts_refresh(struct cache_control *control);

/* The number of a device that is in the table; false: it is not. */
bool mounts_find(const struct cache_control *control, uint64_t device, uint64_t *file_system);

#endif
