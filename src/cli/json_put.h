/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON objects, a line per member. Where memory runs out an object lacks members, or is NULL, which
 * all of these accept; the program says so when it ends (incomplete.h).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

static inline void json_put_text(json_t *object, const char *name, const char *text)
{
    json_object_set_new(object, name, json_string(text));
}

static inline void json_put_number(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(object, name, json_integer((json_int_t)value));
}

static inline void json_put_real(json_t *object, const char *name, double value)
{
    json_object_set_new(object, name, json_real(value));
}

static inline void json_put_flag(json_t *object, const char *name, bool value)
{
    json_object_set_new(object, name, json_boolean(value));
}

/* What a document is, for who reads it: "rhinet KIND VERSION". A version changes when a reader of
 * the old one would misread it, not when something is added. */
static inline void json_put_format(json_t *object, const char *kind_and_version)
{
    json_object_set_new(object, "format", json_sprintf("rhinet %s", kind_and_version));
}
