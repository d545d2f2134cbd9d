/* SPDX-License-Identifier: BSD-3-Clause
 *
 * examples/counter.c with OpenSHMEM.
 */
#include <shmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PIECE_COUNT  400
#define PIECE_LENGTH 500
#define PRIME_COUNT  17984 /* below PIECE_COUNT * PIECE_LENGTH = 200,000 */

static unsigned long next_piece, all_primes;

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
    shmem_init();
    int rank = shmem_my_pe();
    uint64_t primes = 0, piece_count = 0, piece = shmem_ulong_atomic_fetch_inc(&next_piece, 0);
    while (piece < PIECE_COUNT) {
        primes += count_primes(piece);
        piece_count++;
        piece = shmem_ulong_atomic_fetch_inc(&next_piece, 0);
    }
    shmem_ulong_atomic_add(&all_primes, primes, 0);
    printf("rank %d took %llu pieces\n", rank, (unsigned long long)piece_count);

    shmem_barrier_all();
    if (rank == 0) {
        printf("%llu primes below %d\n", (unsigned long long)all_primes,
               PIECE_COUNT * PIECE_LENGTH);
        if (all_primes != PRIME_COUNT)
            shmem_global_exit(1);
    }
    shmem_finalize();
    return 0;
}
