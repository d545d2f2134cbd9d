/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Platforms: which machine is simulated, as a text file that people read and write. A line gives
 * one constant of sim/constants.h, with what it is known from:
 *
 *   include rhinet2-le
 *   post_cycles = 45 clk; calibrated on R18; thesis 8.3.2   # why it is not as it was
 *   NAME = VALUE UNIT; CLASS; SOURCE
 *
 * `include` takes all lines of another platform first, by its name or as a file beside this one; a
 * later line changes an earlier one of an included file, not of the same. The unit is the
 * constant's own ("-" where it has none). The class is one of enum platform_class; the source says
 * where the value is from, and may be empty where it is assumed. What begins with '#' is for
 * people.
 *
 * The platforms of the program are such files, in share/platforms, and contained in it.
 *
 *   platform.c  opening one; which nodes have which
 *   read.c      the lines
 *   print.c     a platform as such a file
 */
#pragma once

#include "sim/constants.h"

#include <stdbool.h>
#include <stdio.h>

enum platform_class {
    PLATFORM_KNOWN,      /* a source gives it */
    PLATFORM_CALIBRATED, /* set so that a row of figures comes out */
    PLATFORM_ASSUMED,    /* no source does */
    PLATFORM_WHAT_IF     /* a switch for questions, off in real machines */
};
extern const char *const platform_class_names[]; /* "calibrated on" has a row behind it */

/* What a platform says of one constant, besides its value. */
struct platform_origin {
    bool is_set;
    enum platform_class class;
    char row[32];     /* PLATFORM_CALIBRATED */
    char source[128]; /* may be "" */
    char file[128];   /* where it is said; cut short if it is longer */
    unsigned line;
};

struct platform {
    char title[128]; /* the file's first comment, without '#' */
    struct sim_constants constants;
    struct platform_origin *origins; /* in the order of sim_constant_list */
};

#define PLATFORM_DEFAULT "rhinet2-le"

/* A file that the program contains; the list ends with a name of NULL. */
struct platform_file {
    const char *name, *text;
    size_t length;
};
extern const struct platform_file platform_files[];

/* A platform of the program by its name, or a file. -EINVAL names file, line, and what comes near a
 * wrong name; errors of open(); -ENOMEM. Nothing is to be closed after an error. */
int platform_open(struct platform *platform, const char *name);
/* The same from memory; `name` is for what is said of it, and where `include` looks for files. */
int platform_parse(struct platform *platform, const char *name, const char *text, size_t length);
void platform_close(struct platform *platform);

/* The constants alone. The same errors. */
int platform_constants(struct sim_constants *constants, const char *name);

/* All of it as one file without includes. */
void platform_print(const struct platform *platform, FILE *out);

/* Nodes that are other machines than the rest: "2-5:dimmnet-1", "7:my.platform". */
#define PLATFORM_RANGES_MAX 8
struct platform_range {
    uint32_t first, last; /* nodes */
    struct sim_constants constants;
};
struct platform_ranges {
    struct platform_range range[PLATFORM_RANGES_MAX];
    uint32_t count;
};

/* What an option --platform says: a name or file for all nodes, which sets *constants, or some
 * nodes and a name, which adds a range. -EINVAL and the errors of platform_open(). */
int platform_take(struct sim_constants *constants, struct platform_ranges *ranges,
                  const char *text);

/* The range that a node is in, the last one that names it, or NULL. */
const struct platform_range *platform_range_of(const struct platform_ranges *ranges, uint32_t node);
