/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which way a condition usually goes, for the few places where that counts.
 */
#pragma once

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define rare_path   __attribute__((noinline)) /* its locals stay off the usual path */
