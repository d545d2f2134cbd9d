/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sheet: a memfd that the command makes and the ranks inherit. Not our own remote memory, so
 * that what conducts a measurement is no part of what is measured.
 */
#include "experiment/machine/bench.h"

#include <sys/mman.h>
#include <unistd.h>

struct bench_sheet *bench_sheet_map(int fd)
{
    void *address = mmap(NULL, sizeof(struct bench_sheet), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                         0);
    return address == MAP_FAILED ? NULL : address;
}

struct bench_sheet *bench_sheet_create(int *fd)
{
    int made = memfd_create("rhinet-bench", 0); /* outlives exec: the ranks get it that way */
    if (made < 0)
        return NULL;
    struct bench_sheet *sheet = NULL;
    if (ftruncate(made, sizeof(struct bench_sheet)) == 0)
        sheet = bench_sheet_map(made);
    if (!sheet) {
        close(made);
        return NULL;
    }
    *fd = made;
    return sheet;
}
