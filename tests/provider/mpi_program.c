/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An ordinary MPI program that checks what it gets: `mpirun -n N mpi_program CASE...`, without a
 * case all of them. Compiled by whatever mpicc is there, with nothing of rhinet's. Prints "ok CASE"
 * at rank 0; what is wrong is said and ends the job.
 *
 * Longer than most files: it is a user's program, in one file as they are.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: expected %s\n", __FILE__, __LINE__, rank,             \
                    #condition);                                                                   \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

#define WORLD MPI_COMM_WORLD

static int rank, size;
static const int lengths[] = {0,    1,    8,    31,   32,   33,   48,    100,
                              2000, 2048, 2100, 8000, 8192, 8193, 65536, 1 << 20};
#define LENGTH_COUNT (int)(sizeof(lengths) / sizeof(lengths[0]))

static void fill(char *buffer, int length, int seed)
{
    for (int i = 0; i < length; i++)
        buffer[i] = (char)(seed * 31 + i * 7 + (i >> 8));
}

static int is_filled(const char *buffer, int length, int seed)
{
    for (int i = 0; i < length; i++) {
        if (buffer[i] != (char)(seed * 31 + i * 7 + (i >> 8)))
            return 0;
    }
    return 1;
}

/* ---- Point to point ------------------------------------------------------------------------- */

