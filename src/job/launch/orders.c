/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See orders.h. One line of text, "rhinet-orders VERSION MESH-VERSION LENGTH", which every version
 * understands, then that many bytes: "key=value" texts, each with its NUL.
 */
#include "job/launch/orders.h"

#include "base/error.h"
#include "base/text.h"
#include "job/launch/launch.h"
#include "job/mesh/mesh.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH_MAX (64u << 20)
#define HEAD_MAX   120

/* ---- Writing -------------------------------------------------------------------------------- */

static void add(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    fputc('\0', out);
}

static void add_map(FILE *out, const struct job_map *map, int seat)
{
    char secret[2 * sizeof(map->secret) + 1];
    sodium_bin2hex(secret, sizeof(secret), map->secret, sizeof(map->secret));
    add(out, "size=%d", map->size);
    add(out, "nodes=%d", map->node_count);
    add(out, "coordinator_node=%d", map->coordinator_node + 1); /* numbers here have no sign */
    add(out, "seat=%d", seat);
    add(out, "job=%" PRIu64, map->job_id);
    add(out, "secret=%s", secret);
    explicit_bzero(secret, sizeof(secret));
    add(out, "coordinator_host=%s", map->coordinator_host);
    for (int node = 0; node < map->node_count; node++)
        add(out, "host=%s", map->host[node]);
    for (int rank = 0; rank < map->size; rank++)
        add(out, "at=%d", map->node_of[rank]);
}

static void add_rest(FILE *out, const struct orders *orders)
{
    char coordinator[ADDRESSES_MAX * ADDRESS_TEXT + 16];
    address_list_print(&orders->coordinator, coordinator, sizeof(coordinator));
    add(out, "coordinator=%s", coordinator);
    add(out, "survive=%d", orders->survive);
    add(out, "label=%d", orders->label);
    add(out, "bind=%d", orders->bind);
    add(out, "nic=%s", orders->nic);
    add(out, "folder=%s", orders->folder);
    for (char **word = orders->argv; *word; word++)
        add(out, "word=%s", *word);
    for (char **variable = orders->variables; *variable; variable++)
        add(out, "variable=%s", *variable);
}

