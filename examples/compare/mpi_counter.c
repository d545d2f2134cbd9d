/* SPDX-License-Identifier: BSD-3-Clause
 *
 * examples/counter.c with MPI's remote memory.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PIECE_COUNT  400
#define PIECE_LENGTH 500
#define PRIME_COUNT  17984 /* below PIECE_COUNT * PIECE_LENGTH = 200,000 */

struct board {
    uint64_t next_piece;
    uint64_t primes;
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

static uint64_t fetch_add(MPI_Win window, size_t offset, uint64_t operand)
{
    uint64_t old;
    MPI_Fetch_and_op(&operand, &old, MPI_UINT64_T, 0, (MPI_Aint)offset, MPI_SUM, window);
    MPI_Win_flush(0, window);
    return old;
}

int main(void)
{
    int rank, wrong = 0;
    struct board *board;
    MPI_Win window;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(rank == 0 ? sizeof(*board) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &board,
                     &window);
    MPI_Win_lock_all(0, window);
    if (rank == 0) {
        *board = (struct board){0, 0};
        MPI_Win_sync(window);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    uint64_t piece, primes = 0, piece_count = 0;
    piece = fetch_add(window, offsetof(struct board, next_piece), 1);
    while (piece < PIECE_COUNT) {
        primes += count_primes(piece);
        piece_count++;
        piece = fetch_add(window, offsetof(struct board, next_piece), 1);
    }
    fetch_add(window, offsetof(struct board, primes), primes);
    printf("rank %d took %llu pieces\n", rank, (unsigned long long)piece_count);

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_sync(window);
        printf("%llu primes below %d\n", (unsigned long long)board->primes,
               PIECE_COUNT * PIECE_LENGTH);
        wrong = board->primes != PRIME_COUNT;
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return wrong;
}