typedef int (*send_call)(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static void ring_of(send_call send, int length, int seed)
{
    char *out = malloc((size_t)length + 1), *in = malloc((size_t)length + 1);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request request;
    MPI_Status status;
    fill(out, length, seed + rank);
    memset(in, 0, (size_t)length + 1);
    MPI_Irecv(in, length, MPI_CHAR, last, 5, WORLD, &request);
    MPI_Barrier(WORLD); /* for ready sends: all receives are posted */
    send(out, length, MPI_CHAR, next, 5, WORLD);
    MPI_Wait(&request, &status);
    int count;
    MPI_Get_count(&status, MPI_CHAR, &count);
    EXPECT(count == length && status.MPI_SOURCE == last && status.MPI_TAG == 5);
    EXPECT(is_filled(in, length, seed + last));
    free(out);
    free(in);
}

static void modes(void)
{
    size_t room = (1 << 20) + MPI_BSEND_OVERHEAD;
    void *buffer = malloc(room);
    MPI_Buffer_attach(buffer, (int)room);
    for (int i = 0; i < LENGTH_COUNT; i++) {
        ring_of(MPI_Send, lengths[i], 1);
        ring_of(MPI_Ssend, lengths[i], 2);
        ring_of(MPI_Rsend, lengths[i], 3);
        ring_of(MPI_Bsend, lengths[i], 4);
    }
    int detached;
    MPI_Buffer_detach(&buffer, &detached);
    free(buffer);
}

/* Every rank sends to every other, itself as well, much at a time and before anybody receives. */
static void everybody(void)
{
    enum { COUNT = 40 };
    int total = size * COUNT;
    MPI_Request *request = malloc((size_t)total * 2 * sizeof(*request));
    char **buffer = calloc((size_t)total * 2, sizeof(*buffer));
    for (int i = 0; i < total; i++) {
        int peer = i % size, length = lengths[i / size % (LENGTH_COUNT - 1)];
        buffer[i] = malloc((size_t)length + 1);
        fill(buffer[i], length, rank * 1000 + i / size);
        MPI_Isend(buffer[i], length, MPI_CHAR, peer, i / size, WORLD, &request[i]);
    }
    MPI_Barrier(WORLD);
    for (int i = 0; i < total; i++) {
        int peer = i % size, tag = COUNT - 1 - i / size, length = lengths[tag % (LENGTH_COUNT - 1)];
        buffer[total + i] = malloc((size_t)length + 1);
        MPI_Irecv(buffer[total + i], length, MPI_CHAR, peer, tag, WORLD, &request[total + i]);
    }
    MPI_Waitall(2 * total, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < total; i++) {
        int peer = i % size, tag = COUNT - 1 - i / size;
        EXPECT(is_filled(buffer[total + i], lengths[tag % (LENGTH_COUNT - 1)], peer * 1000 + tag));
    }
    for (int i = 0; i < 2 * total; i++)
        free(buffer[i]);
    free(buffer);
    free(request);
}

/* Thousands that nobody has asked for lie before the one that is wanted. */
static void unexpected(void)
{
    enum { COUNT = 3000 };
    int peer = rank ^ 1, value = -1;
    if (peer >= size)
        return;
    MPI_Request *request = malloc((COUNT + 1) * sizeof(*request));
    int *out = malloc((COUNT + 1) * sizeof(*out));
    for (int i = 0; i <= COUNT; i++) {
        out[i] = i;
        MPI_Isend(&out[i], 1, MPI_INT, peer, i < COUNT ? 1 : 2, WORLD, &request[i]);
    }
    MPI_Recv(&value, 1, MPI_INT, peer, 2, WORLD, MPI_STATUS_IGNORE);
    EXPECT(value == COUNT);
    for (int i = 0; i < COUNT; i++) {
        MPI_Recv(&value, 1, MPI_INT, peer, 1, WORLD, MPI_STATUS_IGNORE);
        EXPECT(value == i); /* in order */
    }
    MPI_Waitall(COUNT + 1, request, MPI_STATUSES_IGNORE);
    free(request);
    free(out);
}

static void any_source(void)
{
    int sum = 0;
    for (int round = 0; round < 50; round++) {
        if (rank == 0) {
            int seen = 0;
            for (int i = 1; i < size; i++) {
                MPI_Status status;
                int value;
                MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
                EXPECT(value == status.MPI_SOURCE * 100 + round && status.MPI_TAG == round);
                seen += status.MPI_SOURCE;
            }
            EXPECT(seen == size * (size - 1) / 2);
        } else {
            int value = rank * 100 + round;
            MPI_Ssend(&value, 1, MPI_INT, 0, round, WORLD);
        }
        MPI_Bcast(&sum, 1, MPI_INT, 0, WORLD);
    }
}

static void probes(void)
{
    for (int i = 0; i < LENGTH_COUNT; i++) {
        int length = lengths[i], last = (rank + size - 1) % size, count, flag = 0;
        char *out = malloc((size_t)length + 1), *in = calloc((size_t)length + 1, 1);
        MPI_Request request;
        MPI_Status status;
        MPI_Message message;
        MPI_Iprobe(last, 77, WORLD, &flag, &status);
        EXPECT(!flag);
        fill(out, length, i);
        for (int kind = 0; kind < 3; kind++) {
            MPI_Isend(out, length, MPI_CHAR, (rank + 1) % size, kind, WORLD, &request);
            if (kind == 0)
                MPI_Probe(last, kind, WORLD, &status);
            else if (kind == 1)
                MPI_Mprobe(MPI_ANY_SOURCE, kind, WORLD, &message, &status);
            for (flag = 0; kind == 2 && !flag;)
                MPI_Improbe(last, kind, WORLD, &flag, &message, &status);
            MPI_Get_count(&status, MPI_CHAR, &count);
            EXPECT(count == length && status.MPI_SOURCE == last);
            if (kind == 0)
                MPI_Recv(in, length, MPI_CHAR, last, kind, WORLD, &status);
            else
                MPI_Mrecv(in, length, MPI_CHAR, &message, &status);
            EXPECT(is_filled(in, length, i));
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        free(out);
        free(in);
    }
}

static void cut_and_cancelled(void)
{
    char out[4000], in[4000];
    int peer = (rank + 1) % size, last = (rank + size - 1) % size, flag;
    MPI_Request request;
    MPI_Status status;
    fill(out, sizeof(out), 3);
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    for (int length = 16; length <= 4000; length += 3984) {
        MPI_Isend(out, length, MPI_CHAR, peer, 0, WORLD, &request);
        int result = MPI_Recv(in, 10, MPI_CHAR, last, 0, WORLD, &status), kind;
        MPI_Error_class(result, &kind);
        EXPECT(kind == MPI_ERR_TRUNCATE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Irecv(in, 10, MPI_CHAR, last, 99, WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(flag);
}

static void types(void)
{
    enum { ROWS = 50, COLUMNS = 40 };
    static int matrix[ROWS][COLUMNS], column[ROWS];
    MPI_Datatype type;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < ROWS; i++)
        matrix[i][7] = rank * 1000 + i;
    MPI_Request request;
    MPI_Isend(&matrix[0][7], 1, type, (rank + 1) % size, 0, WORLD, &request);
    int last = (rank + size - 1) % size;
    MPI_Recv(column, ROWS, MPI_INT, last, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < ROWS; i++)
        EXPECT(column[i] == last * 1000 + i);
    MPI_Type_free(&type);
}

/* ---- All together --------------------------------------------------------------------------- */

static void collectives(void)
{
    for (int length = 1; length <= 100000; length *= 10) {
        int *one = malloc((size_t)length * sizeof(int));
        int *all = malloc((size_t)length * (size_t)size * sizeof(int));
        int *more = malloc((size_t)length * (size_t)size * sizeof(int));
        for (int root = 0; root < size; root++) {
            for (int i = 0; i < length; i++)
                one[i] = rank == root ? root * 3 + i : -1;
            MPI_Bcast(one, length, MPI_INT, root, WORLD);
            EXPECT(one[length - 1] == root * 3 + length - 1);
        }
        for (int i = 0; i < length; i++)
            one[i] = rank + i;
        MPI_Allreduce(one, all, length, MPI_INT, MPI_SUM, WORLD);
        EXPECT(all[length - 1] == size * (size - 1) / 2 + size * (length - 1));
        MPI_Scan(one, all, length, MPI_INT, MPI_SUM, WORLD);
        EXPECT(all[0] == rank * (rank + 1) / 2);
        MPI_Allgather(one, length, MPI_INT, all, length, MPI_INT, WORLD);
        for (int i = 0; i < size; i++)
            EXPECT(all[i * length + length - 1] == i + length - 1);
        MPI_Alltoall(all, length, MPI_INT, more, length, MPI_INT, WORLD);
        for (int i = 0; i < size; i++)
            EXPECT(more[i * length] == rank);
        MPI_Gather(one, length, MPI_INT, all, length, MPI_INT, 0, WORLD);
        MPI_Scatter(all, length, MPI_INT, more, length, MPI_INT, 0, WORLD);
        EXPECT(more[length - 1] == rank + length - 1);
        MPI_Reduce_scatter_block(all, more, length, MPI_INT, MPI_MAX, WORLD);
        MPI_Barrier(WORLD);
        free(one);
        free(all);
        free(more);
    }
}

static void communicators(void)
{
    MPI_Comm same, half;
    int place, count, sum;
    MPI_Comm_dup(WORLD, &same);
    MPI_Comm_split(WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &place);
    MPI_Comm_size(half, &count);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    int expected = 0;
    for (int i = rank % 2; i < size; i += 2)
        expected += i;
    EXPECT(sum == expected);
    /* The same envelope in two communicators is two messages. */
    int next = (rank + 1) % size, last = (rank + size - 1) % size, a = 1, b = 2, first, second;
    MPI_Request request[2];
    MPI_Isend(&a, 1, MPI_INT, next, 0, WORLD, &request[0]);
    MPI_Isend(&b, 1, MPI_INT, next, 0, same, &request[1]);
    MPI_Recv(&second, 1, MPI_INT, last, 0, same, MPI_STATUS_IGNORE);
    MPI_Recv(&first, 1, MPI_INT, last, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    EXPECT(first == 1 && second == 2);
    MPI_Comm_free(&half);
    MPI_Comm_free(&same);
}

static void one_sided(void)
{
    long *memory, one = 1, seen = -1;
    MPI_Win window;
    MPI_Win_allocate((MPI_Aint)((size_t)size * sizeof(long)), sizeof(long), MPI_INFO_NULL, WORLD,
                     &memory, &window);
    memset(memory, 0, (size_t)size * sizeof(long));
    MPI_Win_fence(0, window);
    long value = rank + 1000;
    for (int i = 0; i < size; i++)
        MPI_Put(&value, 1, MPI_LONG, i, rank, 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < size; i++)
        EXPECT(memory[i] == i + 1000);
    MPI_Win_fence(0, window);
    for (int i = 0; i < 10; i++)
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_unlock(0, window);
    EXPECT(seen == 1000 + 10 * size);
    MPI_Barrier(WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&one, &seen, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    EXPECT(seen >= 1000 + 10 * size && seen < 1000 + 11 * size);
    MPI_Win_free(&window);
}

/* ---- Threads -------------------------------------------------------------------------------- */

static void *talk(void *argument)
{
    int tag = *(int *)argument, next = (rank + 1) % size, last = (rank + size - 1) % size;
    char *out = malloc(20000), *in = malloc(20000);
    for (int i = 0; i < 100; i++) {
        int length = i * 191 % 20000;
        MPI_Request request;
        fill(out, length, tag * 100 + i);
        MPI_Isend(out, length, MPI_CHAR, next, tag, WORLD, &request);
        MPI_Recv(in, length, MPI_CHAR, last, tag, WORLD, MPI_STATUS_IGNORE);
        EXPECT(is_filled(in, length, tag * 100 + i));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(out);
    free(in);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[3];
    int tag[3];
    for (int i = 0; i < 3; i++) {
        tag[i] = i + 1;
        pthread_create(&thread[i], NULL, talk, &tag[i]);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

/* ---- The end of a rank ---------------------------------------------------------------------- */

static void killed(void)
{
    int value;
    MPI_Barrier(WORLD);
    if (rank == size - 1)
        raise(SIGKILL);
    MPI_Recv(&value, 1, MPI_INT, size - 1, 0, WORLD, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"modes", modes},
             {"everybody", everybody},
             {"unexpected", unexpected},
             {"any_source", any_source},
             {"probes", probes},
             {"cut_and_cancelled", cut_and_cancelled},
             {"types", types},
             {"collectives", collectives},
             {"communicators", communicators},
             {"one_sided", one_sided},
             {"threads", threads},
             {"killed", killed}};

static int is_wanted(const char *name, int count, char **words)
{
    int is_by_itself = strcmp(name, "threads") == 0 || strcmp(name, "killed") == 0;
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], name) == 0)
            return 1;
    }
    return count == 1 && !is_by_itself;
}

int main(int count, char **words)
{
    int level,
        wanted = is_wanted("threads", count, words) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&count, &words, wanted, &level);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    EXPECT(level >= wanted);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (!is_wanted(cases[i].name, count, words))
            continue;
        cases[i].run();
        MPI_Barrier(WORLD);
        if (rank == 0)
            printf("ok %s\n", cases[i].name);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
