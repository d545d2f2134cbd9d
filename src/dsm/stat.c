/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What happened to variables, and who owns them.
 */
#include "dsm/reach.h"

#include <string.h>

int rh_dsm_owner(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    if (variable >= dsm->variable_count)
        return error_set(RH_EINVALID, ERROR_NO_RANK, "there is no variable %u", variable);
    uint64_t word = dsm_own_word(dsm, variable);
    return word & WORD_OWNER ? dsm->rank : word_hint(word);
}

static void add(struct rh_dsm_stat *sum, const struct rh_dsm_stat *one)
{
    sum->read_hits += one->read_hits;
    sum->read_misses += one->read_misses;
    sum->write_hits += one->write_hits;
    sum->write_misses += one->write_misses;
    sum->waits += one->waits;
    sum->invalidations += one->invalidations;
    sum->updates += one->updates;
    sum->fetched_bytes += one->fetched_bytes;
    sum->pushed_bytes += one->pushed_bytes;
    sum->bounces += one->bounces;
}

int rh_dsm_stat(struct rh_dsm *dsm, rh_dsm_variable variable, struct rh_dsm_stat *stat)
{
    struct rh_dsm_stat sum = {.struct_size = sizeof(sum)};
    if (stat->struct_size != sizeof(sum))
        return error_set(RH_EINVALID, ERROR_NO_RANK,
                         "struct_size is %zu, not %zu; set it to sizeof", stat->struct_size,
                         sizeof(sum));
    if (variable < dsm->variable_count)
        add(&sum, &dsm->own[variable].stat);
    else
        for (uint32_t i = 0; i < dsm->variable_count; i++)
            add(&sum, &dsm->own[i].stat);
    *stat = sum;
    return 0;
}
