/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traffic that was measured: a matrix of host pairs, or port counters.
 */
#include "route/traffic/traffic.h"

#include "base/error.h"
#include "base/text.h"
#include "route/formats/source.h"

#include <math.h>
#include <stdlib.h>

#define NAME_MAX_LENGTH 128

/* node -> its first target, FABRIC_NONE for those without */
static uint32_t *targets_index(const struct net *net)
{
    uint32_t *index = malloc((net->fabric->node_count + 1) * sizeof(*index));
    for (uint32_t i = 0; index && i < net->fabric->node_count; i++)
        index[i] = FABRIC_NONE;
    for (uint32_t t = net->host_count; index && t-- > 0;)
        index[net->target_node[t]] = t;
    return index;
}

static int host_take(const struct net *net, const uint32_t *index, struct lines *source,
                     const char **at, uint32_t *target)
{
    char name[NAME_MAX_LENGTH];
    source_blanks_skip(at);
    if (!source_word_take(at, name, sizeof(name)))
        return source_error(source, "a host's name must follow here: '%.40s'", *at);
    uint32_t node = fabric_node_find(net->fabric, name);
    *target = node == FABRIC_NONE ? FABRIC_NONE : index[node];
    if (*target == FABRIC_NONE)
        return source_error(source, "'%.60s' is no cabled host of the fabric", name);
    return 0;
}

static int amount_take(struct lines *source, const char **at, double *amount)
{
    char word[64];
    source_blanks_skip(at);
    if (!source_word_take(at, word, sizeof(word)) || !text_to_real(word, amount) ||
        !isfinite(*amount) || *amount < 0)
        return source_error(source, "an amount of 0 or more must follow the hosts");
    return 0;
}

struct measured {
    struct traffic *traffic;
    uint32_t *index;
    double *sent, *received; /* by target */
};

static int line_end(struct lines *source, const char *at)
{
    source_blanks_skip(&at);
    if (*at != '\0' && *at != '#')
        return source_error(source, "the line should end before this: '%.40s'", at);
    return 0;
}

static int matrix_line(struct measured *measured, struct lines *source)
{
    const struct net *net = measured->traffic->net;
    const char *at = source->line;
    uint32_t from = 0, to = 0;
    double amount = 0;
    int result = host_take(net, measured->index, source, &at, &from);
    if (result == 0)
        result = host_take(net, measured->index, source, &at, &to);
    if (result == 0)
        result = amount_take(source, &at, &amount);
    if (result == 0)
        result = line_end(source, at);
    if (result < 0 || from == to)
        return result;
    measured->traffic->matrix[(size_t)to * net->switch_count + net->target_switch[from]] +=
        (float)amount;
    measured->sent[from] += amount;
    measured->received[to] += amount;
    return 0;
}

static int counters_line(struct measured *measured, struct lines *source)
{
    const char *at = source->line;
    uint32_t host = 0;
    double sent = 0, received = 0;
    int result = host_take(measured->traffic->net, measured->index, source, &at, &host);
    if (result == 0)
        result = amount_take(source, &at, &sent);
    if (result == 0)
        result = amount_take(source, &at, &received);
    if (result == 0)
        result = line_end(source, at);
    if (result == 0) {
        measured->sent[host] = sent;
        measured->received[host] = received;
    }
    return result;
}

static double busiest(const struct measured *measured)
{
    double most = 0;
    for (uint32_t t = 0; t < measured->traffic->net->host_count; t++)
        most = fmax(most, fmax(measured->sent[t], measured->received[t]));
    return most;
}

static int all_read(struct measured *measured, struct lines *source,
                    int (*line)(struct measured *, struct lines *))
{
    int more, result = 0;
    while (result == 0 && (more = lines_next(source)) != 0) {
        const char *at = source->line;
        source_blanks_skip(&at);
        if (more < 0)
            result = more;
        else if (*at != '\0' && *at != '#')
            result = line(measured, source);
    }
    if (result == 0 && busiest(measured) <= 0)
        result = error_fail(-EINVAL, "%s: no traffic in the file", source->place.path);
    return result;
}

static int measured_open(struct measured *measured, const struct net *net)
{
    *measured = (struct measured){.index = targets_index(net),
                                  .sent = calloc(net->host_count, sizeof(double)),
                                  .received = calloc(net->host_count, sizeof(double))};
    int result = traffic_uniform(&measured->traffic, net);
    if (result == 0 && (!measured->index || !measured->sent || !measured->received))
        result = error_fail(-ENOMEM, "no memory for %u hosts", net->host_count);
    return result;
}

static int measured_close(struct measured *measured, int result, struct traffic **out)
{
    free(measured->index);
    free(measured->sent);
    free(measured->received);
    if (result < 0)
        traffic_destroy(measured->traffic);
    else
        *out = measured->traffic;
    return result;
}

int traffic_matrix_parse(struct traffic **out, const struct net *net, struct lines *source)
{
    struct measured measured;
    size_t size = (size_t)net->host_count * net->switch_count;
    int result = measured_open(&measured, net);
    if (result == 0) {
        measured.traffic->matrix = calloc(size, sizeof(float));
        if (!measured.traffic->matrix)
            result = error_fail(-ENOMEM, "no memory for a matrix of %zu", size);
    }
    if (result == 0)
        result = all_read(&measured, source, matrix_line);
    double most = result == 0 ? busiest(&measured) : 1;
    for (size_t i = 0; result == 0 && i < size; i++)
        measured.traffic->matrix[i] = (float)(measured.traffic->matrix[i] / most);
    return measured_close(&measured, result, out);
}

int traffic_counters_parse(struct traffic **out, const struct net *net, struct lines *source)
{
    struct measured measured;
    int result = measured_open(&measured, net);
    if (result == 0) {
        measured.traffic->out_share = calloc(net->switch_count, sizeof(double));
        measured.traffic->in_share = calloc(net->host_count, sizeof(double));
        if (!measured.traffic->out_share || !measured.traffic->in_share)
            result = error_fail(-ENOMEM, "no memory for %u hosts", net->host_count);
    }
    if (result == 0)
        result = all_read(&measured, source, counters_line);
    double most = result == 0 ? busiest(&measured) : 1, received = 0;
    for (uint32_t t = 0; result == 0 && t < net->host_count; t++)
        received += measured.received[t];
    for (uint32_t t = 0; result == 0 && t < net->host_count; t++) {
        measured.traffic->out_share[net->target_switch[t]] += measured.sent[t] / most;
        measured.traffic->in_share[t] = received > 0 ? measured.received[t] / received : 0;
    }
    return measured_close(&measured, result, out);
}
