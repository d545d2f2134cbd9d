/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache run`: the options of `rhinet run` and those of the cache, which become settings for
 * the ranks; each rank is `rhinet cache node`, which keeps a node's cache and runs the program.
 */
#include "cli/run/run.h"
#include "base/settings.h"
#include "cache/agent/keeper.h"
#include "cache/cache_layer.h"
#include "cli/cache/cache.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <limits.h>
#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set(unsigned which, const char *value)
{
    return run_variable_set(setting_spec(which)->name, value);
}

/* Several --path add up. */
static int take_path(char *path)
{
    const char *name = setting_spec(SETTING_CACHE_PATH)->name;
    char resolved[PATH_MAX], list[PATH_MAX * 2];
    static int path_count;
    if (!realpath(path, resolved))
        return cli_usage_error("--path %s: there is no such folder", path);
    const char *before = path_count++ > 0 ? getenv(name) : NULL;
    snprintf(list, sizeof(list), "%s%s%s", before ? before : "", before ? ":" : "", resolved);
    return set(SETTING_CACHE_PATH, list);
}

static int set_size(unsigned which, uint64_t bytes)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, bytes);
    return bytes > 0 ? set(which, text) : 0;
}

/* Checked here, as a mistake of usage, and not by the first rank. */
static int take_groups(char *text)
{
    struct settings settings;
    char entry[128], *const environment[] = {entry, NULL};
    snprintf(entry, sizeof(entry), "%s=%s", setting_spec(SETTING_CACHE_GROUPS)->name, text);
    if (settings_load(&settings, environment) < 0)
        return cli_usage_error("--groups: %s", rh_error_text());
    return set(SETTING_CACHE_GROUPS, text);
}

static int take_singlets(char *text)
{
    return set(SETTING_CACHE_SINGLETS, text);
}

static uint64_t cache_bytes, block_bytes; /* 0: as the setting says */
static bool wants_checksum;
static const struct cli_option options[] = {
    CLI_SIZE("cache", "SIZE", &cache_bytes, "memory for it on each node", .least = 1),
    CLI_CALL("path", "FOLDER", take_path, "what to cache; several are possible",
             .takes_file = true),
    CLI_SIZE("block", "SIZE", &block_bytes, "length of a block, 1M unless given", .least = 1),
    CLI_CALL("groups", "N", take_groups, "groups of nodes"),
    CLI_CALL("singlets", "PART", take_singlets,
             "kept for blocks that no other node has: 0 to 0.99, or auto"),
    CLI_FLAG("checksum", &wants_checksum, "check blocks that come from other nodes"),
    CLI_OPTIONS_END,
};

int cache_own_path(char *path, size_t room)
{
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    if (length <= 0)
        return -1;
    path[length] = '\0';
    return 0;
}

/* rhinet cache node -- PROGRAM ARGUMENT... */
static char **wrap(char **argv, const char *remote_rhinet)
{
    static char own[PATH_MAX], cache[] = "cache", node[] = "node", end[] = "--";
    size_t count = 0;
    while (argv[count])
        count++;
    char **wrapped = calloc(count + 5, sizeof(*wrapped));
    if (!wrapped || cache_own_path(own, sizeof(own)) < 0) {
        free(wrapped);
        return NULL;
    }
    if (remote_rhinet)
        snprintf(own, sizeof(own), "%s", remote_rhinet);
    wrapped[0] = own;
    wrapped[1] = cache;
    wrapped[2] = node;
    wrapped[3] = end; /* of options: the program may look like one */
    memcpy(wrapped + 4, argv, (count + 1) * sizeof(*argv));
    return wrapped;
}

static int run(int count, char **words)
{
    static const struct run_kind kind = {.bind = LAUNCH_BIND_NONE, /* any program, with threads */
                                         .wrap = wrap};
    int status = set_size(SETTING_CACHE_SIZE, cache_bytes);
    if (status == 0)
        status = set_size(SETTING_CACHE_BLOCK, block_bytes);
    if (status == 0 && wants_checksum)
        status = set(SETTING_CACHE_CHECKSUM, "on");
    return status != 0 ? status : run_job(&kind, words);
}

const struct cli_command cli_cache_run = {
    .name = "run",
    .help = "run a program on each node, with one cache for all",
    .operands = "PROGRAM [ARGUMENT...]",
    .options = options,
    .shared = run_options,
    .takes_files = true,
    .stops = true,
    .run = run};

const char *cache_find_beside(const char *const *places, size_t count, char *path, size_t room)
{
    char own[PATH_MAX];
    if (cache_own_path(own, sizeof(own)) < 0)
        return NULL;
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < count; i++) {
        snprintf(path, room, "%s%s", own, places[i]);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

/* Named by the setting, beside this program in its build folder, or where it is installed. */
const char *cache_find_preload(const struct settings *settings, char *path, size_t room)
{
    static const char *const places[] = {"/src/cache/interposer/librhinet_cache.so",
                                         "/../" RHINET_LIBDIR "/rhinet/librhinet_cache.so"};
    const char *named = setting_text(settings, SETTING_CACHE_PRELOAD);
    return named[0] ? named : cache_find_beside(places, 2, path, room);
}

static int node(int count, char **words)
{
    struct settings settings;
    char path[PATH_MAX + 64];
    if (settings_load(&settings, environ) < 0)
        return cli_fail();
    return keeper_run(words, cache_find_preload(&settings, path, sizeof(path)), &settings);
}

const struct cli_command cli_cache_node = {
    .name = "node",
    .help = "keep a node's cache; `rhinet cache run` calls it",
    .operands = "PROGRAM [ARGUMENT...]",
    .stops = true,
    .is_hidden = true,
    .run = node};
