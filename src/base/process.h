/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the kernel says a process of this machine is doing, from /proc.
 */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

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

#endif
