/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that fabrics and tables live in. Readers take anything and either build a whole fabric or
 * return an error that names file, line and reason; writers print what the readers, ibsim and
 * OpenSM understand.
 */
#ifndef ROUTE_FORMATS_H
#define ROUTE_FORMATS_H

#include "route/fabric.h"
#include "route/lft.h"
#include "route/load.h"
#include "route/source.h"

/* Finds out which of the four formats it is. *lids_given (may be NULL): LIDs had to be assigned. */
int formats_fabric_read(struct fabric **fabric, const char *path, bool *lids_given);
int formats_fabric_parse(struct fabric **fabric, struct source *source);

/* Each fills an empty fabric. */
int formats_ibnet_parse(struct fabric *fabric, struct source *source); /* ibnetdiscover, ibsim */
int formats_lst_parse(struct fabric *fabric, struct source *source);   /* OpenSM's subnet list */
int formats_topo_parse(struct fabric *fabric, struct source *source);  /* ibdm topology */
int formats_edges_parse(struct fabric *fabric, struct source *source); /* plain edge list */

/* A comment that our own files carry: the part of a name before the first dot is its group. */
#define FORMATS_GROUPS_HINT "# rhinet: names begin with their group and a dot"

int formats_ibnet_write(const struct fabric *fabric, FILE *out);
int formats_edges_write(const struct fabric *fabric, FILE *out);
/* load may be NULL: then no colours. */
int formats_dot_write(const struct net *net, const struct load *load, FILE *out);
/* OpenSM's guid2lid file, so that it gives the same LIDs. */
int formats_guid2lid_write(const struct fabric *fabric, FILE *out);

/* Forwarding tables as dump_fts and OpenSM print them: "lid port" under each switch's GUID. */
int formats_lft_write(const struct lft *lft, FILE *out);

/* The ranks that a table's turns follow; only turns that have ranks. Reading them, rank has room
 * for all channels of the net. -ENOENT: the net has a channel that the file does not know. */
int formats_ranks_write(const struct turns *turns, FILE *out);
int formats_ranks_parse(int64_t *rank, const struct net *net, struct source *source);

/* Tables of others, as they are: ports by switch and LID. */
struct lft_dump {
    uint32_t lid_count;    /* largest LID + 1 */
    uint32_t switch_count; /* switches of the fabric, in node order */
    uint8_t *port;         /* [switch * lid_count + lid], 255: no entry */
};
int formats_lft_read(struct lft_dump *dump, const struct fabric *fabric, const char *path);
int formats_lft_parse(struct lft_dump *dump, const struct fabric *fabric, struct source *source);
void formats_lft_free(struct lft_dump *dump);

/* Turns a dump into a table of the net. Entries that lead nowhere become LFT_NONE. */
int formats_lft_import(struct lft **lft, const struct net *net, const struct lft_dump *dump);
/* The other way round, as if the table had been written and read again. */
int formats_lft_export(struct lft_dump *dump, const struct lft *lft);

#endif
