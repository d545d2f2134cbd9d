/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work in numbered parts, each in a process of its own, as many at once as there are cores: for
 * simulations, of which each is a world without threads. What a part finds goes to the parent as
 * text. The order in which parts end does not show.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct farm {
    const char *what; /* for progress: "sweep" */
    uint32_t part_count;
    uint32_t process_max; /* at once; 0: as many as cores */
    /* In a process of its own: writes what it has found. 0, or an exit status after it has said
     * what is wrong. */
    int (*work)(void *context, uint32_t part, FILE *out);
    /* In the parent, in order of the parts: what was written, ended by byte 0, to be cut up. */
    int (*take)(void *context, uint32_t part, char *text);
    void *context;
};

/* 0, or the first exit status that is not; nothing is left running then. A part that is killed is
 * named. */
int farm_run(const struct farm *farm);
