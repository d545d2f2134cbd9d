/* SPDX-License-Identifier: BSD-3-Clause
 *
 * examples/queue.c with OpenSHMEM: the queue has to be written. A sender takes a ticket, waits
 * until the slot of that ticket has been emptied, and fills it; the receiver takes slots in their
 * order, so one sender that stops holds up all.
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THROWS = 5000, SUM_MAX = 12, BAR_MAX = 50, SLOTS = 64 };

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

static struct slot {
    unsigned long turn; /* ticket + 1 when it is full, ticket + SLOTS when it is empty again */
    uint64_t source;
    struct message message;
} slots[SLOTS];
static unsigned long next_ticket;

static void append(int rank, struct message message)
{
    uint64_t ticket = shmem_ulong_atomic_fetch_inc(&next_ticket, 0);
    struct slot *slot = &slots[ticket % SLOTS], mine = {0, (uint64_t)rank, message};
    while (shmem_ulong_atomic_fetch(&slot->turn, 0) != (ticket < SLOTS ? 0 : ticket))
        ;
    shmem_putmem(&slot->source, &mine.source, sizeof(mine) - sizeof(mine.turn), 0);
    shmem_fence();
    shmem_ulong_atomic_set(&slot->turn, ticket + 1, 0);
}

static void receive_all(int size, unsigned *counts)
{
    uint32_t *expected = calloc((size_t)size, sizeof(*expected));
    uint64_t ticket = 0;
    for (int left = size * THROWS, own = 0; left > 0; left--) {
        struct message message = throw_dice(0, (uint32_t)own);
        uint64_t source = 0;
        if (own < THROWS) {
            own++;
        } else {
            struct slot *slot = &slots[ticket % SLOTS];
            shmem_ulong_wait_until(&slot->turn, SHMEM_CMP_EQ, ticket + 1);
            message = slot->message;
            source = slot->source;
            shmem_ulong_atomic_set(&slot->turn, ticket + SLOTS, 0);
            ticket++;
        }
        if (!expected || message.number != expected[source]++ || message.sum > SUM_MAX) {
            fprintf(stderr, "message %u of rank %d is wrong\n", message.number, (int)source);
            shmem_global_exit(1);
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
    unsigned counts[SUM_MAX + 1] = {0};
    shmem_init();
    int rank = shmem_my_pe();
    for (uint32_t number = 0; rank != 0 && number < THROWS; number++)
        append(rank, throw_dice(rank, number));
    if (rank == 0) {
        receive_all(shmem_n_pes(), counts);
        draw(counts);
    }
    shmem_finalize();
    return 0;
}
