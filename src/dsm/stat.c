/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What happened to variables, and who owns them.
 */
#include "dsm/reach.h"

int rh_dsm_owner(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    if (variable >= dsm->variable_count)
        return error_fail(RH_EINVALID, "there is no variable %u", variable);
    uint64_t word = dsm_own_word(dsm, variable);
    return word & WORD_OWNER ? dsm->rank : word_hint(word);
}

static void add(struct rh_dsm_stat *sum, const struct rh_dsm_stat *one)
{
    dsm_stat_add(&sum->read_hits, __atomic_load_n(&one->read_hits, __ATOMIC_RELAXED));
    dsm_stat_add(&sum->read_misses, __atomic_load_n(&one->read_misses, __ATOMIC_RELAXED));
    dsm_stat_add(&sum->write_hits, __atomic_load_n(&one->write_hits, __ATOMIC_RELAXED));
    dsm_stat_add(&sum->write_misses, __atomic_load_n(&one->write_misses, __ATOMIC_RELAXED));
    dsm_stat_add(&sum->waits, __atomic_load_n(&one->waits, __ATOMIC_RELAXED));
    dsm_stat_add(&sum->invalidations, __atomic_load_n(&one->invalidations, __ATOMIC_RELAXED));
    dsm_stat_add(&sum->updates, __atomic_load_n(&one->updates, __ATOMIC_RELAXED));
    dsm_stat_add(&sum->fetched_bytes, __atomic_load_n(&one->fetched_bytes, __ATOMIC_RELAXED));
    dsm_stat_add(&sum->pushed_bytes, __atomic_load_n(&one->pushed_bytes, __ATOMIC_RELAXED));
    dsm_stat_add(&sum->bounces, __atomic_load_n(&one->bounces, __ATOMIC_RELAXED));
}

int rh_dsm_stat(struct rh_dsm *dsm, rh_dsm_variable variable, struct rh_dsm_stat *stat)
{
    struct rh_dsm_stat sum = {.struct_size = sizeof(sum)};
    if (stat->struct_size != sizeof(sum))
        return error_fail(RH_EINVALID, "struct_size is %zu, not %zu; set it to sizeof",
                          stat->struct_size, sizeof(sum));
    if (variable < dsm->variable_count)
        add(&sum, &dsm->own[variable].stat);
    else
        for (uint32_t i = 0; i < dsm->variable_count; i++)
            add(&sum, &dsm->own[i].stat);
    *stat = sum;
    return 0;
}
