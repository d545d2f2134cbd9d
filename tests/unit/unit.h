/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the unit tests share: cmocka with the headers it forgets, and a way to look at what a
 * function prints on stderr under an environment of its own.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Runs action(argument) in a child process with RHINET_LOG as given (NULL: unset), because the
 * level is read once per process. What it wrote to stderr goes to text, cut to room. Returns the
 * child's exit status, which is what action returned. */
int unit_capture(const char *log_level, int (*action)(void *), void *argument, char *text,
                 size_t room);

/* How many descriptors this process has open: before and after what must not leak any. */
size_t unit_descriptor_count(void);
