/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks do not answer any more, but live: stopped CASE SEED.
 *
 *   calls  each call on shared memory gives up after one time-out, however many steps it has; the
 *          network is one that swallows everything, and its clock is the test's. Three ranks
 *   data   the first rank is stopped while the other fetches many pieces of it. When the acquire
 *          has given up nobody writes the memory of the caller any more, nor the copy, also after
 *          the first rank goes on. Two ranks, on a network
 */
#include "dsm/bulk.h"
#include "dsm_member.h"
#include "job/job.h"

#include <dirent.h>
#include <signal.h>

#define PID_TAG  1
#define DONE_TAG 2
#define PIECES   14 /* that are under way at once */
#define LONG     65536

static void meet(struct dsm_test *test)
{
    MEMBER_OK(&test->member, rh_dsm_barrier(test->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static struct nic_ops sound, silent;
static int64_t later_ns; /* added to the clock */
static int steps;        /* that took a time-out */

static int take_long(struct nic *nic, int rank)
{
    (void)nic;
    steps++;
    later_ns += RH_MILLISECONDS(1000000);
    return error_set(RH_ETIMEOUT, rank, "the test's network is silent");
}

static int silent_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
                       const struct nic_extra *extra)
{
    (void)target, (void)length, (void)extra;
    return take_long(nic, source.rank);
}

static int silent_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
                       const struct nic_extra *extra)
{
    (void)source, (void)length, (void)extra;
    return take_long(nic, target.rank);
}

static int silent_atomic(struct nic *nic, struct rh_remote target,
                         const struct nic_atomic_operands *operands, uint64_t *old)
{
    (void)operands, (void)old;
    return take_long(nic, target.rank);
}

static int64_t later(struct nic *nic)
{
    return sound.now_ns(nic) + later_ns;
}

static void fall_silent(struct dsm_test *test)
{
    struct nic *nic = test->member.job->nic;
    sound = silent = *nic->ops;
    silent.pull = silent_pull;
    silent.push = silent_push;
    silent.atomic = silent_atomic;
    silent.now_ns = later;
    for (int rank = 0; rank < test->member.size; rank += 2) {
        test->dsm->peers[rank].entries = NULL;
        test->dsm->peers[rank].heap = NULL;
    }
    dsm_member_ops_set(test->member.job, &silent);
}

#define GIVES_UP(test_, call_, code_)                                                              \
    do {                                                                                           \
        steps = 0;                                                                                 \
        MEMBER_CODE(&(test_)->member, call_, code_);                                               \
        if (steps != 1)                                                                            \
            MEMBER_FAIL(&(test_)->member, "it took %d steps in vain", steps);                      \
    } while (0)

/* Rank 0 owns variable 0 and the allocator, and has a copy of 1 and 4, which are rank 1's. */
static void test_calls(struct dsm_test *test)
{
    struct rh_dsm *dsm = test->dsm;
    struct rh_dsm_region region = {.offset = rh_dsm_offset(dsm, test->pairs[1]), .length = 64};
    struct dsm_patience patience = {.purpose = "test", .timeout_ns = RH_MILLISECONDS(1000)};
    struct dsm_search search = {.target = 0};
    rh_dsm_variable own = 4;
    uint64_t offset;
    if (test->member.rank == 0) {
        for (rh_dsm_variable i = 0; i <= own; i++) {
            MEMBER_OK(&test->member, rh_dsm_acquire(dsm, i, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
            MEMBER_OK(&test->member, rh_dsm_release(dsm, i));
        }
        MEMBER_OK(&test->member, rh_dsm_alloc(dsm, 64, &offset));
    }
    meet(test);
    if (test->member.rank == 1) {
        fall_silent(test);
        GIVES_UP(test, rh_dsm_acquire(dsm, 0, RH_DSM_READ, RH_TIMEOUT_DEFAULT), RH_ETIMEOUT);
        GIVES_UP(test, rh_dsm_acquire(dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT), RH_ETIMEOUT);
        GIVES_UP(test, rh_dsm_acquire(dsm, 1, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT), RH_ETIMEOUT);
        GIVES_UP(test, rh_dsm_alloc(dsm, 64, &offset), RH_ETIMEOUT);
        GIVES_UP(test, rh_dsm_free(dsm, 64), RH_ETIMEOUT);
        GIVES_UP(test, rh_dsm_adopt(dsm, 2, true), RH_ETIMEOUT);
        GIVES_UP(test, rh_dsm_signal(dsm, 0), RH_ETIMEOUT);
        GIVES_UP(test, dsm_owner_find(dsm, 2, &search, &patience), RH_ETIMEOUT);
        dsm->own[own].interest = WORD_COPIES;
        steps = 0;
        dsm_update_interested(dsm, own); /* as a barrier does, or a release */
        MEMBER_CHECK(&test->member, steps == 1);
        dsm->entries[1].word |= WORD_WRITER; /* held, whoever has a copy */
        GIVES_UP(test, rh_dsm_bind(dsm, 1, &region, 1), RH_ETIMEOUT);
        dsm->entries[1].waiters_read = dsm->entries[1].waiters_write = dsm_bit(0);
        dsm->entries[1].word |= WORD_WANTED;
        dsm->own[1].has_end_work = false;
        steps = 0;
        MEMBER_OK(&test->member, rh_dsm_release(dsm, 1));
        MEMBER_CHECK(&test->member, steps <= 2); /* one for the readers, one for the writers */
        MEMBER_CHECK(&test->member, !(dsm->entries[1].word & WORD_TAKEN));
        test->member.job->nic->ops = &sound;
    }
    meet(test);
}

/* ---- Data ----------------------------------------------------------------------------------- */

static pid_t other;
static struct dsm_bulk_ops bulk;

/* Whether a thread of the other rank may still run. */
static bool other_runs(void)
{
    char path[64], line[512];
    bool runs = false;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)other);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        snprintf(line, sizeof(line), "%s/%.20s/stat", path, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(line, "r");
        if (file && fgets(line, sizeof(line), file))
            runs |= strrchr(line, ')') && strrchr(line, ')')[2] != 'T';
        if (file)
            fclose(file);
    }
    if (threads)
        closedir(threads);
    return runs;
}

static int stop_and_pull(const struct dsm_move *move)
{
    kill(other, SIGSTOP);
    while (other_runs())
        usleep(1000);
    return dsm_bulk_rdma.pull(move);
}

/* Where the flags of the pull were, there is something else now. */
static __attribute__((noinline)) void look_after(struct dsm_test *test)
{
    unsigned char stack[LONG];
    char *data = rh_dsm_ptr(test->dsm, rh_dsm_offset(test->dsm, test->pairs[0]));
    uint64_t never = 0;
    struct rh_wait wait = {.word = &never,
                           .when = RH_NOT_EQUAL,
                           .from = test->member.rank,
                           .timeout_ns = RH_MILLISECONDS(1000)};
    memset(stack, 0x5a, sizeof(stack));
    memset(data, 0x5a, sizeof(struct pair));
    __asm__ volatile("" ::"r"(stack) : "memory");
    kill(other, SIGCONT);
    MEMBER_CODE(&test->member, rh_wait_word(test->member.job, &wait), RH_ETIMEOUT);
    MEMBER_OK(&test->member, rh_flush(test->member.job, 0));
    for (size_t i = 0; i < sizeof(stack); i++)
        if (stack[i] != 0x5a)
            MEMBER_FAIL(&test->member, "byte %zu of the stack was written", i);
    for (size_t i = 0; i < sizeof(struct pair); i++)
        if (data[i] != 0x5a)
            MEMBER_FAIL(&test->member, "byte %zu of the copy was written", i);
}

static void bind_pieces(struct dsm_test *test)
{
    struct rh_dsm_region region = {.offset = rh_dsm_offset(test->dsm, test->pairs[0]),
                                   .length = 16,
                                   .block_count = PIECES,
                                   .stride = 32};
    MEMBER_OK(&test->member, rh_dsm_acquire(test->dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(&test->member, rh_dsm_bind(test->dsm, 0, &region, 1));
    MEMBER_OK(&test->member, rh_dsm_release(test->dsm, 0));
}

static void test_data(struct dsm_test *test)
{
    struct member *member = &test->member;
    pid_t own = getpid();
    if (member->rank == 0) {
        bind_pieces(test);
        MEMBER_OK(member, rh_send(member->msg, 1, PID_TAG, &own, sizeof(own)));
        MEMBER_OK(member, rh_recv(member->msg, 1, DONE_TAG, &own, sizeof(own), NULL));
        return;
    }
    MEMBER_OK(member, rh_recv(member->msg, 0, PID_TAG, &other, sizeof(other), NULL));
    bulk = dsm_bulk_rdma;
    bulk.pull = stop_and_pull;
    test->dsm->bulk = &bulk;
    MEMBER_CODE(member, rh_dsm_acquire(test->dsm, 0, RH_DSM_READ, RH_MILLISECONDS(1000)),
                RH_ETIMEOUT);
    look_after(test);
    test->dsm->bulk = &dsm_bulk_rdma;
    MEMBER_OK(member, rh_dsm_acquire(test->dsm, 0, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
    MEMBER_CHECK(member, test->pairs[0]->first == 0);
    MEMBER_OK(member, rh_dsm_release(test->dsm, 0));
    MEMBER_OK(member, rh_send(member->msg, 0, DONE_TAG, &own, sizeof(own)));
}

int main(int count, char **arguments)
{
    static const struct dsm_case cases[] = {{"calls", test_calls}, {"data", test_data}};
    return dsm_main(count, arguments, cases, sizeof(cases) / sizeof(cases[0]));
}
