/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A shared work queue that is one number: whoever adds 1 to it owns the piece it was at. The ranks
 * count primes; the faster ones take more pieces. Rank 0 holds the words and does nothing for it.
 *
 *     rhinet run -n 4 counter
 */
#include "check.h"

#include <rhinet/rma.h>

#define BOARD        1
#define PIECE_COUNT  400
#define PIECE_LENGTH 500
#define PRIME_COUNT  17984 /* below PIECE_COUNT * PIECE_LENGTH = 200,000 */

struct board {
    uint64_t next_piece;
    uint64_t primes;
    uint64_t ranks_done;
};

static bool is_prime(uint64_t number)
{
    for (uint64_t divisor = 2; divisor * divisor <= number; divisor++) {
        if (number % divisor == 0)
            return false;
    }
    return number >= 2;
}

static uint64_t count_primes(uint64_t piece)
{
    uint64_t count = 0;
    for (uint64_t i = piece * PIECE_LENGTH; i < (piece + 1) * PIECE_LENGTH; i++)
        count += is_prime(i);
    return count;
}

int main(void)
{
    struct rh_job *job;
    check(rh_join(&job, NULL));
    void *memory = NULL;
    if (rh_rank(job) == 0)
        check(rh_segment_alloc(job, BOARD, sizeof(struct board), &memory));
    check(rh_segment_wait(job, 0, BOARD, RH_TIMEOUT_DEFAULT));

    struct rh_remote next_piece = rh_at(0, BOARD, offsetof(struct board, next_piece));
    uint64_t piece, primes = 0, piece_count = 0;
    check(rh_fetch_add(job, next_piece, 1, &piece));
    while (piece < PIECE_COUNT) {
        primes += count_primes(piece);
        piece_count++;
        check(rh_fetch_add(job, next_piece, 1, &piece));
    }
    /* The first addition is complete at rank 0 before the second begins: each call waits. */
    check(rh_fetch_add(job, rh_at(0, BOARD, offsetof(struct board, primes)), primes, NULL));
    check(rh_fetch_add(job, rh_at(0, BOARD, offsetof(struct board, ranks_done)), 1, NULL));
    printf("rank %d took %llu pieces\n", rh_rank(job), (unsigned long long)piece_count);

    if (rh_rank(job) == 0) { /* stays until all are done: the words live in its memory */
        const struct board *board = memory;
        check(rh_wait_for(job, &board->ranks_done, (uint64_t)rh_size(job), RH_ANY_RANK,
                          "all ranks to be done"));
        printf("%llu primes below %d\n", (unsigned long long)board->primes,
               PIECE_COUNT * PIECE_LENGTH);
        if (board->primes != PRIME_COUNT || board->ranks_done != (uint64_t)rh_size(job))
            return 1;
    }
    return rh_leave(job) < 0;
}
