/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the data of variables moves: a table, so that remote memory (the usual way) and datagrams
 * (src/dsm/datagram, the way of the paper that Fagus comes from) can be compared.
 *
 * Data always lies at the same offset at both ends, so a piece is an offset and a length of the
 * heap. The caller sees to it that nobody changes the data meanwhile.
 */
#pragma once

#include "dsm/dsm.h"

struct dsm_piece {
    uint64_t offset;
    uint64_t length;
};

struct dsm_move {
    struct rh_dsm *dsm;
    int rank;
    const struct dsm_piece *pieces;
    size_t count;
    int64_t deadline_ns; /* dsm_deadline_ns() */
};

struct dsm_bulk_ops {
    const char *name; /* as RHINET_DSM_BULK would say */

    /* Called once by all ranks while they open, before any transfer; *state is kept in
     * dsm->bulk_state. close is called after the last rank has come to close. */
    int (*open)(struct rh_dsm *dsm, void **state);
    void (*close)(struct rh_dsm *dsm, void *state);

    /* Copy pieces of a peer's heap to the same places of ours, and the other way round. Returns
     * when they are there, visible to all. Errors: RH_EDEAD, RH_ETIMEOUT (after the deadline) and
     * those of the NIC; then any part may have been copied, and nobody writes our heap any more.
     * Any thread may call. */
    int (*pull)(const struct dsm_move *move);
    int (*push)(const struct dsm_move *move);
};

extern const struct dsm_bulk_ops dsm_bulk_rdma;
