/* SPDX-License-Identifier: BSD-3-Clause
 *
 * So many datagrams that 16 bits do not number them: many SEED, on three ranks. Rank 0 writes to
 * rank 1, then 65536 times to others, then to rank 1 again, which must not take that for what it
 * had before.
 */
#include "../../msg/member.h"
#include "dsm/bulk.h"

#define MESSAGES 65536
#define WORDS    8

/* Rank 0 writes words to a rank's heap, which must be there when it says so. */
static void write_to(struct member *member, struct rh_dsm *dsm, int rank, uint64_t offset,
                     uint64_t value)
{
    struct dsm_piece piece = {.offset = offset, .length = 8};
    uint64_t found = 0;
    memcpy(dsm->heap + offset, &value, 8);
    struct dsm_move move = {
        .dsm = dsm, .rank = rank, .pieces = &piece, .count = 1, .deadline_ns = INT64_MAX};
    MEMBER_OK(member, dsm->bulk->push(&move));
    if (rank != 1)
        return;
    MEMBER_OK(member, rh_pull(member->job, rh_at(rank, DSM_SID_HEAP, offset), &found, 8));
    if (found != value)
        MEMBER_FAIL(member, "wrote %llu to rank %d, and it has %llu", (unsigned long long)value,
                    rank, (unsigned long long)found);
}

int main(int count, char **arguments)
{
    struct member member = {.job = NULL};
    struct rh_dsm *dsm;
    uint64_t offset;
    if (count != 2)
        return 2;
    member_start(&member, strtoull(arguments[1], NULL, 10));
    struct rh_dsm_options options = {
        .struct_size = sizeof(options), .heap_length = 1 << 20, .msg = member.msg};
    MEMBER_OK(&member, rh_dsm_open(&dsm, member.job, &options));
    MEMBER_OK(&member, rh_dsm_alloc_named(dsm, 1, WORDS * 8, &offset));
    MEMBER_OK(&member, rh_dsm_barrier(dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    if (member.rank == 0) {
        for (uint64_t i = 0; i < WORDS; i++)
            write_to(&member, dsm, 1, offset + i * 8, 1 + i);
        for (uint64_t i = WORDS; i < MESSAGES; i++)
            write_to(&member, dsm, 2, offset, i);
        for (uint64_t i = 0; i < WORDS; i++)
            write_to(&member, dsm, 1, offset + i * 8, 101 + i);
    }
    MEMBER_OK(&member, rh_dsm_barrier(dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(&member, rh_dsm_close(dsm));
    member_end(&member);
    return 0;
}
