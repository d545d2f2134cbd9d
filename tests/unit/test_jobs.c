/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding jobs through /proc: a proper one is found and read, a forged, short or shrinking one is
 * passed over, and no descriptor is left behind.
 */
#include "cli/job/jobs.h"
#include "rma/rma_layer.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define JOB_ID 0x7e57ab1e00000000ULL

static int fake_memory(const char *prefix, uint64_t id, const void *data, size_t length)
{
    char name[64];
    snprintf(name, sizeof(name), "%s%llx", prefix, (unsigned long long)id);
    int fd = memfd_create(name, MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, length, 0), (ssize_t)length);
    return fd;
}

static struct roster *fake_roster(uint64_t id, uint32_t size)
{
    struct roster *roster = calloc(1, roster_bytes(size));
    assert_non_null(roster);
    roster->magic = ROSTER_MAGIC;
    roster->version = ROSTER_VERSION;
    roster->size = size;
    roster->job_id = id;
    roster->start_time_s = 1700000000;
    roster->launcher_pid = getpid();
    memcpy(roster->nic, "shm", 4);
    memcpy(roster->command, "fake", 5);
    return roster;
}

static struct live_job *find(struct live_job *jobs, size_t job_count, uint64_t id)
{
    for (size_t i = 0; i < job_count; i++) {
        if (jobs[i].id == id)
            return &jobs[i];
    }
    return NULL;
}

static void test_found(void **state)
{
    (void)state;
    uint64_t id = JOB_ID + 1;
    struct roster *roster = fake_roster(id, 3);
    struct board_rank board[3];
    memset(board, 0, sizeof(board));
    board[2].counters.value[COUNTER_PUSH] = 42;
    roster->peer[0].state = RH_PEER_JOINED;
    roster->peer[1].state = RH_PEER_DIED;
    roster->peer[1].end_signal = 9;
    roster->peer[2].state = 77;                             /* not a state */
    memset(roster->command, 0x1b, sizeof(roster->command)); /* unterminated control characters */
    int roster_fd = fake_memory(ROSTER_PREFIX, id, roster, roster_bytes(3));
    int board_fd = fake_memory(BOARD_PREFIX, id, board, sizeof(board));
    size_t before = unit_descriptor_count();

    struct live_job jobs[JOBS_MAX];
    size_t job_count = jobs_find(jobs);
    struct live_job *job = find(jobs, job_count, id);
    assert_non_null(job);
    struct job_snapshot *snapshot = job_snapshot_take(job);
    assert_non_null(snapshot);
    assert_int_equal(snapshot->size, 3);
    assert_int_equal(snapshot->launcher_pid, getpid());
    assert_string_equal(snapshot->nic, "shm");
    assert_int_equal(strlen(snapshot->command), sizeof(snapshot->command) - 1);
    assert_int_equal(strspn(snapshot->command, "?"), sizeof(snapshot->command) - 1);
    assert_int_equal(snapshot->rank[0].state, RH_PEER_JOINED);
    assert_int_equal(snapshot->rank[1].end_signal, 9);
    assert_int_equal(snapshot->rank[2].state, RH_PEER_DIED);
    assert_true(snapshot->rank[2].counter[COUNTER_PUSH] == 42);
    free(snapshot);
    jobs_close(jobs, job_count);
    assert_int_equal(unit_descriptor_count(), before);
    close(roster_fd);
    close(board_fd);
    free(roster);
}

static void spoil_magic(struct roster *roster)
{
    roster->magic++;
}

static void spoil_version(struct roster *roster)
{
    roster->version++;
}

static void spoil_id(struct roster *roster)
{
    roster->job_id++;
}

static void spoil_launcher(struct roster *roster)
{
    roster->launcher_pid = -1;
}

static void spoil_size_zero(struct roster *roster)
{
    roster->size = 0;
}

static void spoil_size_more(struct roster *roster)
{
    roster->size++;
}

static void spoil_size_max(struct roster *roster)
{
    roster->size = UINT32_MAX;
}

static void test_forged(void **state)
{
    (void)state;
    static void (*const spoil[])(struct roster *) = {
        spoil_magic,     spoil_version,   spoil_id,       spoil_launcher,
        spoil_size_zero, spoil_size_more, spoil_size_max,
    };
    for (size_t i = 0; i < COUNT_OF(spoil); i++) {
        uint64_t id = JOB_ID + 0x10 + i;
        struct roster *roster = fake_roster(id, 2);
        spoil[i](roster);
        int fd = fake_memory(ROSTER_PREFIX, id, roster, roster_bytes(2));
        size_t before = unit_descriptor_count();
        struct live_job jobs[JOBS_MAX];
        size_t job_count = jobs_find(jobs);
        if (find(jobs, job_count, id))
            fail_msg("forgery %zu was believed", i);
        jobs_close(jobs, job_count);
        assert_int_equal(unit_descriptor_count(), before);
        close(fd);
        free(roster);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"rhinet-roster-",
                                        "rhinet-roster-xyz",
                                        "rhinet-roster-7e57ab1e000000ff0000",
                                        "rhinet-roster-7e57ab1e000000ff-",
                                        "rhinet-roste",
                                        "x-rhinet-roster-7e57ab1e000000ff"};
    uint64_t id = JOB_ID + 0xff;
    struct roster *roster = fake_roster(id, 1);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        int fd = memfd_create(names[i], MFD_CLOEXEC);
        assert_true(fd >= 0);
        assert_true(pwrite(fd, roster, roster_bytes(1), 0) > 0);
        struct live_job jobs[JOBS_MAX];
        size_t job_count = jobs_find(jobs);
        assert_null(find(jobs, job_count, id));
        jobs_close(jobs, job_count);
        close(fd);
    }
    free(roster);
}

/* The job cuts its memory short after it was found: no SIGBUS, only a refusal. */
static void test_shrinks(void **state)
{
    (void)state;
    uint64_t id = JOB_ID + 0x200;
    struct roster *roster = fake_roster(id, 64);
    int fd = fake_memory(ROSTER_PREFIX, id, roster, roster_bytes(64));
    struct live_job jobs[JOBS_MAX];
    size_t job_count = jobs_find(jobs);
    struct live_job *job = find(jobs, job_count, id);
    assert_non_null(job);
    assert_int_equal(job->board_fd, -1); /* no board: counters read 0 */
    struct job_snapshot *snapshot = job_snapshot_take(job);
    assert_non_null(snapshot);
    free(snapshot);
    static const off_t lengths[] = {sizeof(struct roster) + 32, sizeof(struct roster), 8, 0};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        assert_int_equal(ftruncate(fd, lengths[i]), 0);
        assert_null(job_snapshot_take(job));
    }
    jobs_close(jobs, job_count);
    close(fd);
    free(roster);
}

static void test_select(void **state)
{
    (void)state;
    uint64_t id = JOB_ID + 0x300;
    struct roster *roster = fake_roster(id, 1);
    int fd = fake_memory(ROSTER_PREFIX, id, roster, roster_bytes(1));
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", getpid());
    const char *const ways[] = {pid, "7e57ab1e00000300", "7E57AB1E00000300"};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct live_job job;
        assert_int_equal(jobs_select(ways[i], &job), 0);
        assert_true(job.id == id);
        jobs_close(&job, 1);
    }
    close(fd);
    free(roster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),   cmocka_unit_test(test_forged), cmocka_unit_test(test_names),
        cmocka_unit_test(test_shrinks), cmocka_unit_test(test_select),
    };
    return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
