/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See orders.h: how orders are written and read, and being the launcher that takes them: `rhinet
 * node`, which the first launcher starts through a remote shell.
 *
 * One line of text, "rhinet-orders VERSION MESH-VERSION LENGTH", which every version
 * understands, then that many bytes: "key=value" texts, each with its NUL.
 */
#include "job/launch/orders.h"

#include "base/error.h"
#include "base/settings.h"
#include "base/text.h"
#include "job/mesh/mesh.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

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

static void add_rest(FILE *out, const struct launch_options *options)
{
    char text[PATH_MAX];
    address_list_print(options->coordinator, text, sizeof(text));
    add(out, "coordinator=%s", text);
    add(out, "master_address=%s", options->master->address);
    add(out, "master_port=%s", options->master->port);
    add(out, "survive=%d", options->survive);
    add(out, "label=%d", options->label);
    add(out, "bind=%d", options->bind);
    add(out, "nic=%s", options->nic);
    add(out, "folder=%s", getcwd(text, sizeof(text)) ? text : "/");
    for (char *const *word = options->argv; *word; word++)
        add(out, "word=%s", *word);
    for (char *const *variable = options->hosts->variables; *variable; variable++)
        add(out, "variable=%s", *variable);
}

int orders_write(const struct launch_options *options, int seat, char **bytes, size_t *length)
{
    char *body = NULL, *made = NULL;
    size_t body_length = 0;
    FILE *out = open_memstream(&body, &body_length);
    if (out) {
        add_map(out, options->map, seat);
        add_rest(out, options);
    }
    if (out && fclose(out) == 0)
        made = malloc(HEAD_MAX + body_length);
    if (!made) {
        free(body);
        return error_no_memory("the orders of a host");
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
        return error_fail(
            RH_EREFUSED,
            "there are no orders on standard input; `rhinet run --hosts` starts this program, you "
            "need not");
    if (strcmp(version, RHINET_VERSION) != 0 || mesh_version != MESH_VERSION)
        return error_fail(
            RH_EREFUSED,
            "the launcher is rhinet %s (mesh version %u), this one is %s (%u); install "
            "the same version on all hosts, or say where it is with --remote-rhinet",
            version, mesh_version, RHINET_VERSION, MESH_VERSION);
    if (*length == 0 || *length > LENGTH_MAX)
        return error_fail(RH_ECORRUPT, "orders of %zu bytes make no sense", *length);
    return 0;
}

static int nonsense(const char *what)
{
    return error_fail(RH_ECORRUPT, "the orders make no sense (%s)", what);
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

/* All values of a key, ended by NULL; NULL if there is no memory. */
static char **find_all(struct arena *memory, struct entries entries, const char *key)
{
    struct entries again = entries;
    size_t count = 0;
    const char *entry;
    while ((entry = next_entry(&again)))
        count += value_of(entry, key) != NULL;
    char **list;
    ARENA_TAKE(memory, list, count + 1);
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

static bool read_master(struct launch_master *master, struct entries entries)
{
    const char *address = find(entries, "master_address"), *port = find(entries, "master_port");
    if (!address || strlen(address) >= sizeof(master->address) || !port ||
        strlen(port) >= sizeof(master->port))
        return false;
    memcpy(master->address, address, strlen(address) + 1);
    memcpy(master->port, port, strlen(port) + 1);
    return true;
}

static int read_body(struct orders *orders, struct entries entries)
{
    struct launch_options *launch = &orders->launch;
    int survive, label, bind;
    int result = read_map(&orders->map, entries);
    if (result < 0)
        return result;
    const char *coordinator = find(entries, "coordinator");
    orders->folder = find(entries, "folder");
    const char *nic = find(entries, "nic");
    if (!coordinator || !address_list_parse(&orders->coordinator, coordinator) || !orders->folder ||
        !read_master(&orders->master, entries) || !nic ||
        !find_number(entries, "survive", 1, &survive) ||
        !find_number(entries, "label", 1, &label) ||
        !find_number(entries, "bind", LAUNCH_BIND_COUNT - 1, &bind))
        return nonsense("what to do");
    *launch = (struct launch_options){
        .size = orders->map.size,
        .nic = nic,
        .timeout_ns = LAUNCH_TIMEOUT_NONE,
        .bind = (enum launch_bind)bind,
        .label = label,
        .survive = survive,
        .argv = find_all(&orders->memory, entries, "word"),
        .map = &orders->map,
        .coordinator = &orders->coordinator,
        .master = &orders->master,
    };
    orders->variables = find_all(&orders->memory, entries, "variable");
    if (orders->memory.is_short)
        return error_no_memory("the orders");
    return launch->argv[0] ? 0 : nonsense("no program");
}

int orders_read(struct orders *orders, int fd)
{
    size_t length = 0;
    char *body;
    *orders = (struct orders){0};
    int result = read_head(fd, &length);
    if (result < 0)
        return result;
    if (!ARENA_TAKE(&orders->memory, body, length))
        result = error_no_memory("the orders");
    else if (!read_all(fd, body, length) || body[length - 1] != '\0')
        result = nonsense("cut off");
    else
        result = read_body(orders, (struct entries){body, body + length});
    if (result < 0)
        orders_free(orders);
    return result;
}

void orders_free(struct orders *orders)
{
    job_map_close(&orders->map);
    arena_free(&orders->memory);
}

/* ---- Obeying -------------------------------------------------------------------------------- */

int launch_node(void)
{
    struct orders orders;
    struct settings settings;
    char name[128] = "";
    int status = LAUNCH_STATUS_FAILED;
    unsetenv("RHINET_MANAGER_FD");
    if (orders_read(&orders, STDIN_FILENO) < 0) {
        gethostname(name, sizeof(name) - 1);
        fprintf(stderr, "rhinet node (host %s): %s\n", name, rh_error_text());
        return status;
    }
    snprintf(name, sizeof(name), "rhinet run (host %s)",
             job_map_host_name(&orders.map, orders.map.seat));
    int error = 0;
    for (char **variable = orders.variables; *variable && error == 0; variable++)
        error = putenv(*variable); /* lies in the orders, which outlive the ranks */
    if (error != 0) {
        fprintf(stderr, "%s: no memory for the variables of the ranks\n", name);
    } else if (chdir(orders.folder) != 0) {
        fprintf(stderr, "%s: cannot work in %s, where `rhinet run` was called: %s\n", name,
                orders.folder, strerror(errno));
    } else if (settings_load(&settings, environ) < 0) {
        fprintf(stderr, "%s: %s\n", name, rh_error_text());
    } else {
        orders.launch.name = name;
        orders.launch.environ = environ;
        orders.launch.settings = &settings;
        status = launch_run(&orders.launch);
    }
    orders_free(&orders);
    return status;
}
