/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The barrier: all ranks close their interval, tell each other how far their logs have got, with
 * the last entries, wait for each other, and learn what they were told. It is also where homes move
 * (move.c).
 *
 * Other threads may lock, write and unlock while this one waits for other ranks; so `sync` is not
 * held then. After a time-out the next call goes on where this one has ended.
 */
#include "dsm/page/pages.h"
#include "rma/inside.h"

#define BLOCK_WORDS 58 /* fits an inline push */
#define BLOCK_HEAD  2

/* What a rank brings to a barrier. */
struct block {
    uint64_t end;                            /* of its log */
    uint64_t move_count;                     /* pages that it gives away */
    uint64_t runs[BLOCK_WORDS - BLOCK_HEAD]; /* the last ones of its log, up to `end` */
};
_Static_assert(sizeof(struct block) == BLOCK_WORDS * 8, "no holes travel");
_Static_assert(sizeof(struct block) <= RH_INLINE_MAX, "a block goes at one go");

#define BLOCK_RUNS (BLOCK_WORDS - BLOCK_HEAD)

/* Two for every rank: nobody comes to the barrier after the next before all have read what was
 * brought to this one. */
size_t meeting_length(int ranks)
{
    return 2 * (size_t)ranks * sizeof(struct block);
}

/* Where rank's block of the barrier under way lies, in every rank's control segment. */
static uint64_t block_offset(const struct rh_dsm_pages *pages, int rank)
{
    uint32_t number = pages->meeting + (pages->stage < MEETING_MET);
    return pages->layout.blocks +
           ((uint64_t)(number % 2) * (uint64_t)pages->size + (uint64_t)rank) * sizeof(struct block);
}

static const struct block *block_of(const struct rh_dsm_pages *pages, int rank)
{
    return (const struct block *)(const void *)(pages->control + block_offset(pages, rank));
}

/* ---- Coming --------------------------------------------------------------------------------- */

static void fill(const struct rh_dsm_pages *pages, struct block *block)
{
    uint64_t end = pages->vector[pages->rank];
    *block = (struct block){.end = end, .move_count = pages->move_count};
    for (uint64_t i = 0; i < BLOCK_RUNS && i < end; i++)
        block->runs[BLOCK_RUNS - 1 - i] = notices_own(pages, end - 1 - i);
}

static int tell(struct rh_dsm_pages *pages, int rank, const struct block *block)
{
    struct rh_remote target = rh_at(rank, pages->control_sid, block_offset(pages, pages->rank));
    struct pages_patience patience = pages_patience(pages);
    int result;
    do {
        result = rh_push_inline(pages->job, target, block, sizeof(*block));
        if (result == RH_EAGAIN)
            rh_flush(pages->job, rank);
    } while (pages_try_again(pages, &patience, result));
    return result;
}

static int tell_all(struct rh_dsm_pages *pages, const struct block *block)
{
    int result = 0;
    for (int i = 1; i <= pages->size && result == 0; i++)
        result = tell(pages, (pages->rank + i) % pages->size, block);
    struct pages_patience patience = pages_patience(pages);
    while (result == 0) {
        result = rh_flush(pages->job, RH_ANY_RANK);
        if (!pages_try_again(pages, &patience, result))
            break;
        result = 0;
    }
    return result;
}

static int arrive(struct rh_dsm_pages *pages)
{
    struct block mine;
    int result = sync_take(pages);
    if (result < 0)
        return result;
    result = interval_close(pages);
    fill(pages, &mine);
    sync_give(pages);
    if (result == 0)
        result = tell_all(pages, &mine);
    if (result == 0)
        pages->stage = MEETING_ARRIVED;
    return result;
}

/* ---- Having met ----------------------------------------------------------------------------- */

static int learn(struct rh_dsm_pages *pages)
{
    int result = 0;
    for (int rank = 0; rank < pages->size && result == 0; rank++) {
        struct block block = *block_of(pages, rank);
        struct notices_news news = {.rank = rank,
                                    .end = block.end,
                                    .given = block.runs,
                                    .given_count = BLOCK_RUNS,
                                    .is_meeting = true};
        result = notices_learn(pages, &news);
    }
    return result;
}

static bool has_moves(const struct rh_dsm_pages *pages)
{
    for (int rank = 0; rank < pages->size; rank++)
        if (block_of(pages, rank)->move_count > 0)
            return true;
    return false;
}

static void part_ways(struct rh_dsm_pages *pages)
{
    for (size_t i = 0; i < (pages->count + 63) / 64; i++)
        atomic_store_explicit(&pages->noted[i], 0, memory_order_relaxed);
    move_choose(pages);
    pages->stage = MEETING_APART;
    sync_give(pages);
}

/* All have come. If pages move, `sync` stays with us until they have. */
static int exchange(struct rh_dsm_pages *pages)
{
    int result = sync_take(pages);
    if (result < 0)
        return result;
    result = learn(pages);
    if (result == 0 && has_moves(pages)) {
        result = move_part(pages);
        if (result == 0) {
            pages->stage = MEETING_PARTED;
            return 0;
        }
    }
    if (result == 0)
        part_ways(pages);
    else
        sync_give(pages);
    return result;
}

static int follow(struct rh_dsm_pages *pages)
{
    int result = 0;
    for (int rank = 0; rank < pages->size && result == 0; rank++) {
        uint64_t count = block_of(pages, rank)->move_count;
        result = count <= PAGES_MOVES_MAX
                     ? move_follow(pages, rank, count)
                     : error_set(RH_ECORRUPT, rank, "rank %d gives away %llu pages", rank,
                                 (unsigned long long)count);
    }
    return result;
}

/* ---- The barrier ---------------------------------------------------------------------------- */

/* The steps in which homes move; a barrier lies between them. If a rank dies in the middle, who has
 * which page is not known any more. */
static int move_homes(struct rh_dsm_pages *pages, int64_t deadline_ns)
{
    int result = 0;
    if (pages->stage == MEETING_PARTED) {
        result = rh_barrier(pages->set, rma_left_ns(pages->job, deadline_ns));
        if (result == 0)
            result = follow(pages);
        if (result == 0)
            pages->stage = MEETING_FOLLOWED;
    }
    if (result == 0)
        result = rh_barrier(pages->set, rma_left_ns(pages->job, deadline_ns));
    if (result == 0) {
        sync_settle(pages);
        part_ways(pages);
    } else if (result != RH_ETIMEOUT) {
        sync_lose(pages, rh_error_rank());
    }
    return result;
}

int rh_dsm_pages_barrier(struct rh_dsm_pages *pages, int64_t timeout_ns)
{
    int64_t deadline_ns = rma_deadline_ns(pages->job, timeout_ns);
    int result = 0;
    sync_thread_check(pages);
    if (pages->stage == MEETING_APART)
        result = arrive(pages);
    if (result == 0 && pages->stage == MEETING_ARRIVED) {
        result = rh_barrier(pages->set, rma_left_ns(pages->job, deadline_ns));
        if (result == 0) {
            pages->meeting++;
            pages->stage = MEETING_MET;
        }
    }
    if (result == 0 && pages->stage == MEETING_MET)
        result = exchange(pages);
    if (result == 0 && pages->stage >= MEETING_PARTED)
        result = move_homes(pages, deadline_ns);
    return result;
}
