/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that fabrics and tables live in. Readers take anything and either build a whole fabric or
 * return an error that names file, line and reason; writers print what the readers, ibsim and
 * OpenSM understand.
 */
#ifndef ROUTE_FORMATS_FORMATS_H
#define ROUTE_FORMATS_FORMATS_H

#include "route/fabric/fabric.h"
#include "route/formats/source.h"
#include "route/tables/lft.h"
#include "route/tables/load.h"
#include "route/tables/memo.h"

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

/* Forwarding tables as dump_fts and OpenSM print them: "lid port" under each switch's GUID.
 * *fingerprint (may be NULL) is what reading it will find. */
int formats_lft_write(const struct lft *lft, FILE *out, uint64_t *fingerprint);

/* What is known of a table. -ENOENT: the net has a cable whose rank the file does not know. */
int formats_memo_write(const struct memo *memo, FILE *out);
int formats_memo_parse(struct memo **memo, const struct net *net, struct source *source);

/* Tables of others, as they are: ports by switch and LID. */
struct lft_dump {
    uint32_t lid_count;    /* largest LID + 1 */
    uint32_t switch_count; /* switches of the fabric, in node order */
    uint8_t *port;         /* [switch * lid_count + lid], 255: no entry */
    uint64_t fingerprint;  /* of the file that it was read from, all switches in it */
    uint32_t
        lids_beyond; /* entries of the first switch for LIDs that no port of the fabric has, and
                              that are not kept; lid_beyond is the lowest */
    uint32_t lid_beyond;
};

/* A fingerprint is the sum over switches of what their entries, in the order of the file, make of
 * the GUID. It tells tables apart; it is no protection against malice. */
static inline uint64_t formats_fingerprint_add(uint64_t print, uint32_t lid, uint32_t port)
{
    return (print ^ ((uint64_t)lid << 8 | port)) * 0x9e3779b97f4a7c15ull;
}

int formats_dump_write(const struct lft_dump *dump, const struct fabric *fabric, FILE *out,
                       uint64_t *fingerprint);
int formats_lft_read(struct lft_dump *dump, const struct fabric *fabric, const char *path);
int formats_lft_parse(struct lft_dump *dump, const struct fabric *fabric, struct source *source);
void formats_lft_free(struct lft_dump *dump);

/* Turns a dump into a table of the net. Entries that lead nowhere become LFT_NONE. */
int formats_lft_import(struct lft **lft, const struct net *net, const struct lft_dump *dump);
/* The other way round, as if the table had been written and read again. */
int formats_lft_export(struct lft_dump *dump, const struct lft *lft);

#endif
