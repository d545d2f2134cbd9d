/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs with mistakes that the checker is to find: dsm-check MISTAKE, on two ranks.
 */
#include "../msg/member.h"

#include <rhinet/dsm.h>

#define LENGTH 8192

static struct member member;
static struct rh_dsm *dsm;
static volatile char *data;

static void hold(rh_dsm_variable variable, enum rh_dsm_access access)
{
    MEMBER_OK(&member, rh_dsm_acquire(dsm, variable, access, RH_TIMEOUT_DEFAULT));
}

static void bind_to(rh_dsm_variable variable, uint64_t offset, uint64_t length)
{
    struct rh_dsm_region region = {.offset = offset, .length = length};
    hold(variable, RH_DSM_WRITE);
    MEMBER_OK(&member, rh_dsm_bind(dsm, variable, &region, 1));
    MEMBER_OK(&member, rh_dsm_release(dsm, variable));
}

static void meet(void)
{
    MEMBER_OK(&member, rh_dsm_barrier(dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
}

/* Both write in turn, each its own half, or both the same byte. */
static void write_in_turn(bool is_apart)
{
    for (int i = 0; i < 60; i++) {
        if (i % 2 == member.rank) {
            hold(0, RH_DSM_WRITE);
            data[is_apart ? member.rank * LENGTH / 2 : 0]++;
            MEMBER_OK(&member, rh_dsm_release(dsm, 0));
        }
        meet();
    }
}

/* ---- Races: rank 0 does one thing, then rank 1 another -------------------------------------- */

static void use(rh_dsm_variable variable, enum rh_dsm_access access)
{
    hold(variable, access);
    if (access == RH_DSM_WRITE && variable != 2) /* to which nothing is bound */
        data[100]++;
    MEMBER_OK(&member, rh_dsm_release(dsm, variable));
}

/* Later in time, but not in an order that shared memory knows of. */
static void tell(int rank)
{
    char nothing = 0;
    MEMBER_OK(&member, rh_send(member.msg, rank, 1, &nothing, 1));
}

static void be_told(int rank)
{
    char nothing;
    MEMBER_OK(&member, rh_recv(member.msg, rank, 1, &nothing, 1, NULL));
}

/* How rank 0 is to be before rank 1, as the last word of the name says. */
static void order(const char *how)
{
    if (strcmp(how, "variable") == 0 && member.rank == 0)
        use(2, RH_DSM_WRITE);
    if (strcmp(how, "readers") == 0 && member.rank == 0)
        use(2, RH_DSM_READ);
    if (strcmp(how, "signal") == 0 && member.rank == 0)
        MEMBER_OK(&member, rh_dsm_signal(dsm, 2));
    if (strcmp(how, "barrier") == 0)
        meet();
    if (member.rank == 0)
        tell(1);
    else
        be_told(0);
    if (member.rank == 1 && strcmp(how, "race") != 0 && strcmp(how, "barrier") != 0)
        use(2, strcmp(how, "readers") == 0 ? RH_DSM_READ : RH_DSM_WRITE);
}

/* FIRST,SECOND,ORDER: "held" or "read", then "writes", "reads" or "twin" (the same memory by
 * another variable). */
static void race(const char *first, const char *second, const char *how)
{
    if (strcmp(second, "twin") == 0) {
        if (member.rank == 0)
            bind_to(1, rh_dsm_offset(dsm, (const void *)data), 4096);
        meet();
    }
    if (member.rank == 0)
        use(0, strcmp(first, "held") == 0 ? RH_DSM_WRITE : RH_DSM_READ);
    order(how);
    if (member.rank == 0)
        return;
    if (strcmp(second, "writes") == 0)
        data[100] = 1;
    if (strcmp(second, "reads") == 0)
        (void)data[100];
    if (strcmp(second, "twin") == 0)
        use(1, RH_DSM_WRITE);
}

/* Rank 1 is first, and does not survive it. */
static void race_late(const char *second)
{
    char nothing;
    if (member.rank == 1)
        (void)data[100];
    MEMBER_CODE(&member, rh_recv(member.msg, 1, 1, &nothing, 1, NULL), RH_EDEAD);
    use(0, strcmp(second, "write") == 0 ? RH_DSM_WRITE : RH_DSM_READ);
    _exit(0);
}

static void make_mistake(const char *which, uint64_t offset)
{
    if (strcmp(which, "apart") == 0 || strcmp(which, "together") == 0)
        write_in_turn(which[0] == 'a');
    char first[16], second[16], how[16];
    if (sscanf(which, "%15[^,],%15[^,],%15s", first, second, how) == 3)
        race(first, second, how);
    if (strncmp(which, "late,", 5) == 0)
        race_late(which + 5);
    if (member.rank != 1)
        return;
    if (strcmp(which, "write") == 0)
        data[100] = 1;
    if (strcmp(which, "read") == 0)
        (void)data[5000];
    if (strcmp(which, "reader") == 0) {
        hold(0, RH_DSM_READ);
        data[7] = 1;
    }
    if (strcmp(which, "unbound") == 0)
        (void)data[2 * LENGTH];
    if (strcmp(which, "after") == 0) {
        hold(0, RH_DSM_WRITE);
        data[0] = 1;
        MEMBER_OK(&member, rh_dsm_release(dsm, 0));
        data[0] = 2;
    }
    if (strcmp(which, "twice") == 0)
        bind_to(1, offset + 64, 64);
}

int main(int count, char **arguments)
{
    uint64_t offset;
    if (count != 2)
        return 2;
    member_start(&member, 1);
    struct rh_dsm_options options = {.struct_size = sizeof(options),
                                     .heap_length = 1 << 20,
                                     .variable_count = 4,
                                     .msg = member.msg};
    MEMBER_OK(&member, rh_dsm_open(&dsm, member.job, &options));
    MEMBER_OK(&member, rh_dsm_alloc_named(dsm, 0, 4 * LENGTH, &offset));
    offset = (offset + 4095) & ~4095ULL; /* pages of its own */
    data = rh_dsm_ptr(dsm, offset);
    if (member.rank == 0)
        bind_to(0, offset, LENGTH);
    meet();
    make_mistake(arguments[1], offset);
    meet();
    MEMBER_OK(&member, rh_dsm_close(dsm));
    member_end(&member);
    return 0;
}
