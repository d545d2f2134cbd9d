/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Page mode with ranks that are threads of one process, each with pages at an address of its own:
 * the bytes of pages are dealt out to ranks, counters lie under locks, homes move.
 */
#include "threads.h"

#include <rhinet/dsm_pages.h>
#include <stdio.h>

#define RANKS  3
#define PAGES  6u
#define LENGTH (PAGES * 4096u)
#define ROUNDS 12u
#define LOCKS  2u

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int try_result_ = (call);                                                                  \
        if (try_result_ != 0) {                                                                    \
            fprintf(stderr, "%s: %d: %s\n", #call, try_result_, rh_error_text());                  \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int deal_and_count(struct rh_dsm_pages *pages, size_t rank, unsigned round)
{
    unsigned char *base = rh_dsm_pages_base(pages);
    for (size_t i = 64 + rank; i < LENGTH / 2; i += RANKS)
        base[i] = (unsigned char)(round + i);
    if (rank == 1) /* alone, so that these pages move */
        for (size_t i = LENGTH / 2; i < LENGTH; i += 7)
            base[i] = (unsigned char)(round + i);
    for (uint32_t lock = 0; lock < LOCKS; lock++) {
        TRY(rh_dsm_pages_lock(pages, lock, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        base[lock * 8]++;
        TRY(rh_dsm_pages_unlock(pages, lock));
    }
    return 0;
}

static int compare(struct rh_dsm_pages *pages, unsigned round)
{
    const unsigned char *base = rh_dsm_pages_base(pages);
    bool is_right = base[0] == (unsigned char)(RANKS * round) && base[8] == base[0];
    for (size_t i = 64; i < LENGTH / 2; i++)
        is_right &= base[i] == (unsigned char)(round + i);
    for (size_t i = LENGTH / 2; i < LENGTH; i += 7)
        is_right &= base[i] == (unsigned char)(round + i);
    if (!is_right)
        fprintf(stderr, "round %u is wrong\n", round);
    return is_right ? 0 : 1;
}

static int be_rank(struct rh_job *job, void *context)
{
    struct rh_dsm *dsm;
    struct rh_dsm_pages *pages;
    struct rh_dsm_options shared = {.struct_size = sizeof(shared), .heap_length = 1 << 20};
    struct rh_dsm_pages_options options = {.struct_size = sizeof(options),
                                           .length = LENGTH,
                                           .home = RH_DSM_HOME_BLOCK,
                                           .lock_count = LOCKS};
    (void)context;
    TRY(rh_dsm_open(&dsm, job, &shared));
    TRY(rh_dsm_pages_open(&pages, dsm, &options));
    for (unsigned round = 1; round <= ROUNDS; round++) {
        TRY(deal_and_count(pages, (size_t)rh_rank(job), round));
        TRY(rh_dsm_pages_barrier(pages, RH_TIMEOUT_DEFAULT));
        TRY(compare(pages, round));
        TRY(rh_dsm_pages_barrier(pages, RH_TIMEOUT_DEFAULT));
    }
    TRY(rh_dsm_pages_close(pages));
    TRY(rh_dsm_close(dsm));
    return 0;
}

int main(void)
{
    struct threads_options options = {.size = RANKS, .nic = "shm", .rank_main = be_rank};
    return threads_run(&options);
}
