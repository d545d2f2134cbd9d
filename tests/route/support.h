/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the routing tests share: from a kind of fabric, or a text, to everything that is made of it.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "route/check/check.h"
#include "route/formats/formats.h"
#include "route/generate/generate.h"
#include "route/routing/routing.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct fixture {
    struct fabric *fabric;
    struct fabric *before; /* as it was made, whatever is cut later */
    struct net *net;
    struct traffic *traffic;
};

/* Each fails the test with the error's text when something goes wrong. */
void fixture_generate(struct fixture *fixture, const char *kind,
                      const struct generate_options *options);
void fixture_parse(struct fixture *fixture, const char *text);
void fixture_close(struct fixture *fixture);
struct routing *fixture_route(const struct fixture *fixture, const char *algorithm);
struct check_report fixture_check(const struct routing *routing);

/* The number of the switch with this name. */
uint32_t fixture_switch(const struct fixture *fixture, const char *name);
/* The first channel from one switch to another. */
uint32_t fixture_channel(const struct fixture *fixture, const char *from, const char *to);

/* Takes a cable between two switches away. */
void fixture_cut(struct fixture *fixture, const char *from, const char *to);
