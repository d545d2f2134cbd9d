/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See platform.h: opening a platform, and which nodes have which.
 */
#include "sim/platform/read.h"

#include "base/error.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const platform_class_names[] = {"known", "calibrated on", "assumed", "what-if", NULL};

const struct platform_file *platform_file_find(const char *name)
{
    for (const struct platform_file *at = platform_files; at->name; at++) {
        if (strcmp(at->name, name) == 0)
            return at;
    }
    return NULL;
}

static int begin(struct platform *platform)
{
    *platform = (struct platform){.constants = sim_constants_default()};
    platform->origins = calloc(sim_constant_count(), sizeof(*platform->origins));
    return platform->origins ? 0 : error_fail(-ENOMEM, "no memory for a platform");
}

/* A machine lacks nothing: what a file does not say would be somebody else's. */
static int complete(const struct platform *platform, const char *name)
{
    size_t missing = 0;
    const char *first = NULL;
    for (size_t i = 0; i < sim_constant_count(); i++) {
        if (platform->origins[i].is_set)
            continue;
        missing++;
        first = first ? first : sim_constant_list[i].name;
    }
    if (missing == 0)
        return 0;
    return error_fail(-EINVAL,
                      "%s does not say %zu constants, %s for one; begin with a line 'include "
                      "rhinet2-le' and change what is different",
                      name, missing, first);
}

static int end(struct platform *platform, const char *name, int result)
{
    char reason[256];
    if (result == 0)
        result = complete(platform, name);
    if (result == 0) {
        result = sim_constants_check(&platform->constants);
        if (result < 0) {
            snprintf(reason, sizeof(reason), "%s", rh_error_text());
            error_fail(result, "platform %s: %s", name, reason);
        }
    }
    if (result < 0)
        platform_close(platform);
    return result;
}

int platform_open(struct platform *platform, const char *name)
{
    int result = begin(platform);
    return result < 0 ? result : end(platform, name, platform_read(platform, name, NULL, 0));
}

int platform_parse(struct platform *platform, const char *name, const char *text, size_t length)
{
    struct lines lines;
    int result = begin(platform);
    if (result < 0)
        return result;
    result = lines_from(&lines, name, text, length);
    if (result == 0)
        result = platform_read_lines(platform, &lines, 0);
    return end(platform, name, result);
}

void platform_close(struct platform *platform)
{
    free(platform->origins);
    platform->origins = NULL;
}

int platform_constants(struct sim_constants *constants, const char *name)
{
    struct platform platform;
    int result = platform_open(&platform, name);
    if (result < 0)
        return result;
    const char *firmware = constants->firmware; /* no part of a machine's description */
    *constants = platform.constants;
    constants->firmware = firmware;
    platform_close(&platform);
    return 0;
}

/* "2-5:" or "7:" in front of a name. False: there is none. */
static bool nodes_read(const char *text, struct platform_range *range, const char **name)
{
    char first[16], last[16];
    uint64_t from, to;
    size_t length = strspn(text, "0123456789"), more = 0;
    if (length == 0 || length >= sizeof(first))
        return false;
    snprintf(first, sizeof(first), "%.*s", (int)length, text);
    snprintf(last, sizeof(last), "%s", first);
    if (text[length] == '-') {
        more = strspn(text + length + 1, "0123456789");
        if (more == 0 || more >= sizeof(last))
            return false;
        snprintf(last, sizeof(last), "%.*s", (int)more, text + length + 1);
        more++;
    }
    if (text[length + more] != ':' || !text_to_u64(first, &from) || !text_to_u64(last, &to) ||
        from > to || to > UINT32_MAX)
        return false;
    range->first = (uint32_t)from;
    range->last = (uint32_t)to;
    *name = text + length + more + 1;
    return true;
}

int platform_take(struct sim_constants *constants, struct platform_ranges *ranges, const char *text)
{
    struct platform_range range = {0};
    const char *name = text;
    if (!nodes_read(text, &range, &name))
        return platform_constants(constants, text);
    if (ranges->count == PLATFORM_RANGES_MAX)
        return error_fail(-EINVAL,
                          "'%s': more than %d groups of nodes with a platform of their own", text,
                          PLATFORM_RANGES_MAX);
    int result = platform_constants(&range.constants, name);
    if (result == 0)
        ranges->range[ranges->count++] = range;
    return result;
}

const struct platform_range *platform_range_of(const struct platform_ranges *ranges, uint32_t node)
{
    const struct platform_range *found = NULL;
    for (uint32_t i = 0; ranges && i < ranges->count; i++) {
        if (node >= ranges->range[i].first && node <= ranges->range[i].last)
            found = &ranges->range[i];
    }
    return found;
}
