/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See job_memory.h.
 */
#include "job/job_memory.h"

#include "base/cores.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/memory_room.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static size_t board_bytes(uint32_t size)
{
    return (size_t)size * sizeof(struct board_rank);
}

static int create_named(const char *prefix, uint64_t job_id, uint64_t length, bool is_sparse)
{
    char name[48];
    snprintf(name, sizeof(name), "%s%llx", prefix, (unsigned long long)job_id);
    struct memory_shape shape = {.name = name, .length = length, .is_sparse = is_sparse};
    return memory_create(&shape);
}

static void *map(int fd, size_t length, int protection)
{
    void *address = mmap(NULL, length, protection, MAP_SHARED, fd, 0);
    if (address != MAP_FAILED)
        return address;
    error_fail(RH_ENOSPACE, "cannot map %zu bytes of the job's memory: %s", length,
               strerror(errno));
    return NULL;
}

static void fill(struct roster *roster, uint32_t size, uint64_t job_id)
{
    roster->magic = ROSTER_MAGIC;
    roster->version = ROSTER_VERSION;
    roster->size = size;
    roster->job_id = job_id;
    roster->start_time_s = time(NULL);
    roster->launcher_pid = getpid();
    roster->node_count = 1;
    roster->own_node = 0;
    atomic_init(&roster->cores, cores_allowed());
    gethostname(roster_nodes(roster)->host, sizeof(roster_nodes(roster)->host) - 1);
}

static int create(struct job_memory *memory, uint32_t size, uint64_t job_id, bool is_open)
{
    *memory = (struct job_memory){.roster_fd = -1, .board_fd = -1, .size = size};
    int result = create_named(ROSTER_PREFIX, job_id, roster_bytes(size), false);
    if (result < 0)
        goto failed;
    memory->roster_fd = result;
    result = create_named(BOARD_PREFIX, job_id, board_bytes(size), is_open);
    if (result < 0)
        goto failed;
    memory->board_fd = result;
    result = RH_ENOSPACE;
    memory->roster = map(memory->roster_fd, roster_bytes(size), PROT_READ | PROT_WRITE);
    memory->board = map(memory->board_fd, board_bytes(size), PROT_READ | PROT_WRITE);
    if (!memory->roster || !memory->board)
        goto failed;
    fill(memory->roster, size, job_id);
    memory->roster->is_open = is_open;
    memory_seal_read_only(memory->roster_fd);
    return 0;
failed:
    job_memory_release(memory);
    return result;
}

int job_memory_create(struct job_memory *memory, uint32_t size, uint64_t job_id)
{
    return create(memory, size, job_id, false);
}

int job_memory_create_open(struct job_memory *memory, uint32_t size, uint64_t job_id)
{
    return create(memory, size, job_id, true);
}

int job_memory_rank_add(struct job_memory *memory, int rank)
{
    size_t length = sizeof(memory->board[0]);
    int result = memory_reserve(memory->board_fd, (uint64_t)rank * length, length);
    if (result == 0)
        memset(&memory->board[rank], 0, length);
    return result;
}

int job_memory_map(struct job_memory *memory, int roster_fd, int board_fd, uint32_t size)
{
    uint64_t roster_length, board_length;
    *memory = (struct job_memory){.roster_fd = -1, .board_fd = -1, .size = size};
    if (!memory_is_sealed(roster_fd, &roster_length) ||
        !memory_is_sealed(board_fd, &board_length) || roster_length < roster_bytes(size) ||
        board_length < board_bytes(size))
        return error_fail(RH_ECORRUPT,
                          "the task manager sent something that is not a job's memory");
    memory->roster = map(roster_fd, roster_bytes(size), PROT_READ);
    memory->board = map(board_fd, board_bytes(size), PROT_READ | PROT_WRITE);
    if (!memory->roster || !memory->board) {
        job_memory_release(memory);
        return RH_ENOSPACE;
    }
    close(roster_fd);
    close(board_fd);
    return 0;
}

void job_memory_release(struct job_memory *memory)
{
    if (memory->roster)
        munmap(memory->roster, roster_bytes(memory->size));
    if (memory->board)
        munmap(memory->board, board_bytes(memory->size));
    descriptor_close(&memory->roster_fd);
    descriptor_close(&memory->board_fd);
    *memory = (struct job_memory){.roster_fd = -1, .board_fd = -1};
}
