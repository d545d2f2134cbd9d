/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one way to report a failure: the function that first decides that something is an error calls
 * error_fail(), or error_set() if it is about a rank, with the values and the user's next step; its
 * callers pass the code up silently.
 */
#pragma once

#include <rhinet/error.h>
#include <stdbool.h>

#define ERROR_NO_RANK (-1)

/* Keeps the sentence for the calling thread and returns code, so that `return error_fail(...)`
 * reads well. */
int error_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, and the rank it is about (ERROR_NO_RANK: none). */
int error_set(int code, int rank, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for what there is no memory for: RH_ENOSPACE, "no memory for " and what format says. */
int error_no_memory(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The calling thread's last failure, as a whole: for those that let others run in their thread. */
struct error_state {
    char text[512];
    int rank;
    bool was_set;
};
void error_save(struct error_state *state);
void error_restore(const struct error_state *state);
