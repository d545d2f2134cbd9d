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

static void make_mistake(const char *which, uint64_t offset)
{
    if (strcmp(which, "apart") == 0 || strcmp(which, "together") == 0)
        write_in_turn(which[0] == 'a');
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
