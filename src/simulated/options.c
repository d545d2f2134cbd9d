/* SPDX-License-Identifier: BSD-3-Clause
 *
 * RHINET_MARTINI: what is simulated, as a list of NAME=VALUE.
 */
#include "base/error.h"
#include "base/text.h"
#include "simulated/station.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ITEM_MAX   300
#define ERRORS_MAX 0.01 /* more than half of all flits are wrong then */

static int refuse(const char *item)
{
    return error_fail(RH_EINVALID,
                      "RHINET_MARTINI: \"%s\"; allowed are platform=NAME or FIRST-LAST:NAME, seed, "
                      "network=rhinet2 or rhinet3, metres, errors (of bits, 0 to 0.01), "
                      "compute=none, measured, scaled:F, record:FILE or replay:FILE, report=FILE, "
                      "usage=FILE, trace=FILE, pcap=FILE, packets=FILE, trace_limit=SIZE, "
                      "topology=FILE, routing=ALGORITHM or FILE, "
                      "lanes=one, hop or branch, and the constants that `rhinet sim "
                      "constants` lists, each as NAME=VALUE",
                      item);
}

/* Settings that are text: files and names. False: the item is none of these. */
static bool text_read(struct martini_settings *settings, const char *item, size_t length,
                      int *result)
{
    const struct {
        const char *name;
        char *place;
        size_t room;
    } texts[] = {{"report", settings->report, sizeof(settings->report)},
                 {"usage", settings->usage, sizeof(settings->usage)},
                 {"trace", settings->trace, sizeof(settings->trace)},
                 {"pcap", settings->pcap, sizeof(settings->pcap)},
                 {"packets", settings->packets, sizeof(settings->packets)},
                 {"topology", settings->topology, sizeof(settings->topology)},
                 {"routing", settings->routing, sizeof(settings->routing)},
                 {"lanes", settings->lanes, sizeof(settings->lanes)}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strlen(texts[i].name) != length || strncmp(item, texts[i].name, length) != 0)
            continue;
        int written = snprintf(texts[i].place, texts[i].room, "%s", item + length + 1);
        *result = written > 0 && (size_t)written < texts[i].room ? 0 : refuse(item);
        return true;
    }
    return false;
}

static int number_read(const char *item, const char *text, uint64_t most, uint64_t *value)
{
    return text_to_u64(text, value) && *value <= most ? 0 : refuse(item);
}

/* Of all nodes, whatever machine they are. */
static int constant_read(struct martini_settings *settings, const char *item)
{
    int result = sim_constants_set(&settings->constants, item);
    for (uint32_t i = 0; result == 0 && i < settings->ranges.count; i++)
        result = sim_constants_set(&settings->ranges.range[i].constants, item);
    return result < 0 ? RH_EINVALID : 0;
}

static int item_read(struct martini_settings *settings, const char *item)
{
    const char *equals = strchr(item, '=');
    uint64_t number = 0;
    if (!equals)
        return refuse(item);
    size_t length = (size_t)(equals - item);
    const char *value = equals + 1;
    int result = 0;
    if (text_read(settings, item, length, &result))
        return result;
    if (strncmp(item, "network=", length + 1) == 0) {
        bool is_third = strcmp(value, "rhinet3") == 0;
        settings->kind = is_third ? NETWORK_RHINET3 : NETWORK_RHINET2;
        return is_third || strcmp(value, "rhinet2") == 0 ? 0 : refuse(item);
    }
    if (strncmp(item, "seed=", length + 1) == 0)
        return number_read(item, value, UINT64_MAX, &settings->seed);
    if (strncmp(item, "metres=", length + 1) == 0) {
        result = number_read(item, value, 100000, &number);
        settings->metres = (uint32_t)number;
        return result;
    }
    if (strncmp(item, "trace_limit=", length + 1) == 0)
        return text_to_size(value, &settings->trace_limit) && settings->trace_limit >= 4096
                   ? 0
                   : refuse(item);
    if (strncmp(item, "errors=", length + 1) == 0)
        return text_to_real(value, &settings->bit_error_rate) && settings->bit_error_rate >= 0 &&
                       settings->bit_error_rate <= ERRORS_MAX
                   ? 0
                   : refuse(item);
    if (strncmp(item, "compute=", length + 1) == 0)
        return compute_model_read(&settings->compute, value) < 0 ? refuse(item) : 0;
    return constant_read(settings, item);
}

#define PLATFORM "platform="

/* Machines come first, whatever the order: the rest changes them. */
static int item_take(struct martini_settings *settings, const char *item, bool wants_platforms)
{
    bool is_platform = strncmp(item, PLATFORM, strlen(PLATFORM)) == 0;
    if (is_platform != wants_platforms)
        return 0;
    if (!is_platform)
        return item_read(settings, item);
    int result = platform_take(&settings->constants, &settings->ranges, item + strlen(PLATFORM));
    return result == -ENOMEM ? RH_ENOSPACE : result < 0 ? RH_EINVALID : 0;
}

static int items_read(struct martini_settings *settings, const char *text, bool wants_platforms)
{
    while (*text) {
        char item[ITEM_MAX];
        size_t length = strcspn(text, ",");
        if (length >= sizeof(item))
            return refuse(text);
        snprintf(item, sizeof(item), "%.*s", (int)length, text);
        int result = item_take(settings, item, wants_platforms);
        if (result < 0)
            return result;
        text += length + (text[length] == ',');
    }
    return 0;
}

int martini_settings_read(struct martini_settings *settings, const char *text)
{
    *settings = (struct martini_settings){
        .seed = 1, .trace_limit = 64 << 20, .constants = sim_constants_default()};
    int result = items_read(settings, text, true);
    if (result == 0)
        result = items_read(settings, text, false);
    if (result == 0 && sim_constants_check(&settings->constants) < 0)
        result = RH_EINVALID;
    for (uint32_t i = 0; result == 0 && i < settings->ranges.count; i++)
        result = sim_constants_check(&settings->ranges.range[i].constants) < 0 ? RH_EINVALID : 0;
    return result;
}
