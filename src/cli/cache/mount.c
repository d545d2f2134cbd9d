/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache mount`: shows a folder a second time, with reads through the cache, for programs
 * that the preloaded library cannot reach. The work is done by a program of its own.
 */
#include "cli/cache/cache.h"
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int start_helper(bool read_only, int argc, char **argv)
{
    static const char *const places[] = {"/src/cache/mount/rhinet-cache-mount",
                                         "/../" RHINET_LIBEXECDIR "/rhinet/rhinet-cache-mount"};
    char helper[PATH_MAX + 64], flag[2] = {read_only ? '1' : '0', '\0'};
    if (!cache_find_beside(places, 2, helper, sizeof(helper))) {
        cli_say(
            "this needs rhinet-cache-mount, which is not beside this program; build rhinet where "
            "libfuse3-dev is installed");
        return 1;
    }
    char **words = calloc((size_t)argc + 3, sizeof(*words));
    if (!words) {
        cli_say("no memory for the words of a command");
        return 1;
    }
    words[0] = helper;
    words[1] = flag;
    memcpy(words + 2, argv, (size_t)argc * sizeof(*words));
    /* Reads go to the cache by FUSE; the library would only get in between. */
    unsetenv("LD_PRELOAD");
    execv(helper, words);
    cli_say("cannot start %s: %s", helper, strerror(errno));
    free(words);
    return 1;
}

static bool is_read_only;
static const struct cli_option options[] = {
    CLI_FLAG("read-only", &is_read_only, "refuse changes", .letter = 'r'), CLI_OPTIONS_END};

static int mount(int count, char **words)
{
    if (count > 2 && strcmp(words[2], "--") == 0) {
        memmove(words + 2, words + 3, (size_t)(count - 2) * sizeof(*words));
        count--;
    }
    return start_helper(is_read_only, count, words);
}

const struct cli_command cli_cache_mount = {
    .name = "mount",
    .help = "show a folder again, cached, for static programs; then run a program, or serve",
    .operands = "FOLDER PLACE [-- PROGRAM [ARGUMENT...]]",
    .options = options,
    .takes_files = true,
    .stops = true,
    .run = mount};
