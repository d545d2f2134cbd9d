/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forwarding tables as switches hold them, and as files list them, anybody's: ports by switch and
 * LID. tables/lft.h has them as the algorithms work on them.
 */
#pragma once

#include "route/fabric/fabric.h"
#include "route/formats/source.h"

struct lft_dump {
    uint32_t lid_count;    /* largest LID + 1 */
    uint32_t switch_count; /* switches of the fabric, in node order */
    uint8_t *port;         /* [switch * lid_count + lid], 255: no entry */
    uint64_t fingerprint;  /* of the file that it was read from, all switches in it */
    uint32_t lids_beyond;  /* entries of the first switch for LIDs that no port of the fabric has,
                              and that are not kept; */
    uint32_t lid_beyond;   /* the lowest of them */
};

/* "lid port" under each switch's GUID, as dump_fts and OpenSM print them. *fingerprint (may be
 * NULL) is what reading it will find. */
int lft_dump_write(const struct lft_dump *dump, const struct fabric *fabric, FILE *out,
                   uint64_t *fingerprint);
int lft_dump_read(struct lft_dump *dump, const struct fabric *fabric, const char *path);
int lft_dump_parse(struct lft_dump *dump, const struct fabric *fabric, struct lines *source);
void lft_dump_free(struct lft_dump *dump);

/* A fingerprint is the sum over switches of what their entries, in the order of the file, make of
 * the GUID. It tells tables apart; it is no protection against malice. */
static inline uint64_t lft_dump_fingerprint_add(uint64_t print, uint32_t lid, uint32_t port)
{
    return (print ^ ((uint64_t)lid << 8 | port)) * 0x9e3779b97f4a7c15ull;
}
