/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an MPI library does on this machine, in the bench's terms: the same cores, real-time
 * priority where we may and ranks do not share cores, medians of short loops.
 *
 *   mpi_peer                two ranks: measures remote memory and prints one JSON object per line:
 *                           name, value, unit. For tools/bench-peers.
 *   mpi_peer --follow FILE  any number of ranks: measures messages, case by case, when told to by
 *                           that file. For `rhinet bench mpi`, `msg --peers`, `sizes`; see
 *                           follow.h.
 *
 * Longer than most files: it is built with the compiler wrapper of each library, where rhinet is
 * installed, so it is one.
 */
#include "follow.h"

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define CHUNKS       11
#define CHUNKS_MIN   3
#define TRIES        3
#define COUNT_MAX    500
#define CHUNK_S      2e-3 /* where a loop's length is found by trying */
#define ALL_S        0.2
#define BLOCK_LENGTH (1 << 20)
#define WINDOW       64
#define BLOCKS       33
#define WARM         2
#define MESSAGES     2048
#define STREAM       (256 << 10) /* bytes in a loop of messages, at least, as in sizes.c */
#define STREAM_MAX   4096
#define STREAM_LARGE (64 << 20)

struct peer {
    int rank, size;
    char *block;
    int length;      /* of a collective, of each rank */
    char collective; /* b: broadcast, g: allgather, t: alltoall, r: allreduce */
    MPI_Win window;
};

typedef void (*peer_chunk)(struct peer *peer, int count);

/* ---- Ping-pong ------------------------------------------------------------------------------ */

static void send_to(struct peer *peer, int other, int length)
{
    MPI_Send(peer->block, length, MPI_BYTE, other, 0, MPI_COMM_WORLD);
}

