/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of a table when it has been made, kept in a file beside it, so that mending need
 * not learn it from the table again: the ranks that its turns follow, the turns it uses, and the
 * load of its channels. Everything works without it, only slower.
 */
#pragma once

#include "base/arena.h"
#include "route/tables/load.h"
#include "route/turns/turns.h"

#define MEMO_TRAFFIC_MAX 256

/* A cable that is not there at present keeps its rank for the time when it comes back. */
struct memo_gone {
    uint64_t guid;
    int64_t rank;
    uint32_t port;
};

struct memo {
    struct arena memory; /* of the arrays */
    const struct net *net;
    uint64_t table;                 /* the table's fingerprint, see struct lft_dump */
    char traffic[MEMO_TRAFFIC_MAX]; /* the model that the loads are by, in words */
    int64_t *rank;                  /* channel; 0: not known */
    struct turns *used;
    uint32_t class_count;
    float *load[TRAFFIC_CLASSES]; /* channel */
    struct memo_gone *gone;
    size_t gone_count, gone_room;
};

/* What there is to know of a table. Its turns must have ranks. */
int memo_of_table(struct memo **memo, const struct lft *table, const struct turns *turns,
                  const struct load *load);
int memo_create(struct memo **memo, const struct net *net); /* nothing known yet */
void memo_destroy(struct memo *memo);

/* Remembers the rank of a cable that is gone. */
int memo_gone_add(struct memo *memo, struct memo_gone gone);

/* The file (memo_file.c). -ENOENT: the net has a cable whose rank the file does not know. */
int memo_write(const struct memo *memo, FILE *out);
int memo_parse(struct memo **memo, const struct net *net, struct lines *source);

/* The turns that a table uses, and their reverses; turns has none before. */
int memo_turns_collect(struct turns *turns, const struct lft *table);