int orders_write(const struct orders *orders, int seat, char **bytes, size_t *length)
{
    char *body = NULL, *made = NULL;
    size_t body_length = 0;
    FILE *out = open_memstream(&body, &body_length);
    if (!out)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for the orders of a host");
    add_map(out, &orders->map, seat);
    add_rest(out, orders);
    if (fclose(out) == 0)
        made = malloc(HEAD_MAX + body_length);
    if (!made) {
        free(body);
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for the orders of a host");
    }
    int head = snprintf(made, HEAD_MAX, "rhinet-orders %s %u %zu\n", RHINET_VERSION, MESH_VERSION,
                        body_length);
    memcpy(made + head, body, body_length);
    explicit_bzero(body, body_length);
    free(body);
    *bytes = made;
    *length = (size_t)head + body_length;
    return 0;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static bool read_all(int fd, char *data, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t got = read(fd, data + done, length - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Byte by byte: what stands behind the orders is not ours. */
static int read_head(int fd, size_t *length)
{
    char head[HEAD_MAX] = "";
    char version[HEAD_MAX];
    unsigned mesh_version;
    for (size_t used = 0; used + 1 < sizeof(head); used++) {
        if (!read_all(fd, &head[used], 1) || head[used] == '\n') {
            head[used] = '\0';
            break;
        }
    }
    if (sscanf(head, "rhinet-orders %119s %u %zu", version, &mesh_version, length) != 3)
        return error_set(RH_EREFUSED, ERROR_NO_RANK,
                         "there are no orders on standard input; `rhinet run --hosts` starts this "
                         "program, you need not");
    if (strcmp(version, RHINET_VERSION) != 0 || mesh_version != MESH_VERSION)
        return error_set(
            RH_EREFUSED, ERROR_NO_RANK,
            "the launcher is rhinet %s (mesh version %u), this one is %s (%u); install "
            "the same version on all hosts, or say where it is with --remote-rhinet",
            version, mesh_version, RHINET_VERSION, MESH_VERSION);
    if (*length == 0 || *length > LENGTH_MAX)
        return error_set(RH_ECORRUPT, ERROR_NO_RANK, "orders of %zu bytes make no sense", *length);
    return 0;
}

static int nonsense(const char *what)
{
    return error_set(RH_ECORRUPT, ERROR_NO_RANK, "the orders make no sense (%s)", what);
}

/* The text after "key=", if that is what entry begins with. */
static const char *value_of(const char *entry, const char *key)
{
    size_t length = strlen(key);
    return strncmp(entry, key, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

struct entries {
    const char *at, *end;
};

static const char *next_entry(struct entries *entries)
{
    const char *entry = entries->at;
    if (entry >= entries->end)
        return NULL;
    entries->at += strlen(entry) + 1; /* the body ends with a NUL: see orders_read() */
    return entry;
}

static const char *find(struct entries entries, const char *key)
{
    const char *entry;
    while ((entry = next_entry(&entries))) {
        const char *value = value_of(entry, key);
        if (value)
            return value;
    }
    return NULL;
}

static bool find_number(struct entries entries, const char *key, uint64_t most, int *number)
{
    uint64_t value;
    const char *text = find(entries, key);
    if (!text || !text_to_u64(text, &value) || value > most)
        return false;
    *number = (int)value;
    return true;
}

/* All values of a key, ended by NULL. */
static char **find_all(struct entries entries, const char *key)
{
    struct entries again = entries;
    size_t count = 0;
    const char *entry;
    while ((entry = next_entry(&again)))
        count += value_of(entry, key) != NULL;
    char **list = calloc(count + 1, sizeof(list[0]));
    count = 0;
    while (list && (entry = next_entry(&entries))) {
        if (value_of(entry, key))
            list[count++] = (char *)value_of(entry, key);
    }
    return list;
}

static bool read_places(struct job_map *map, struct entries entries)
{
    int node = 0, rank = 0;
    const char *entry;
    while ((entry = next_entry(&entries))) {
        const char *host = value_of(entry, "host");
        const char *place = value_of(entry, "at");
        uint64_t number = 0;
        if (host && node < map->node_count)
            snprintf(map->host[node++], sizeof(map->host[0]), "%s", host);
        if (!place || rank >= map->size)
            continue;
        if (!text_to_u64(place, &number) || number >= (uint64_t)map->node_count)
            return false;
        map->node_of[rank++] = (int)number;
    }
    return node == map->node_count && rank == map->size;
}

static int read_map(struct job_map *map, struct entries entries)
{
    int size, node_count, coordinator, seat;
    uint64_t job_id;
    const char *job = find(entries, "job");
    const char *secret = find(entries, "secret");
    if (!find_number(entries, "size", INT32_MAX, &size) ||
        !find_number(entries, "nodes", JOB_NODES_MAX, &node_count) ||
        !find_number(entries, "coordinator_node", (uint64_t)node_count, &coordinator) ||
        !find_number(entries, "seat", (uint64_t)node_count, &seat) || !job ||
        !text_to_u64(job, &job_id) || !secret || strlen(secret) != 2 * sizeof(map->secret))
        return nonsense("the job");
    int result = job_map_open(map, size, node_count);
    if (result < 0)
        return result;
    map->coordinator_node = coordinator - 1;
    map->seat = seat;
    map->job_id = job_id;
    const char *coordinator_host = find(entries, "coordinator_host");
    snprintf(map->coordinator_host, sizeof(map->coordinator_host), "%s",
             coordinator_host ? coordinator_host : "?");
    if (sodium_hex2bin(map->secret, sizeof(map->secret), secret, strlen(secret), NULL, NULL,
                       NULL) != 0 ||
        seat < 1 || seat >= job_map_seat_count(map) || !read_places(map, entries))
        return nonsense("the hosts");
    return 0;
}

static int read_body(struct orders *orders, struct entries entries)
{
    int survive, label, bind;
    int result = read_map(&orders->map, entries);
    if (result < 0)
        return result;
    const char *coordinator = find(entries, "coordinator");
    orders->folder = find(entries, "folder");
    orders->nic = find(entries, "nic");
    if (!coordinator || !address_list_parse(&orders->coordinator, coordinator) || !orders->folder ||
        !orders->nic || !find_number(entries, "survive", 1, &survive) ||
        !find_number(entries, "label", 1, &label) ||
        !find_number(entries, "bind", LAUNCH_BIND_COUNT - 1, &bind))
        return nonsense("what to do");
    orders->survive = survive;
    orders->label = label;
    orders->bind = bind;
    orders->argv = find_all(entries, "word");
    orders->variables = find_all(entries, "variable");
    if (!orders->argv || !orders->variables)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for the orders");
    return orders->argv[0] ? 0 : nonsense("no program");
}

int orders_read(struct orders *orders, int fd)
{
    size_t length = 0;
    *orders = (struct orders){0};
    int result = read_head(fd, &length);
    if (result < 0)
        return result;
    orders->body = malloc(length);
    if (!orders->body)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for the orders");
    if (!read_all(fd, orders->body, length) || orders->body[length - 1] != '\0')
        result = nonsense("cut off");
    else
        result = read_body(orders, (struct entries){orders->body, orders->body + length});
    if (result < 0)
        orders_free(orders);
    return result;
}

void orders_free(struct orders *orders)
{
    job_map_close(&orders->map);
    free(orders->argv);
    free(orders->variables);
    free(orders->body);
    *orders = (struct orders){0};
}
