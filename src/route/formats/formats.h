/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that fabrics live in; those of tables are in dump.h. Readers take anything and either build
 * a whole fabric or return an error that names file, line and reason; writers print what the
 * readers, ibsim and OpenSM understand.
 */
#pragma once

#include "route/fabric/fabric.h"
#include "route/formats/source.h"

/* Finds out which of the four formats it is. *lids_given (may be NULL): LIDs had to be assigned. */
int formats_fabric_read(struct fabric **fabric, const char *path, bool *lids_given);
int formats_fabric_parse(struct fabric **fabric, struct lines *source);

/* Each fills an empty fabric. */
int formats_ibnet_parse(struct fabric *fabric, struct lines *source); /* ibnetdiscover, ibsim */
int formats_lst_parse(struct fabric *fabric, struct lines *source);   /* OpenSM's subnet list */
int formats_topo_parse(struct fabric *fabric, struct lines *source);  /* ibdm topology */
int formats_edges_parse(struct fabric *fabric, struct lines *source); /* plain edge list */

/* A comment that our own files carry: the part of a name before the first dot is its group. */
#define FORMATS_GROUPS_HINT "# rhinet: names begin with their group and a dot"

int formats_ibnet_write(const struct fabric *fabric, FILE *out);
int formats_edges_write(const struct fabric *fabric, FILE *out);
/* OpenSM's guid2lid file, so that it gives the same LIDs. */
int formats_guid2lid_write(const struct fabric *fabric, FILE *out);
