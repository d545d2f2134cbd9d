/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the kernel says a process of this machine is doing, from /proc.
 */
#pragma once

#include <stdbool.h>

/* Threads of the library itself have names that begin with this. */
#define PROCESS_OWN_THREADS "rhinet-"

enum process_state {
    PROCESS_UNKNOWN, /* no such process, or not ours to see */
    PROCESS_RUNNING, /* some thread runs, or would if it got a core */
    PROCESS_SLEEPING,
    PROCESS_STOPPED, /* by a signal or a debugger */
    PROCESS_ENDED    /* a zombie */
};

struct process_look {
    enum process_state state;
    unsigned thread_count; /* without the library's own */
    char where[32];        /* where in the kernel the first thread sleeps, or empty */
};

struct process_look process_look(int pid);

/* Whether every thread of it, the library's own too, was seen stopped: each is then outside of any
 * call of the kernel, or at its edge. False if that is not known. */
bool process_is_stopped(int pid);
