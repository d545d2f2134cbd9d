/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libfabric's functions. Only these few are its own; the others in its headers are inline and call
 * through the objects that it gives us (but not fi_allocinfo(), which calls fi_dupinfo()). They are
 * found when it is loaded, and go by other names than its own: a program may have both, and a
 * provider of libfabric may have us inside.
 */
#pragma once

#include <rdma/fabric.h>

struct ofi_library {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info); /* NULL: an empty one */
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int code);
};
extern struct ofi_library ofi_library; /* written once, by ofi_library_load() */

/* Before any call to libfabric. RH_EUNSUP, with the reason, if it is not there. */
int ofi_library_load(void);
/* Around what may load more libraries: the program's signal handlers stay as they are. */
void ofi_signals_keep(void);
void ofi_signals_put_back(void);
