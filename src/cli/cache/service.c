/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache exec`, `env`, `status` and `stop`: using a cache that `rhinet cache start` or
 * `serve` keeps on this host.
 */
#include "base/clock.h"
#include "base/settings.h"
#include "cache/agent/keeper.h"
#include "cache/agent/place.h"
#include "cache/cache_layer.h"
#include "cache/client/named.h"
#include "cli/cache/cache.h"
#include "cli/cache/find.h"
#include "cli/cache/wishes.h"
#include "cli/cli.h"
#include "cli/table.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_NOT_RUNNING 3 /* as init scripts have it */
#define STOP_NS            (30 * NS_PER_S)
#define LOOK_NS            (20 * NS_PER_MS)

static bool wants_json;

static const struct cli_option name_options[] = {CACHE_NAME_OPTION, CLI_OPTIONS_END};
static const struct cli_option status_options[] = {
    CACHE_NAME_OPTION, CLI_FLAG("json", &wants_json, "print JSON instead of text"),
    CLI_OPTIONS_END};

/* A service of this host, and what its agent shows of itself. */
struct service {
    struct place place;
    struct settings settings;
    struct cache_control *control; /* a copy */
};

static int find_place(struct service *service)
{
    if (settings_load(&service->settings, environ) < 0 ||
        place_find(&service->place, &service->settings, cache_wishes.name) < 0 ||
        place_is_served(&service->place) < 0)
        return cli_fail();
    return 0;
}

/* 0, or a negative errno. */
static int look(struct service *service)
{
    int fd;
    int result = cache_service_look(service->place.socket, &fd);
    if (result < 0)
        return result;
    service->control = cache_control_copy(fd);
    close(fd);
    return service->control ? 0 : -EPROTO;
}

static void say_missing(const struct service *service, int error)
{
    const char *name = service->place.name;
    if (error == -EPROTO)
        cli_say("cache %s is another version's than this rhinet; use the same, or stop it with the "
                "one that started it",
                name);
    else
        cli_say("no cache %s runs here (%s); `rhinet cache start` or `serve` starts one", name,
                service->place.socket);
}

/* A service that runs. 0, or an exit status after it has said what is wrong. */
static int find(struct service *service)
{
    int status = find_place(service);
    if (status != 0)
        return status;
    int result = look(service);
    if (result < 0)
        say_missing(service, result);
    return result < 0 ? STATUS_NOT_RUNNING : 0;
}

/* ---- exec and env --------------------------------------------------------------------------- */

/* What programs need to know besides the library. */
struct variables {
    char preload[PATH_MAX + 64];
    const char *library;         /* NULL: there is none */
    char declared[PATH_MAX * 2]; /* folders; empty: none, or no service runs here to be asked */
};

static void find_declared(const struct service *service, struct variables *variables)
{
    struct cache_client *client;
    if (cache_client_attach(&client, service->place.socket) < 0)
        return;
    cache_client_declared(client, variables->declared, sizeof(variables->declared));
    cache_client_detach(client);
}

static int find_variables(struct service *service, struct variables *variables)
{
    find_declared(service, variables);
    variables->library = cache_find_preload(&service->settings, variables->preload,
                                            sizeof(variables->preload));
    if (variables->library)
        return 0;
    cli_say("the library that programs are started with (librhinet_cache.so) is not beside this "
            "program; RHINET_CACHE_PRELOAD says where it is");
    return 1;
}

static int exec(int count, char **words)
{
    static struct service service;
    static struct variables variables;
    int status = find(&service);
    if (status == 0)
        status = find_variables(&service, &variables);
    if (status != 0)
        return status == STATUS_NOT_RUNNING ? 1 : status;
    free(service.control);
    setenv(CACHE_SOCKET_VARIABLE, service.place.variable, 1);
    if (variables.declared[0])
        setenv(setting_spec(SETTING_CACHE_IMMUTABLE)->name, variables.declared, 1);
    keeper_preload(variables.library);
    execvp(words[0], words);
    cli_say("cannot run %s: %s", words[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

/* In single quotes, for a shell. */
static void print_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
    putchar('\'');
}

static int print_environment(int count, char **words)
{
    static struct service service;
    static struct variables variables;
    int status = find_place(&service);
    if (status == 0)
        status = find_variables(&service, &variables);
    if (status != 0)
        return status;
    fputs("export " CACHE_SOCKET_VARIABLE "=", stdout);
    print_quoted(service.place.variable);
    if (variables.declared[0]) {
        printf("\nexport %s=", setting_spec(SETTING_CACHE_IMMUTABLE)->name);
        print_quoted(variables.declared);
    }
    fputs("\nexport LD_PRELOAD=", stdout);
    print_quoted(variables.library);
    fputs("\"${LD_PRELOAD:+:$LD_PRELOAD}\"\n", stdout);
    return 0;
}

/* ---- status --------------------------------------------------------------------------------- */

static void print_json(const struct service *service)
{
    const struct cache_control *control = service->control;
    uint64_t values[CACHE_COUNTER_COUNT];
    json_t *object = json_object();
    cache_counters_sum(control, values);
    json_object_set_new(object, "name", json_string(service->place.name));
    json_object_set_new(object, "socket", json_string(service->place.socket));
    json_object_set_new(object, "node", json_integer(control->rank));
    json_object_set_new(object, "nodes", json_integer(control->size));
    json_object_set_new(object, "nodes_alive", json_integer(control->nodes_alive));
    json_object_set_new(object, "agent_pid", json_integer(control->agent_pid));
    json_object_set_new(object, "cache_bytes",
                        json_integer((json_int_t)cache_data_length(&control->shape)));
    json_object_set_new(object, "used_bytes", json_integer((json_int_t)control->used_bytes));
    json_object_set_new(object, "content_bytes", json_integer((json_int_t)control->content_bytes));
    json_object_set_new(object, "age_s",
                        json_real((double)(clock_now_ns() - control->start_ns) / 1e9));
    for (int i = 0; i < CACHE_COUNTER_COUNT; i++)
        json_object_set_new(object, cache_counter_name((enum cache_counter)i),
                            json_integer((json_int_t)values[i]));
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

static void print_text(const struct service *service)
{
    const struct cache_control *control = service->control;
    uint64_t values[CACHE_COUNTER_COUNT];
    char used[UNIT_TEXT_MAX], all[UNIT_TEXT_MAX], local[UNIT_TEXT_MAX], remote[UNIT_TEXT_MAX],
        loaded[UNIT_TEXT_MAX];
    cache_counters_sum(control, values);
    unit_bytes(used, (double)control->used_bytes);
    unit_bytes(all, (double)cache_data_length(&control->shape));
    printf("cache %s: node %d of %d, %u alive; agent %d, for %.0f s\n", service->place.name,
           control->rank, control->size, control->nodes_alive, control->agent_pid,
           (double)(clock_now_ns() - control->start_ns) / 1e9);
    printf("  memory: %s of %s in use\n", used, all);
    printf("  reads: %s from this node; brought here: %s from others, %s from the file system\n",
           unit_bytes(local, (double)values[CACHE_LOCAL_BYTES]),
           unit_bytes(remote, (double)values[CACHE_REMOTE_BYTES]),
           unit_bytes(loaded, (double)values[CACHE_LOAD_BYTES]));
}

static int show_status(int count, char **words)
{
    static struct service service;
    int status = find_place(&service);
    if (status != 0)
        return status;
    int result = look(&service);
    if (result < 0 && wants_json && result != -EPROTO)
        printf("{\"name\":\"%s\",\"nodes\":0}\n", service.place.name);
    else if (result < 0)
        say_missing(&service, result);
    else if (wants_json)
        print_json(&service);
    else
        print_text(&service);
    free(service.control);
    return result < 0 ? STATUS_NOT_RUNNING : 0;
}

/* ---- stop ----------------------------------------------------------------------------------- */

static bool await_end(const struct place *place)
{
    int64_t deadline_ns = clock_deadline_ns(STOP_NS);
    struct timespec pause = {.tv_nsec = LOOK_NS};
    while (place_is_served(place) > 0) {
        if (clock_now_ns() >= deadline_ns)
            return false;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return true;
}

static int stop(int count, char **words)
{
    static struct service service;
    int status = find_place(&service);
    if (status != 0)
        return status;
    int result = cache_service_stop(service.place.socket);
    if (result == -EPROTO) {
        say_missing(&service, result);
        return 1;
    }
    if (result < 0 && place_is_served(&service.place) == 0) {
        place_clean(&service.place); /* what one that was killed may have left */
        printf("no cache %s runs here\n", service.place.name);
        return 0;
    }
    if (await_end(&service.place))
        return 0;
    cli_say("cache %s does not end: %s", service.place.name,
            result < 0 ? strerror(-result) : "its agent is stuck; see `rhinet cache status`");
    return 1;
}

const struct cli_command cli_cache_exec = {
    .name = "exec",
    .help = "run a program with the cache that runs on this host",
    .operands = "PROGRAM [ARGUMENT...]",
    .options = name_options,
    .takes_files = true,
    .stops = true,
    .run = exec};

const struct cli_command cli_cache_env = {
    .name = "env",
    .help = "print variables, the same on every host, with which programs use the cache there",
    .options = name_options,
    .run = print_environment};

const struct cli_command cli_cache_status = {.name = "status",
                                             .help = "show the cache that runs on this host",
                                             .options = status_options,
                                             .run = show_status};

const struct cli_command cli_cache_stop = {.name = "stop",
                                           .help = "end the cache of this host, on all its hosts",
                                           .options = name_options,
                                           .run = stop};
