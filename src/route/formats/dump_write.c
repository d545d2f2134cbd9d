/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes forwarding tables in the form of dump_fts, as OpenSM reads them (opensm -R file -U FILE).
 */
#include "base/error.h"
#include "route/formats/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define ENTRY_MAX 16 /* characters of a line */
#define CHUNK     (1u << 20)

/* "0x0005 007\n". A table may have a hundred million of these: printf would take a minute. */
static char *entry_put(char *at, uint32_t lid, uint32_t port)
{
    static const char digits[] = "0123456789abcdef";
    *at++ = '0';
    *at++ = 'x';
    for (uint32_t shift = lid > 0xffff ? 20 : 12; shift < 24; shift -= 4)
        *at++ = digits[lid >> shift & 15];
    *at++ = ' ';
    *at++ = digits[port / 100];
    *at++ = digits[port / 10 % 10];
    *at++ = digits[port % 10];
    *at++ = '\n';
    return at;
}

/* One switch's entries. */
static uint32_t entries_write(const struct lft_dump *dump, uint32_t at, char *chunk, FILE *out,
                              uint64_t *fingerprint)
{
    const uint8_t *port = dump->port + (size_t)at * dump->lid_count;
    uint32_t count = 0;
    char *end = chunk;
    for (uint32_t lid = 0; lid < dump->lid_count; lid++) {
        if (port[lid] == 255)
            continue;
        end = entry_put(end, lid, port[lid]);
        *fingerprint = lft_dump_fingerprint_add(*fingerprint, lid, port[lid]);
        count++;
        if (end + ENTRY_MAX > chunk + CHUNK) {
            fwrite(chunk, 1, (size_t)(end - chunk), out);
            end = chunk;
        }
    }
    fwrite(chunk, 1, (size_t)(end - chunk), out);
    return count;
}

int lft_dump_write(const struct lft_dump *dump, const struct fabric *fabric, FILE *out,
                   uint64_t *fingerprint)
{
    uint64_t sum = 0;
    char *chunk = malloc(CHUNK);
    if (!chunk)
        return error_fail(-ENOMEM, "no memory to write the table");
    for (uint32_t i = 0, s = 0; i < fabric->node_count; i++) {
        const struct fabric_node *node = &fabric->nodes[i];
        if (node->kind != FABRIC_SWITCH)
            continue;
        fprintf(out, "Unicast lids [0x0-0x%x] of switch Lid %u guid 0x%016" PRIx64 " ('%s'):\n",
                dump->lid_count - 1, node->ports[0].lid, node->guid, node->name);
        uint64_t print = node->guid;
        uint32_t count = entries_write(dump, s++, chunk, out, &print);
        sum += print;
        fprintf(out, "%u valid lids dumped\n", count);
    }
    free(chunk);
    if (fingerprint)
        *fingerprint = sum;
    return ferror(out) ? -EIO : 0;
}
