/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading the settings of all layers.
 */
#include "base/settings.h"

#include "base/error.h"
#include "base/layer.h"
#include "base/log.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "RHINET_"

const struct setting_spec *setting_at(size_t place)
{
    if (place >= SETTINGS_MAX)
        return NULL;
    for (int i = 0; i < LAYER_COUNT; i++) {
        if (place < layers[i]->setting_count)
            return &layers[i]->settings[place];
        place -= layers[i]->setting_count;
    }
    return NULL;
}

static size_t place_of(unsigned which)
{
    size_t place = LAYER_SETTING_AT(which);
    for (unsigned i = 0; i < which / LAYER_SETTINGS; i++)
        place += layers[i]->setting_count;
    return place;
}

const struct setting_spec *setting_spec(unsigned which)
{
    return setting_at(place_of(which));
}

const struct setting_value *setting_value(const struct settings *settings, unsigned which)
{
    return &settings->value[place_of(which)];
}

static int choice_index(const char *choices, const char *text)
{
    size_t length = strlen(text);
    int index = 0;
    for (const char *at = choices; at; at = strchr(at, '|'), index++) {
        at += *at == '|';
        size_t span = strcspn(at, "|");
        if (span == length && strncmp(at, text, length) == 0)
            return index;
    }
    return -1;
}

/* The same; the last choice may have had another name once. */
static int choice_find(const struct setting_spec *spec, const char *text)
{
    const char *last = strrchr(spec->choices, '|');
    bool is_old = spec->was && last && strcmp(text, spec->was) == 0;
    return choice_index(spec->choices, is_old ? last + 1 : text);
}

static int bad_value(const struct setting_spec *spec, const char *text, const char *allowed)
{
    return error_fail(RH_EINVALID, "%s=%s: expected %s; unset it for the default (%s)", spec->name,
                      text, allowed, spec->initial);
}

static int parse_value(const struct setting_spec *spec, const char *text, uint64_t *number)
{
    char allowed[96];
    int64_t ns = 0;
    switch (spec->kind) {
    case SETTING_TEXT:
        return 0;
    case SETTING_CHOICE: {
        int index = choice_find(spec, text);
        if (index < 0)
            return bad_value(spec, text, spec->choices);
        *number = (uint64_t)index;
        return 0;
    }
    case SETTING_DURATION:
        if (!text_to_duration(text, &ns))
            return bad_value(spec, text, "a time such as 250ns, 10us, 5ms or 2s");
        *number = (uint64_t)ns;
        snprintf(allowed, sizeof(allowed), "a time from %lluns to %.3gs",
                 (unsigned long long)spec->least, (double)spec->most / 1e9);
        break;
    case SETTING_NUMBER:
        if (!text_to_u64(text, number))
            return bad_value(spec, text, "a whole number");
        snprintf(allowed, sizeof(allowed), "a number from %llu to %llu",
                 (unsigned long long)spec->least, (unsigned long long)spec->most);
        break;
    }
    if (*number < spec->least || *number > spec->most)
        return bad_value(spec, text, allowed);
    return 0;
}

static int set_value(struct settings *settings, size_t place, const char *text, int from)
{
    const struct setting_spec *spec = setting_at(place);
    struct setting_value *value = &settings->value[place];
    size_t room = sizeof(value->text);
    if (strlen(text) >= room)
        return error_fail(RH_EINVALID, "%s is longer than %zu characters", spec->name, room - 1);
    uint64_t number = 0;
    int result = parse_value(spec, text, &number);
    if (result < 0)
        return result;
    memcpy(value->text, text, strlen(text) + 1);
    value->number = number;
    value->from_environment = from;
    return 0;
}

/* The place of a setting, or -1. */
static int find(const char *name, size_t length)
{
    const struct setting_spec *spec;
    for (int i = 0; (spec = setting_at((size_t)i)); i++) {
        if (strlen(spec->name) == length && strncmp(spec->name, name, length) == 0)
            return i;
    }
    return -1;
}

static void warn_unknown(const char *name, size_t length)
{
    const char *names[SETTINGS_MAX];
    char copy[64];
    size_t count = 0;
    for (const struct setting_spec *spec; (spec = setting_at(count)); count++)
        names[count] = spec->name;
    snprintf(copy, sizeof(copy), "%.*s", (int)length, name);
    const char *nearest = text_nearest(copy, names, count);
    if (nearest)
        log_warning("%s is not a setting; did you mean %s?", copy, nearest);
    else
        log_warning("%s is not a setting; `rhinet info --settings` lists them", copy);
}

int settings_load(struct settings *settings, char *const *environment)
{
    memset(settings, 0, sizeof(*settings));
    const struct setting_spec *spec;
    for (size_t i = 0; (spec = setting_at(i)); i++)
        set_value(settings, i, spec->initial, 0);
    for (; environment && *environment; environment++) {
        const char *entry = *environment;
        const char *equals = strchr(entry, '=');
        if (!equals || strncmp(entry, PREFIX, strlen(PREFIX)) != 0)
            continue;
        int place = find(entry, (size_t)(equals - entry));
        int result = place < 0 ? 0 : set_value(settings, (size_t)place, equals + 1, 1);
        if (result < 0)
            return result;
    }
    return 0;
}

void settings_warn(char *const *environment)
{
    for (; environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        if (equals && strncmp(*environment, PREFIX, strlen(PREFIX)) == 0 &&
            find(*environment, (size_t)(equals - *environment)) < 0)
            warn_unknown(*environment, (size_t)(equals - *environment));
    }
}
