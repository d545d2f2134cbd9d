/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that no honest peer makes, since it checks before it asks: service_test CASE SEED, on
 * two ranks. Rank 0 asks the service thread of rank 1 for what lies outside a segment, for what the
 * segment does not grant, and for segments that are not there: the service thread must refuse by
 * its own table.
 */
#include "job/job.h"
#include "member.h"
#include "nic/shm/shm_nic.h"

#define LENGTH 4096u
#define AROUND 8192u /* of the program's own memory, before and behind */

enum { SID_ALL = 10, SID_READ = 11, SID_ATOMIC = 12, SID_WORD = 13 };

struct wish {
    enum shm_service_operation operation;
    rh_sid sid;
    uint64_t offset, length;
    int expected;
};

static const struct wish wishes[] = {
    {SHM_SERVICE_PUSH, SID_ALL, LENGTH, 1, RH_EBOUNDS},
    {SHM_SERVICE_PUSH, SID_ALL, LENGTH - 8, 16, RH_EBOUNDS},
    {SHM_SERVICE_PUSH, SID_ALL, LENGTH + 64, 8, RH_EBOUNDS},
    {SHM_SERVICE_PUSH, SID_ALL, (uint64_t)-8, 16, RH_EBOUNDS},
    {SHM_SERVICE_PUSH, SID_ALL, 0, LENGTH + 1, RH_EBOUNDS},
    {SHM_SERVICE_PULL, SID_ALL, LENGTH - 8, 16, RH_EBOUNDS},
    {SHM_SERVICE_PULL, SID_ALL, (uint64_t)-8, 8, RH_EBOUNDS},
    {SHM_SERVICE_ATOMIC, SID_ALL, LENGTH, 8, RH_EBOUNDS},
    {SHM_SERVICE_ATOMIC, SID_ALL, 4, 8, RH_EINVALID},
    {SHM_SERVICE_PUSH, SID_READ, 0, 8, RH_ERIGHTS},
    {SHM_SERVICE_ATOMIC, SID_READ, 0, 8, RH_ERIGHTS},
    {SHM_SERVICE_PULL, SID_ATOMIC, 0, 8, RH_ERIGHTS},
    {SHM_SERVICE_PUSH, SID_ATOMIC, 0, 8, RH_ERIGHTS},
    {(enum shm_service_operation)9, SID_ALL, 0, 8, RH_EINVALID},
    /* and what it must not refuse */
    {SHM_SERVICE_PUSH, SID_ALL, LENGTH - 8, 8, 0},
    {SHM_SERVICE_PULL, SID_ALL, 0, LENGTH, 0},
    {SHM_SERVICE_PULL, SID_READ, LENGTH, 0, 0},
    {SHM_SERVICE_ATOMIC, SID_ATOMIC, LENGTH - 8, 8, 0},
};

static int ask(struct member *member, const struct wish *wish, uint64_t state_change)
{
    static char buffer[2 * LENGTH];
    struct shm_nic *shm = shm_nic_of(member->job->nic);
    int result = 0;
    struct guard_record *guard = guard_enter();
    const struct shm_view *seen = shm_view_find(shm, 1, wish->sid, &result);
    MEMBER_OK(member, result);
    struct shm_view forged = {.rank = 1, .sid = wish->sid, .state = seen->state + state_change};
    guard_leave(guard);
    struct shm_service_call call = {.operation = wish->operation,
                                    .view = &forged,
                                    .offset = wish->offset,
                                    .length = wish->length,
                                    .buffer = memset(buffer, 0x5a, sizeof(buffer)),
                                    .operands = {.operand = 1}};
    return shm_service_ask(shm, &call);
}

static void forge(struct member *member)
{
    static const struct wish stale = {SHM_SERVICE_PUSH, SID_ALL, 0, 8, RH_ESTALE};
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        int result = ask(member, &wishes[i], 0);
        if (result != wishes[i].expected)
            MEMBER_FAIL(member, "wish %zu: expected %d, got %d", i, wishes[i].expected, result);
    }
    MEMBER_CODE(member, ask(member, &stale, 4), RH_ESTALE); /* another generation */
    MEMBER_CODE(member, ask(member, &stale, (uint64_t)-4), RH_ESTALE);
}

static void check_untouched(struct member *member, const char *part, size_t length)
{
    for (size_t i = 0; i < length; i++)
        MEMBER_CHECK(member, part[i] == 0);
}

static void open_segment(struct member *member, rh_sid sid, char *base, unsigned rights)
{
    struct rh_segment segment = {.struct_size = sizeof(segment),
                                 .sid = sid,
                                 .base = base,
                                 .length = LENGTH,
                                 .rights = rights};
    MEMBER_OK(member, rh_segment_create(member->job, &segment));
}

static int part(struct rh_job *job, const char *name, uint64_t seed)
{
    struct member member = {.job = job};
    (void)name;
    member_start(&member, seed);
    char *memory = calloc(1, LENGTH + 2 * AROUND), *base = memory + AROUND;
    uint64_t *word;
    MEMBER_CHECK(&member, memory != NULL);
    MEMBER_OK(&member, rh_segment_alloc(member.job, SID_WORD, 8, (void **)&word));
    if (member.rank == 1) {
        open_segment(&member, SID_READ, memory, RH_READ);
        open_segment(&member, SID_ATOMIC, base + LENGTH + 64, RH_ATOMIC);
        open_segment(&member, SID_ALL, base, RH_READ | RH_WRITE | RH_ATOMIC);
        struct rh_wait wait = {.word = word,
                               .when = RH_EQUAL,
                               .value = 1,
                               .from = 0,
                               .timeout_ns = RH_TIMEOUT_DEFAULT};
        MEMBER_OK(&member, rh_wait_word(member.job, &wait));
        check_untouched(&member, memory, AROUND + LENGTH - 8);
        check_untouched(&member, base + LENGTH, 64);
        MEMBER_CHECK(&member, base[LENGTH - 1] == 0x5a);
    } else {
        uint64_t one = 1;
        MEMBER_OK(&member, rh_segment_wait(member.job, 1, SID_ALL, RH_TIMEOUT_DEFAULT));
        forge(&member);
        MEMBER_OK(&member, rh_push(member.job, rh_at(1, SID_WORD, 0), &one, sizeof(one)));
    }
    member_end(&member);
    free(memory);
    return 0;
}

int main(int count, char **words)
{
    return member_main(count, words, part);
}
