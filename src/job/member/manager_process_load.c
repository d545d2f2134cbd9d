/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The task manager, for members that may have to start one: the program brings it along, or
 * librhinet-manager is loaded, which is installed beside librhinet. Few programs need it, and those
 * only for a moment: what runs it is a process of its own.
 */
#include "job/member/parts.h"

#include "base/error.h"

#include <dlfcn.h>
#include <string.h>

#define LIBRARY "librhinet-manager.so.0"

static const struct manager_process_body *brought;

void manager_process_bring(const struct manager_process_body *body)
{
    brought = body;
}

int manager_process_load(const struct manager_process_body **body, void **library)
{
    *library = NULL;
    *body = brought;
    if (brought)
        return 0;
    void *loaded = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!loaded)
        return error_fail(RH_EUNSUP,
                          "a task manager is needed under this launcher: %s; it belongs where "
                          "librhinet.so is, or start the program by `rhinet run`",
                          dlerror());
    const struct manager_process_body *found = dlsym(loaded, "rh_manager_process_body");
    /* What they hand to each other is a struct of these sources. */
    if (!found || strcmp(found->version, RHINET_VERSION) != 0) {
        int result = error_fail(RH_EUNSUP,
                                "%s is of version %s, this library of %s; install both together",
                                LIBRARY, found ? found->version : "unknown", RHINET_VERSION);
        dlclose(loaded);
        return result;
    }
    *body = found;
    *library = loaded;
    return 0;
}

void manager_process_unload(void *library)
{
    if (library)
        dlclose(library);
}
