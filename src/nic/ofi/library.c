/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libfabric, loaded when it is first needed. Linking it would make every program pay for it, also
 * on one host: with all its adapters' libraries it takes a fifth of a second to load (one of them
 * measures the clock), installs signal handlers, and is not on every machine.
 *
 * The library stays loaded, since it cannot be unloaded safely: this is the one thing here that all
 * jobs of a process share.
 */
#include "nic/ofi/library.h"

#include "base/error.h"
#include "nic/ofi/ofi_nic.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct ofi_library ofi_library;
static char missing[256]; /* why it cannot be used; "": it can */

/* ---- The program's signal handlers ---------------------------------------------------------- */

/* Libraries that libfabric loads install handlers for crashes and for SIGTERM, some when they are
 * loaded, others when they are asked what they have. One thread at a time, so that none of them is
 * taken for the program's. */
static pthread_mutex_t signals_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction signals_before[NSIG];

void ofi_signals_keep(void)
{
    pthread_mutex_lock(&signals_lock);
    for (int number = 1; number < NSIG; number++)
        sigaction(number, NULL, &signals_before[number]);
}

void ofi_signals_put_back(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) == 0 &&
            now.sa_sigaction != signals_before[number].sa_sigaction)
            sigaction(number, &signals_before[number], NULL);
    }
    pthread_mutex_unlock(&signals_lock);
}

/* ---- Loading -------------------------------------------------------------------------------- */

static void find(void *handle, const char *name, void *pointer)
{
    *(void **)pointer = dlsym(handle, name);
    if (!*(void **)pointer)
        snprintf(missing, sizeof(missing), "libfabric.so.1 has no %s", name);
}

/* tcp;ofi_rxm and verbs;ofi_rxm keep some four thousand buffers for messages, 16 KiB each by
 * default:
 * 71 MiB in every process. None of ours is longer than OFI_MESSAGE_MAX. */
static void ask_for_short_buffers(void)
{
    char size[16];
    snprintf(size, sizeof(size), "%d", OFI_MESSAGE_MAX);
    setenv("FI_OFI_RXM_BUFFER_SIZE", size, 0); /* unless the user has said something else */
}

static void load(void)
{
    ask_for_short_buffers();
    ofi_signals_keep();
    void *handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    ofi_signals_put_back();
    if (!handle) {
        snprintf(missing, sizeof(missing), "%s; install libfabric (Debian: libfabric1)", dlerror());
        return;
    }
    find(handle, "fi_getinfo", &ofi_library.getinfo);
    find(handle, "fi_freeinfo", &ofi_library.freeinfo);
    find(handle, "fi_dupinfo", &ofi_library.dupinfo);
    find(handle, "fi_fabric", &ofi_library.fabric);
    find(handle, "fi_strerror", &ofi_library.strerror);
}

int ofi_library_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return missing[0] ? error_fail(RH_EUNSUP, "%s", missing) : 0;
}
