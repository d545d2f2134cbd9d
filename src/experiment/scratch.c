/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See scratch.h.
 */
#include "experiment/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDERS_OPEN 8

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    remove(path);
    return 0;
}

static bool clean(const void *context)
{
    const struct scratch *scratch = context;
    nftw(scratch->folder, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    return access(scratch->folder, F_OK) != 0;
}

int scratch_open(struct scratch *scratch, const char *top)
{
    const char *temporary = getenv("TMPDIR");
    *scratch = (struct scratch){.sweeper = SWEEPER_NONE};
    if (!top)
        top = temporary && temporary[0] ? temporary : "/tmp";
    char *real = realpath(top, NULL); /* the sweeper has another working directory */
    int length = snprintf(scratch->folder, sizeof(scratch->folder), "%s/rhinet-bench-XXXXXX",
                          real ? real : "");
    int result = !real ? errno : length >= (int)sizeof(scratch->folder) ? ENAMETOOLONG : 0;
    free(real);
    if (result == 0 && !mkdtemp(scratch->folder))
        result = errno;
    if (result == 0 && !sweeper_start(&scratch->sweeper, clean, scratch)) {
        result = errno;
        rmdir(scratch->folder);
    }
    if (result != 0)
        scratch->folder[0] = '\0';
    return result;
}

void scratch_close(struct scratch *scratch)
{
    if (!scratch->folder[0])
        return;
    sweeper_end(&scratch->sweeper);
    scratch->folder[0] = '\0';
}
