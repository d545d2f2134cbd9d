/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an MPI library does on this machine, in the bench's terms: two ranks on two cores, real-
 * time priority where we may, medians of short loops. Prints one JSON object per line: name,
 * value, unit. Built by tools/bench-peers with the compiler wrapper of each library.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS       11
#define BLOCK_LENGTH (1 << 20)

struct peer {
    int rank;
    char *block;
    MPI_Win window;
};

typedef void (*peer_chunk)(struct peer *peer, int count);

static void ping_pong(struct peer *peer, int length, int count)
{
    int other = 1 - peer->rank;
    for (int i = 0; i < count; i++) {
        if (peer->rank == 0)
            MPI_Send(peer->block, length, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        MPI_Recv(peer->block, length, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (peer->rank == 1)
            MPI_Send(peer->block, length, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    }
}

static void send_8(struct peer *peer, int count)
{
    ping_pong(peer, 8, count);
}

static void send_block(struct peer *peer, int count)
{
    ping_pong(peer, BLOCK_LENGTH, count);
}

/* Only rank 0 acts; it is complete at the target when this returns. */
static void put_flush(struct peer *peer, int length, int count)
{
    for (int i = 0; i < count && peer->rank == 0; i++) {
        MPI_Put(peer->block, length, MPI_BYTE, 1, 0, length, MPI_BYTE, peer->window);
        MPI_Win_flush(1, peer->window);
    }
}

static void put_8(struct peer *peer, int count)
{
    put_flush(peer, 8, count);
}

static void put_block(struct peer *peer, int count)
{
    put_flush(peer, BLOCK_LENGTH, count);
}

static void fetch_add(struct peer *peer, int count)
{
    long one = 1, old;
    for (int i = 0; i < count && peer->rank == 0; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, peer->window);
        MPI_Win_flush(1, peer->window);
    }
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double time_ns(struct peer *peer, peer_chunk chunk, int count)
{
    double times[CHUNKS];
    chunk(peer, count);
    for (int i = 0; i < CHUNKS; i++) {
        double start_s = MPI_Wtime();
        chunk(peer, count);
        times[i] = (MPI_Wtime() - start_s) * 1e9 / count;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    qsort(times, CHUNKS, sizeof(times[0]), compare_doubles);
    return times[CHUNKS / 2];
}

static void print(struct peer *peer, const char *name, double value, const char *unit)
{
    if (peer->rank == 0)
        printf("{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\"}\n", name, value, unit);
}

/* As the bench does: rank 0 has the first core, rank 1 the last. */
static void take_core(int rank)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof(allowed), &allowed);
    int core = rank == 0 ? 0 : CPU_SETSIZE - 1;
    while (core >= 0 && core < CPU_SETSIZE && !CPU_ISSET(core, &allowed))
        core += rank == 0 ? 1 : -1;
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
    struct sched_param parameters = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &parameters);
}

static void measure(struct peer *peer)
{
    print(peer, "send-8", time_ns(peer, send_8, 200) / 2, "ns");
    print(peer, "send-1M", BLOCK_LENGTH / (time_ns(peer, send_block, 4) / 2), "GB/s");
    MPI_Win_lock_all(0, peer->window);
    print(peer, "put-flush-8", time_ns(peer, put_8, 200), "ns");
    print(peer, "put-flush-1M", BLOCK_LENGTH / time_ns(peer, put_block, 4), "GB/s");
    print(peer, "fetch-add", time_ns(peer, fetch_add, 200), "ns");
    MPI_Win_unlock_all(peer->window);
}

int main(int argc, char **argv)
{
    struct peer peer;
    void *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &peer.rank);
    peer.block = malloc(BLOCK_LENGTH);
    memset(peer.block, 0, BLOCK_LENGTH);
    MPI_Win_allocate(BLOCK_LENGTH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &peer.window);
    memset(memory, 0, BLOCK_LENGTH);
    MPI_Barrier(MPI_COMM_WORLD);
    take_core(peer.rank);
    measure(&peer);
    struct sched_param parameters = {.sched_priority = 0};
    sched_setscheduler(0, SCHED_OTHER, &parameters); /* ending may need others to run */
    MPI_Win_free(&peer.window);
    free(peer.block);
    MPI_Finalize();
    return 0;
}
