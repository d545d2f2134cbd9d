/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See wishes.h.
 */
#include "cli/cache/wishes.h"

#include "base/settings.h"
#include "cache/agent/setup.h"
#include "cache/cache_layer.h"
#include "cli/cli.h"
#include "cli/run/run.h"

#include <inttypes.h>
#include <limits.h>
#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MAX_NS (365 * 24 * 3600 * 1000000000ll)

struct cache_wishes cache_wishes;

static int set(unsigned which, const char *value)
{
    return run_variable_set(setting_spec(which)->name, value);
}

/* A part is of each host's memory. */
int cache_take_size(char *text)
{
    uint64_t bytes;
    if (!setup_size(text, &bytes) || bytes == 0)
        return -1;
    return set(SETTING_CACHE_SIZE, text);
}

/* Several of an option add up. */
static int add_folder(unsigned which, const char *resolved, int *count)
{
    char list[PATH_MAX * 2];
    const char *before = (*count)++ > 0 ? getenv(setting_spec(which)->name) : NULL;
    int length = snprintf(list, sizeof(list), "%s%s%s", before ? before : "", before ? ":" : "",
                          resolved);
    if (length >= (int)sizeof(list))
        return cli_usage_error("%s: the folders have %d characters together, no more than %zu are "
                               "possible; name one above them",
                               resolved, length, sizeof(list) - 1);
    return set(which, list);
}

static int path_count; /* of both options */

int cache_take_path(char *path)
{
    char resolved[PATH_MAX];
    if (!realpath(path, resolved))
        return cli_usage_error("--path %s: there is no such folder", path);
    return add_folder(SETTING_CACHE_PATH, resolved, &path_count);
}

int cache_take_immutable(char *path)
{
    static int count;
    char resolved[PATH_MAX];
    if (!realpath(path, resolved))
        return cli_usage_error("--immutable %s: there is no such folder", path);
    int status = add_folder(SETTING_CACHE_IMMUTABLE, resolved, &count);
    return status != 0 ? status : add_folder(SETTING_CACHE_PATH, resolved, &path_count);
}

/* Checked here, as a mistake of usage, and not by the first rank. */
int cache_take_groups(char *text)
{
    struct settings settings;
    char entry[128], *const environment[] = {entry, NULL};
    snprintf(entry, sizeof(entry), "%s=%s", setting_spec(SETTING_CACHE_GROUPS)->name, text);
    if (settings_load(&settings, environment) < 0)
        return cli_usage_error("--groups: %s", rh_error_text());
    return set(SETTING_CACHE_GROUPS, text);
}

int cache_take_singlets(char *text)
{
    return set(SETTING_CACHE_SINGLETS, text);
}

/* Minutes and hours as well, which text_to_duration() does not have. */
int cache_take_idle(char *text)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"", 1e9}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (end == text || strcmp(end, units[i].name) != 0 || !(value >= 0) ||
            value * units[i].ns > (double)IDLE_MAX_NS)
            continue;
        cache_wishes.idle_ns = (int64_t)(value * units[i].ns);
        cache_wishes.idle_text = text;
        return 0;
    }
    return -1;
}

int cache_wishes_set(void)
{
    char text[24];
    int status = 0;
    snprintf(text, sizeof(text), "%" PRIu64, cache_wishes.block_bytes);
    if (cache_wishes.block_bytes > 0)
        status = set(SETTING_CACHE_BLOCK, text);
    if (status == 0 && cache_wishes.wants_checksum)
        status = set(SETTING_CACHE_CHECKSUM, "on");
    return status;
}