static void receive_from(struct peer *peer, int other, int length)
{
    MPI_Recv(peer->block, length, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ping_pong(struct peer *peer, int length, int count)
{
    int other = 1 - peer->rank;
    for (int i = 0; i < count; i++) {
        if (peer->rank == 0)
            send_to(peer, other, length);
        receive_from(peer, other, length);
        if (peer->rank == 1)
            send_to(peer, other, length);
    }
}

static void ping_8(struct peer *peer, int count)
{
    ping_pong(peer, 8, count);
}

static void ping_block(struct peer *peer, int count)
{
    ping_pong(peer, BLOCK_LENGTH, count);
}

/* ---- One way: blocking, or in windows of non-blocking calls --------------------------------- */

static void answer(struct peer *peer)
{
    if (peer->rank == 0)
        receive_from(peer, 1, 8);
    else
        send_to(peer, 0, 8);
}

static void stream(struct peer *peer, int length, int count)
{
    for (int i = 0; i < count; i++) {
        if (peer->rank == 0)
            send_to(peer, 1, length);
        else
            receive_from(peer, 0, length);
    }
    answer(peer);
}

static void stream_windows(struct peer *peer, int count)
{
    static char block[WINDOW][8];
    MPI_Request requests[WINDOW];
    for (int done = 0; done < count; done += WINDOW) {
        int window = count - done < WINDOW ? count - done : WINDOW;
        for (int i = 0; i < window; i++) {
            if (peer->rank == 0)
                MPI_Isend(block[i], 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(block[i], 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    }
    answer(peer);
}

static void stream_8(struct peer *peer, int count)
{
    stream(peer, 8, count);
}

static void stream_block(struct peer *peer, int count)
{
    stream(peer, BLOCK_LENGTH, count);
}

/* ---- Remote memory: only rank 0 acts; it is complete at the target when this returns -------- */

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

/* ---- Locks, barrier, allreduce -------------------------------------------------------------- */

static void lock_contended(struct peer *peer, int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, peer->window);
        MPI_Win_unlock(1, peer->window);
    }
}

static void lock_alone(struct peer *peer, int count)
{
    if (peer->rank == 0)
        lock_contended(peer, count);
}

static void barrier(struct peer *peer, int count)
{
    for (int i = 0; i < count; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* All to rank 0: count messages of each. */
static void many(struct peer *peer, int count)
{
    int all = peer->rank == 0 ? count * (peer->size - 1) : count;
    for (int i = 0; i < all; i++) {
        if (peer->rank == 0)
            receive_from(peer, MPI_ANY_SOURCE, 8);
        else
            send_to(peer, 0, 8);
    }
}

static void all_to_all(struct peer *peer, int count)
{
    for (int i = 0; i < count; i++) {
        for (int step = 1; step < peer->size; step++)
            send_to(peer, (peer->rank + step) % peer->size, 8);
        for (int step = 1; step < peer->size; step++)
            receive_from(peer, (peer->rank + peer->size - step) % peer->size, 8);
    }
}

/* Of peer->length bytes of each rank. */
static void collect(struct peer *peer, int count)
{
    char *source = peer->block, *target = peer->block + (size_t)peer->length * peer->size;
    for (int i = 0; i < count; i++) {
        if (peer->collective == 'b')
            MPI_Bcast(target, peer->length, MPI_BYTE, i % peer->size, MPI_COMM_WORLD);
        else if (peer->collective == 'g')
            MPI_Allgather(source, peer->length, MPI_BYTE, target, peer->length, MPI_BYTE,
                          MPI_COMM_WORLD);
        else if (peer->collective == 't')
            MPI_Alltoall(source, peer->length, MPI_BYTE, target, peer->length, MPI_BYTE,
                         MPI_COMM_WORLD);
        else
            MPI_Allreduce(source, target, peer->length / 8, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void allreduce(struct peer *peer, int count)
{
    long number = peer->rank, sum;
    for (int i = 0; i < count; i++)
        MPI_Allreduce(&number, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}

/* ---- Time ----------------------------------------------------------------------------------- */

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

/* Blocks that are written anew before the clock runs, as the bench does. */
static double time_fresh_ns(struct peer *peer)
{
    double times[BLOCKS];
    for (int i = -WARM; i < BLOCKS; i++) {
        if (peer->rank == 0)
            memset(peer->block, i, BLOCK_LENGTH);
        double start_s = MPI_Wtime();
        stream_block(peer, 1);
        times[i < 0 ? 0 : i] = (MPI_Wtime() - start_s) * 1e9;
    }
    qsort(times, BLOCKS, sizeof(times[0]), compare_doubles);
    return times[BLOCKS / 2];
}

/* "64K" and such. */
static int length_of(const char *text)
{
    char *end;
    long length = strtol(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    return (int)(length << shift);
}

/* As sizes.c of the bench does it: MB/s of messages one after the other. */
static double measure_stream(struct peer *peer, int length)
{
    double times[CHUNKS];
    char *before = peer->block;
    int count = STREAM / length, loops = length >= STREAM_LARGE ? CHUNKS_MIN : CHUNKS;
    count = count < 1 ? 1 : count > STREAM_MAX ? STREAM_MAX : count;
    peer->block = malloc(length > 8 ? (size_t)length : 8);
    if (!peer->block)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(peer->block, 1, length > 8 ? (size_t)length : 8);
    for (int i = -1; i < loops; i++) {
        if (count == 1 && peer->rank == 0)
            memset(peer->block, i, (size_t)length);
        double start_s = MPI_Wtime();
        stream(peer, length, count);
        times[i < 0 ? 0 : i] = (MPI_Wtime() - start_s) / count;
    }
    free(peer->block);
    peer->block = before;
    qsort(times, (size_t)loops, sizeof(times[0]), compare_doubles);
    return 1e-6 * length / times[loops / 2];
}

/* What many ranks on few cores need can be anything: rank 0 tries a few, tells all how many go into
 * a loop, and after each loop whether there is time for another one. */
static double time_crowd_ns(struct peer *peer, peer_chunk chunk)
{
    double times[CHUNKS], one_s = 0, all_s = 0;
    int count, done = 0, goes_on = 1;
    for (int i = 0; i < TRIES; i++) {
        double start_s = MPI_Wtime();
        chunk(peer, 1);
        double taken_s = MPI_Wtime() - start_s;
        one_s = taken_s > one_s ? taken_s : one_s;
    }
    count = one_s > CHUNK_S ? 1 : one_s > CHUNK_S / COUNT_MAX ? (int)(CHUNK_S / one_s) : COUNT_MAX;
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    chunk(peer, count);
    while (goes_on) {
        double start_s = MPI_Wtime();
        chunk(peer, count);
        double taken_s = MPI_Wtime() - start_s;
        times[done++] = taken_s * 1e9 / count;
        all_s += taken_s;
        goes_on = done < CHUNKS && (done < CHUNKS_MIN || all_s < ALL_S);
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    qsort(times, (size_t)done, sizeof(times[0]), compare_doubles);
    return times[done / 2];
}

/* ---- Cores ---------------------------------------------------------------------------------- */

/* As the bench does: even ranks have the first core, odd ones the last. */
static void take_core(int rank)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof(allowed), &allowed);
    int core = rank % 2 == 0 ? 0 : CPU_SETSIZE - 1;
    while (core >= 0 && core < CPU_SETSIZE && !CPU_ISSET(core, &allowed))
        core += rank % 2 == 0 ? 1 : -1;
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

/* Where the kernel groups processes by session, levels count within a session only. */
static void set_nice(int nice_level)
{
    setpriority(PRIO_PROCESS, 0, nice_level);
    FILE *group = fopen("/proc/self/autogroup", "we");
    if (group) {
        fprintf(group, "%d", nice_level);
        fclose(group);
    }
}

/* As the bench does: where ranks share cores, not real-time, only before all others. */
static void set_priority(const struct peer *peer, int on)
{
    struct sched_param parameters = {.sched_priority = on ? 1 : 0};
    if (peer->size > 2)
        set_nice(on ? -20 : 0);
    else
        sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &parameters);
}

/* ---- Remote memory, printed ------------------------------------------------------------------ */

static void print(struct peer *peer, const char *name, double value, const char *unit)
{
    if (peer->rank == 0)
        printf("{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\"}\n", name, value, unit);
}

static void measure(struct peer *peer)
{
    set_priority(peer, 1);
    print(peer, "send-8", time_ns(peer, ping_8, 200) / 2, "ns");
    print(peer, "ping-1M", BLOCK_LENGTH / (time_ns(peer, ping_block, 4) / 2), "GB/s");
    MPI_Win_lock_all(0, peer->window);
    print(peer, "put-flush-8", time_ns(peer, put_8, 200), "ns");
    print(peer, "put-flush-1M", BLOCK_LENGTH / time_ns(peer, put_block, 4), "GB/s");
    print(peer, "fetch-add", time_ns(peer, fetch_add, 200), "ns");
    MPI_Win_unlock_all(peer->window);
    set_priority(peer, 0); /* ending may need others to run */
}

/* ---- Messages, case by case ----------------------------------------------------------------- */

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* The better of both ways where there are two. */
static double measure_pair(struct peer *peer, const char *name)
{
    if (strcmp(name, "send-8") == 0)
        return time_ns(peer, ping_8, 200) / 2;
    if (strcmp(name, "send-1M") == 0)
        return BLOCK_LENGTH / time_fresh_ns(peer);
    if (strcmp(name, "rate-8") == 0)
        return 1e3 /
               least(time_ns(peer, stream_8, MESSAGES), time_ns(peer, stream_windows, MESSAGES));
    if (strcmp(name, "window-8") == 0)
        return 1e3 / time_ns(peer, stream_windows, MESSAGES);
    if (strcmp(name, "ping-1M") == 0)
        return BLOCK_LENGTH / (time_ns(peer, ping_block, 4) / 2);
    if (strncmp(name, "stream-", 7) == 0)
        return measure_stream(peer, length_of(name + 7));
    if (strcmp(name, "lock") == 0)
        return time_ns(peer, lock_alone, 500);
    if (strcmp(name, "lock-contended") == 0)
        return time_ns(peer, lock_contended, 500) / 2;
    return 0;
}

/* In microseconds, as sets.c of the bench has it. */
static double measure_collective(struct peer *peer, char collective, const char *name)
{
    char *before = peer->block;
    peer->collective = collective;
    peer->length = length_of(strrchr(name, '-') + 1);
    size_t whole = 2 * (size_t)peer->length * (size_t)peer->size;
    peer->block = malloc(whole);
    if (!peer->block)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(peer->block, peer->rank, whole);
    double us = time_crowd_ns(peer, collect) / 1e3;
    free(peer->block);
    peer->block = before;
    return us;
}

static double measure_case(struct peer *peer, const char *name)
{
    static const char *const collectives[][2] = {
        {"broadcast-", "b"}, {"allgather-", "g"}, {"alltoall-", "t"}, {"allreduce-", "r"}};
    for (int i = 0; i < 4 && strcmp(name, "allreduce-8") != 0; i++) {
        if (strncmp(name, collectives[i][0], strlen(collectives[i][0])) == 0)
            return measure_collective(peer, collectives[i][1][0], name);
    }
    if (strncmp(name, "barrier-", 8) == 0)
        return time_crowd_ns(peer, barrier);
    if (strcmp(name, "allreduce-8") == 0)
        return time_crowd_ns(peer, allreduce);
    if (strcmp(name, "many-8") == 0)
        return 1e3 * (peer->size - 1) / time_crowd_ns(peer, many);
    if (strcmp(name, "all-8") == 0)
        return time_crowd_ns(peer, all_to_all);
    return peer->size == 2 ? measure_pair(peer, name) : 0;
}

static void follow(struct peer *peer, struct follow_sheet *sheet)
{
    uint32_t seen = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (peer->rank == 0)
        follow_tell(&sheet->is_ready, 1);
    for (;;) {
        while (atomic_load(&sheet->step) == seen)
            follow_sleep(&sheet->step, seen);
        seen++;
        if (strcmp(sheet->name, FOLLOW_QUIT) == 0)
            return;
        set_priority(peer, 1);
        double value = measure_case(peer, sheet->name);
        set_priority(peer, 0);
        MPI_Barrier(MPI_COMM_WORLD); /* all have read the name */
        if (peer->rank == 0) {
            sheet->value = value;
            follow_tell(&sheet->done, seen);
        }
    }
}

static struct follow_sheet *map_sheet(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *address = MAP_FAILED;
    if (fd >= 0)
        address = mmap(NULL, sizeof(struct follow_sheet), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                       0);
    if (address == MAP_FAILED) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    close(fd);
    return address;
}

int main(int argc, char **argv)
{
    struct peer peer;
    void *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &peer.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &peer.size);
    peer.block = aligned_alloc(4096, BLOCK_LENGTH);
    memset(peer.block, 0, BLOCK_LENGTH);
    if (peer.size == 2) {
        MPI_Win_allocate(BLOCK_LENGTH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &peer.window);
        memset(memory, 0, BLOCK_LENGTH);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    take_core(peer.rank);
    if (argc == 3 && strcmp(argv[1], "--follow") == 0)
        follow(&peer, map_sheet(argv[2]));
    else
        measure(&peer);
    if (peer.size == 2)
        MPI_Win_free(&peer.window);
    free(peer.block);
    MPI_Finalize();
    return 0;
}
