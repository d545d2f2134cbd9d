/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What must hold wherever one layer hands over to another: a mistake of ours if it does not, never
 * one of a user, a file or a peer; those get an error. In debug and sanitizer builds (meson's
 * option `assertions`) it is looked at, and the process ends at once where it does not hold. What
 * users build never ends by it; the condition is compiled all the same, but costs nothing.
 */
#pragma once

#include "base/likely.h"

#ifdef RHINET_ASSERTIONS
_Noreturn void assert_failed(const char *condition, const char *file, int line, const char *name);
#define ASSERT(x) (likely(x) ? (void)0 : assert_failed(#x, __FILE__, __LINE__, __func__))
#else
#define ASSERT(x) ((void)sizeof(!(x)))
#endif
