/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every RHINET_ variable: name, kind, default and help, which the layers have (base/layer.h).
 * Parsed once, at one place, into a checked struct that hangs off the job. What has no job reads
 * its own by getenv: RHINET_LOG (base/log.c), RHINET_PM (PM knows public headers only),
 * RHINET_CACHE_SOCKET (the cache's client, in other people's programs) and RHINET_LIBRARY (Python,
 * before there is a library).
 */
#pragma once

#include "base/layer.h"

#include <stddef.h>
#include <stdint.h>

enum setting_kind { SETTING_TEXT, SETTING_NUMBER, SETTING_DURATION, SETTING_CHOICE };

struct setting_spec {
    const char *name; /* with RHINET_ */
    enum setting_kind kind;
    const char *initial; /* as a user would write it */
    const char *choices; /* for SETTING_CHOICE: "a|b|c" */
    uint64_t least, most;
    const char *help;
    const char *was; /* what the last of the choices was called once: still understood */
};

/* Entries of a layer's list. */
#define TEXT_SETTING(which, name, initial, help)                                                   \
    [LAYER_SETTING_AT(which)] = {name, SETTING_TEXT, initial, NULL, 0, 0, help, NULL}
#define CHOICE_SETTING(which, name, initial, choices, help)                                        \
    [LAYER_SETTING_AT(which)] = {name, SETTING_CHOICE, initial, choices, 0, 0, help, NULL}
#define RENAMED_SETTING(which, name, initial, choices, was, help)                                  \
    [LAYER_SETTING_AT(which)] = {name, SETTING_CHOICE, initial, choices, 0, 0, help, was}
#define NUMBER_SETTING(which, name, initial, least, most, help)                                    \
    [LAYER_SETTING_AT(which)] = {name, SETTING_NUMBER, initial, NULL, least, most, help, NULL}
#define DURATION_SETTING(which, name, initial, least, most, help)                                  \
    [LAYER_SETTING_AT(which)] = {name, SETTING_DURATION, initial, NULL, least, most, help, NULL}

#define SETTINGS_MAX 64 /* of all layers together */

struct setting_value {
    char text[256];  /* as written; for SETTING_CHOICE one of the choices */
    uint64_t number; /* SETTING_NUMBER; SETTING_DURATION in ns; SETTING_CHOICE: which one */
    int from_environment;
};

struct settings {
    struct setting_value value[SETTINGS_MAX]; /* in the order of setting_at() */
};

/* The settings of all layers, one after the other; NULL after the last. */
const struct setting_spec *setting_at(size_t place);

/* By their numbers. */
const struct setting_spec *setting_spec(unsigned which);
const struct setting_value *setting_value(const struct settings *settings, unsigned which);

/* Reads environment ("NAME=value" strings, as environ). A bad value is an error that names the
 * variable, the value and what is allowed; unknown names are passed over. */
int settings_load(struct settings *settings, char *const *environment);

/* A warning for each unknown RHINET_ name, with the nearest. Only one process of a job says so: its
 * launcher, or rank 0 where that is not ours. */
void settings_warn(char *const *environment);

static inline const char *setting_text(const struct settings *settings, unsigned which)
{
    return setting_value(settings, which)->text;
}

static inline uint64_t setting_number(const struct settings *settings, unsigned which)
{
    return setting_value(settings, which)->number;
}
