/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See this_host.h.
 */
#include "job/this_host.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t namespace_number(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_ino : 0;
}

void this_host_text(char text[THIS_HOST_TEXT])
{
    char boot[64] = "?";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file && !fgets(boot, sizeof(boot), file))
        boot[0] = '\0';
    if (file)
        fclose(file);
    boot[strcspn(boot, "\n")] = '\0';
    snprintf(text, THIS_HOST_TEXT, "%s.%" PRIx64 ".%" PRIx64, boot,
             namespace_number("/proc/self/ns/net"), namespace_number("/proc/self/ns/pid"));
}
