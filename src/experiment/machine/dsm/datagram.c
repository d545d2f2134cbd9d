/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The paper's comparison: bringing a peer's copy up to date by remote memory, and as raw by
 * datagrams, over the same network and between the same processes.
 */
#include "dsm/datagram/datagram.h"
#include "base/clock.h"
#include "experiment/machine/dsm/dsm.h"

#include <string.h>
#include <unistd.h>

#define UPDATES 20u
#define NAP_US  50
#define DONE    8192u  /* word in the heap: rank 0 has done */
#define PLACE   16384u /* of the piece in the heap */

/* Rank 1 has nothing to do but must not keep its receiving thread from running. */
static void idle(struct bench_run *run)
{
    const volatile uint64_t *word = (const volatile uint64_t *)(void *)(run->dsm->heap + DONE);
    while (*word != run->sequence)
        usleep(NAP_US);
}

static int update(struct bench_run *run, const struct dsm_bulk_ops *bulk, double *figure)
{
    struct dsm_piece piece = {.offset = PLACE, .length = (uint64_t)run->bench_case->amount};
    struct dsm_move move = {
        .dsm = run->dsm, .rank = 1, .pieces = &piece, .count = 1, .deadline_ns = INT64_MAX};
    double times[UPDATES];
    int result = 0;
    run->sequence++; /* on both sides */
    if (run->rank == 1)
        idle(run);
    for (unsigned i = 0; i < UPDATES && run->rank == 0 && result == 0; i++) {
        memset(run->dsm->heap + piece.offset, (int)i, piece.length);
        int64_t start_ns = clock_now_ns();
        result = bulk->push(&move);
        times[i] = (double)(clock_now_ns() - start_ns);
    }
    if (run->rank == 0 && result == 0) {
        *figure = bench_median(times, UPDATES);
        result = rh_push(run->job, rh_at(1, DSM_SID_HEAP, DONE), &run->sequence, 8);
    }
    return result;
}

int datagram_update(struct bench_run *run, double *figure)
{
    return update(run, &dsm_bulk_datagram, figure);
}

int datagram_update_rdma(struct bench_run *run, double *figure)
{
    return update(run, &dsm_bulk_rdma, figure);
}

/* Opened beside remote memory, which has no state of its own. */
int datagram_open(struct bench_run *run)
{
    struct rh_dsm_options options = {.struct_size = sizeof(options), .heap_length = 1u << 20};
    int result = rh_dsm_open(&run->dsm, run->job, &options);
    if (result == 0)
        result = dsm_bulk_datagram.open(run->dsm, &run->dsm->bulk_state);
    return result < 0 ? result : rh_dsm_barrier(run->dsm, NULL, 0, RH_TIMEOUT_DEFAULT);
}

void datagram_close(struct bench_run *run)
{
    rh_dsm_barrier(run->dsm, NULL, 0, RH_TIMEOUT_DEFAULT);
    dsm_bulk_datagram.close(run->dsm, run->dsm->bulk_state);
    rh_dsm_close(run->dsm);
    run->dsm = NULL;
}
