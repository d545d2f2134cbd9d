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
#include "cli/cache/wishes.h"
#include "cli/cli.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_quiet;
static const struct cli_option options[] = {
    CACHE_WISHES, CLI_FLAG("quiet", &is_quiet, "do not sum up at the end what was read"),
    CLI_OPTIONS_END};
static const struct cli_option node_options[] = {CLI_FLAG("quiet", &is_quiet, "do not sum up"),
                                                 CLI_OPTIONS_END};

int cache_own_path(char *path, size_t room)
{
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    if (length <= 0)
        return -1;
    path[length] = '\0';
    return 0;
}

char **cache_wrap(char *command, char *separator, char **words, const char *remote_rhinet)
{
    static char own[PATH_MAX], cache[] = "cache";
    size_t count = 0, used = 0;
    while (words[count])
        count++;
    char **wrapped = calloc(count + 5, sizeof(*wrapped));
    if (!wrapped || cache_own_path(own, sizeof(own)) < 0) {
        free(wrapped);
        return NULL;
    }
    if (remote_rhinet)
        snprintf(own, sizeof(own), "%s", remote_rhinet);
    wrapped[used++] = own;
    wrapped[used++] = cache;
    wrapped[used++] = command;
    if (separator)
        wrapped[used++] = separator;
    memcpy(wrapped + used, words, (count + 1) * sizeof(*words));
    return wrapped;
}

/* rhinet cache node -- PROGRAM ARGUMENT... */
static char **wrap(char **argv, const char *remote_rhinet)
{
    static char node[] = "node", end[] = "--"; /* of options: the program may look like one */
    static char quiet[] = "--quiet", no_more[] = "--";
    if (!is_quiet)
        return cache_wrap(node, end, argv, remote_rhinet);
    char **wrapped = cache_wrap(quiet, no_more, argv, remote_rhinet);
    char **both = wrapped ? cache_wrap(node, NULL, wrapped + 2, remote_rhinet) : NULL;
    free(wrapped);
    return both;
}

static int run(int count, char **words)
{
    static const struct run_kind kind = {.bind = LAUNCH_BIND_NONE, /* any program, with threads */
                                         .wrap = wrap};
    int status = cache_wishes_set();
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
    struct keeper_totals totals;
    int status = keeper_run(words, cache_find_preload(&settings, path, sizeof(path)), &settings,
                            &totals);
    if (totals.is_known && !is_quiet)
        cache_totals_print(totals.value);
    return status;
}

const struct cli_command cli_cache_node = {
    .name = "node",
    .help = "keep a node's cache; `rhinet cache run` calls it",
    .operands = "PROGRAM [ARGUMENT...]",
    .options = node_options,
    .stops = true,
    .is_hidden = true,
    .run = node};
