/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache run`: the options of `rhinet run` and those of the cache, which become settings for
 * the ranks; each rank is `rhinet cache node`, which keeps a node's cache and runs the program.
 */
#include "cli/run/run.h"
#include "base/memory_room.h"
#include "base/settings.h"
#include "base/text.h"
#include "cache/keeper.h"
#include "cli/cache/cache.h"
#include "cli/cli.h"

#include <limits.h>
#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Option and the setting that it is. */
enum option_value {
    OPTION_CACHE = RUN_OPTION_EXTRA,
    OPTION_PATH,
    OPTION_BLOCK,
    OPTION_GROUPS,
    OPTION_SINGLETS,
    OPTION_CHECKSUM
};

static const struct option options_known[] = {
    {"cache", required_argument, NULL, OPTION_CACHE},
    {"path", required_argument, NULL, OPTION_PATH},
    {"block", required_argument, NULL, OPTION_BLOCK},
    {"groups", required_argument, NULL, OPTION_GROUPS},
    {"singlets", required_argument, NULL, OPTION_SINGLETS},
    {"checksum", no_argument, NULL, OPTION_CHECKSUM},
};

static int set(enum setting which, const char *value)
{
    return setenv(setting_spec(which)->name, value, 1) == 0 ? 0 : 1;
}

/* Several --path add up. */
static int add_path(const char *path)
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

static int set_size(enum setting which, const char *option, const char *text)
{
    uint64_t bytes;
    if (!text_to_size(text, &bytes))
        return cli_usage_error("%s %s: a size such as 8G is expected", option, text);
    return set(which, text);
}

static int set_option(int option, char *value)
{
    switch (option) {
    case OPTION_CACHE:
        return set_size(SETTING_CACHE_SIZE, "--cache", value);
    case OPTION_BLOCK:
        return set_size(SETTING_CACHE_BLOCK, "--block", value);
    case OPTION_PATH:
        return add_path(value);
    case OPTION_GROUPS:
        return set(SETTING_CACHE_GROUPS, value);
    case OPTION_SINGLETS:
        return set(SETTING_CACHE_SINGLETS, value);
    default:
        return set(SETTING_CACHE_CHECKSUM, "on");
    }
}

int cache_own_path(char *path, size_t room)
{
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    if (length <= 0)
        return -1;
    path[length] = '\0';
    return 0;
}

/* rhinet cache node PROGRAM ARGUMENT... */
static char **wrap(char **argv, const char *remote_rhinet)
{
    static char own[PATH_MAX], cache[] = "cache", node[] = "node";
    size_t count = 0;
    while (argv[count])
        count++;
    char **wrapped = calloc(count + 4, sizeof(*wrapped));
    if (!wrapped || cache_own_path(own, sizeof(own)) < 0) {
        free(wrapped);
        return NULL;
    }
    if (remote_rhinet)
        snprintf(own, sizeof(own), "%s", remote_rhinet);
    wrapped[0] = own;
    wrapped[1] = cache;
    wrapped[2] = node;
    memcpy(wrapped + 3, argv, (count + 1) * sizeof(*argv));
    return wrapped;
}

int cli_cache_run(int argc, char **argv)
{
    static const struct run_kind kind = {.name = "cache",
                                         .bind = LAUNCH_BIND_NONE, /* any program, with threads */
                                         .options = options_known,
                                         .option_count = sizeof(options_known) /
                                                         sizeof(options_known[0]),
                                         .set_option = set_option,
                                         .wrap = wrap};
    return run_command(&kind, argc, argv);
}

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
                                         "/../lib/librhinet_cache.so",
                                         "/../lib/x86_64-linux-gnu/librhinet_cache.so"};
    const char *named = setting_text(settings, SETTING_CACHE_PRELOAD);
    return named[0] ? named : cache_find_beside(places, 3, path, room);
}

int cli_cache_node(int argc, char **argv)
{
    struct settings settings;
    char path[PATH_MAX + 64];
    if (argc < 2)
        return cli_usage_error("node: which program?");
    if (settings_load(&settings, environ) < 0) {
        fprintf(stderr, "rhinet cache: %s\n", rh_error_text());
        return 1;
    }
    return keeper_run(argv + 1, cache_find_preload(&settings, path, sizeof(path)), &settings);
}
