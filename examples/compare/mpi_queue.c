/* SPDX-License-Identifier: BSD-3-Clause
 *
 * examples/queue.c with MPI's messages: it has no queue in remote memory, so the receiver's library
 * keeps what comes too early, however much it is; senders that are too fast do not wait for it.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THROWS = 5000, SUM_MAX = 12, BAR_MAX = 50 };

struct message {
    uint32_t number; /* counted by each sender: arrives in order */
    uint32_t sum;
};

static struct message throw_dice(int rank, uint32_t number)
{
    uint32_t x = (uint32_t)rank * THROWS + number;
    x = (x ^ x >> 16) * 0x7feb352d; /* well mixed, and the same in every run */
    x = (x ^ x >> 15) * 0x846ca68b;
    return (struct message){number, (x >> 8) % 6 + (x >> 20) % 6 + 2};
}

static void receive_all(int size, unsigned *counts)
{
    uint32_t *expected = calloc((size_t)size, sizeof(*expected));
    for (int left = size * THROWS, own = 0; left > 0; left--) {
        struct message message = throw_dice(0, (uint32_t)own);
        MPI_Status status = {.MPI_SOURCE = 0};
        if (own < THROWS)
            own++;
        else
            MPI_Recv(&message, sizeof(message), MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
                     &status);
        if (!expected || message.number != expected[status.MPI_SOURCE]++ || message.sum > SUM_MAX) {
            fprintf(stderr, "message %u of rank %d is wrong\n", message.number, status.MPI_SOURCE);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        counts[message.sum]++;
    }
    free(expected);
}

static void draw(const unsigned *counts)
{
    unsigned most = 1;
    for (int sum = 2; sum <= SUM_MAX; sum++)
        most = counts[sum] > most ? counts[sum] : most;
    for (int sum = 2; sum <= SUM_MAX; sum++)
        printf("%3d %6u %.*s\n", sum, counts[sum], (int)(counts[sum] * BAR_MAX / most),
               "##################################################");
}

int main(void)
{
    int rank, size;
    unsigned counts[SUM_MAX + 1] = {0};
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (uint32_t number = 0; rank != 0 && number < THROWS; number++) {
        struct message message = throw_dice(rank, number);
        MPI_Send(&message, sizeof(message), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        receive_all(size, counts);
        draw(counts);
    }
    MPI_Finalize();
    return 0;
}
