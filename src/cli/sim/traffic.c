/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See traffic.h.
 */
#include "cli/sim/traffic.h"

#include "base/array.h"
#include "base/error.h"
#include "base/lines.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

static int load_add(struct sim_loads *loads, double value)
{
    if (loads->count == SIM_LOADS_MAX)
        return error_fail(-EINVAL, "more than %d loads", SIM_LOADS_MAX);
    loads->values[loads->count++] = value;
    return 0;
}

static int range_add(struct sim_loads *loads, const double part[3])
{
    int result = 0;
    if (part[2] <= 0 || part[1] < part[0])
        return error_fail(-EINVAL, "loads from %g to %g in steps of %g do not end", part[0],
                          part[1], part[2]);
    /* half a step more, lest rounding lose the last */
    for (int i = 0; result == 0 && part[0] + i * part[2] <= part[1] + part[2] / 2; i++)
        result = load_add(loads, part[0] + i * part[2]);
    return result;
}

/* The numbers of a list of any length; loads->values has them as they stand. */
static int numbers_read(struct sim_loads *loads, const char *text, const char *separator)
{
    size_t length = 0;
    int result = 0;
    loads->count = 0;
    for (const char *at = text; result == 0; at += length + 1) {
        char word[64];
        double value;
        length = strcspn(at, separator);
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        if (length >= sizeof(word) || !text_to_real(word, &value) || value <= 0 || value > 100)
            return error_fail(
                -EINVAL, "'%s' is no load: a number above 0, 1 is all that a link carries", word);
        result = load_add(loads, value);
        if (at[length] == '\0')
            break;
    }
    return result;
}

int sim_loads_parse(struct sim_loads *loads, const char *text)
{
    bool is_range = strchr(text, ':') != NULL;
    int result = numbers_read(loads, text, is_range ? ":" : ",");
    if (result < 0 || !is_range)
        return result;
    if (loads->count != 3)
        return error_fail(-EINVAL, "'%s' is not of the form FROM:TO:STEP", text);
    const double part[3] = {loads->values[0], loads->values[1], loads->values[2]};
    loads->count = 0;
    return range_add(loads, part);
}

int sim_host_find(const struct net *net, const char *text, uint32_t *host)
{
    uint64_t number;
    uint32_t node = text ? fabric_node_find(net->fabric, text) : FABRIC_NONE;
    for (uint32_t i = 0; node != FABRIC_NONE && i < net->host_count; i++) {
        if (net->target_node[i] == node) {
            *host = i;
            return 0;
        }
    }
    if (text && text_to_u64(text, &number) && number < net->host_count) {
        *host = (uint32_t)number;
        return 0;
    }
    return error_fail(-EINVAL, "no host has the name or number '%s'", text ? text : "");
}

struct reading {
    struct sim_trace *trace;
    const struct net *net;
    size_t room;
};

static int message_add(struct reading *reading, const struct workload_message *message)
{
    struct sim_trace *trace = reading->trace;
    if (!array_grow(&trace->messages, &reading->room, trace->count + 1))
        return error_fail(-ENOMEM, "no memory for %zu messages", trace->count + 1);
    trace->messages[trace->count++] = *message;
    return 0;
}

static int message_take(void *context, const struct lines_place *place, char *line)
{
    struct reading *reading = context;
    const struct sim_trace *trace = reading->trace;
    char *rest = NULL, *words[4];
    double ns;
    uint64_t bytes;
    struct workload_message message;
    for (int i = 0; i < 4; i++) {
        words[i] = strtok_r(i ? NULL : line, " \t", &rest);
        if (!words[i])
            return lines_wrong(place, "a line has time, source, target and bytes, no more than",
                               words[0]);
    }
    if (!text_to_real(words[0], &ns) || ns < 0 || ns > 1e12)
        return lines_wrong(place, "no time in nanoseconds:", words[0]);
    if (!text_to_u64(words[3], &bytes) || bytes > 1 << 30)
        return lines_wrong(place, "no number of bytes:", words[3]);
    if (sim_host_find(reading->net, words[1], &message.source) < 0)
        return lines_wrong(place, "no host:", words[1]);
    if (sim_host_find(reading->net, words[2], &message.target) < 0)
        return lines_wrong(place, "no host:", words[2]);
    message.when = (sim_time)(ns * (double)SIM_NS);
    message.bytes = (uint32_t)bytes;
    if (trace->count > 0 && trace->messages[trace->count - 1].when > message.when)
        return lines_wrong(place, "earlier than the line before:", words[0]);
    return message_add(reading, &message);
}

int sim_trace_read(struct sim_trace *trace, const struct net *net, const char *path)
{
    struct reading reading = {trace, net, 0};
    return lines_read(path, &reading, message_take);
}
