/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet cache mount`: shows a folder a second time, with reads through the cache, for programs
 * that the preloaded library cannot reach. The work is done by a program of its own.
 */
#include "cli/cache/cache.h"
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int start_helper(bool is_read_only, int argc, char **argv)
{
    static const char *const places[] = {"/src/cache/mount/rhinet-cache-mount",
                                         "/rhinet-cache-mount"};
    char helper[PATH_MAX + 64], read_only[2] = {is_read_only ? '1' : '0', '\0'};
    if (!cache_find_beside(places, 2, helper, sizeof(helper))) {
        fprintf(stderr, "rhinet cache: mount needs rhinet-cache-mount, which is not beside this "
                        "program; build rhinet where libfuse3-dev is installed\n");
        return 1;
    }
    char **words = calloc((size_t)argc + 3, sizeof(*words));
    if (!words)
        return 1;
    words[0] = helper;
    words[1] = read_only;
    memcpy(words + 2, argv, (size_t)argc * sizeof(*words));
    /* Reads go to the cache by FUSE; the library would only get in between. */
    unsetenv("LD_PRELOAD");
    execv(helper, words);
    fprintf(stderr, "rhinet cache: cannot start %s: %s\n", helper, strerror(errno));
    free(words);
    return 1;
}

int cli_cache_mount(int argc, char **argv)
{
    static const struct option options[] = {{"read-only", no_argument, NULL, 'r'}, {0}};
    bool is_read_only = false;
    for (int option; (option = getopt_long(argc, argv, "+r", options, NULL)) != -1;) {
        if (option != 'r')
            return cli_usage_error("mount: that option is unknown");
        is_read_only = true;
    }
    argc -= optind;
    argv += optind;
    if (argc < 2)
        return cli_usage_error("mount: which folder, and where to show it?");
    if (argc > 2 && strcmp(argv[2], "--") == 0) {
        memmove(argv + 2, argv + 3, (size_t)(argc - 2) * sizeof(*argv));
        argc--;
    }
    return start_helper(is_read_only, argc, argv);
}
