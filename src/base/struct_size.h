/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Structs that a program hands in begin with their size, so that they can grow: a program that was
 * compiled before that says how many of the fields it has. 0 stands for what the struct was in
 * version 0.2. Until one of them grows there is but one size; then whoever takes it copies so many
 * bytes over zeros, which are the defaults of the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

static inline bool struct_size_is_sound(size_t given, size_t of_version_0_2)
{
    return given == 0 || given >= of_version_0_2;
}
