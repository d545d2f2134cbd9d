/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checker: variables that go to and fro, and whether the ranks between which they do so write the
 * same parts of them.
 */
#include "base/log.h"
#include "dsm/check_state.h"
#include "dsm/reach.h"

#include <stdlib.h>
#include <string.h>

#define BOUNCES_MIN 16 /* fewer are nobody's trouble */
#define PARTS       64

/* ---- Parts ---------------------------------------------------------------------------------- */

/* Copy the data out, or compare it and note which parts differ. */
static void look_at(struct rh_dsm *dsm, rh_dsm_variable variable, bool is_end)
{
    const struct dsm_binding *binding = &dsm->bindings[variable];
    struct check_variable *state = &dsm->check->variables[variable];
    uint64_t at = 0;
    for (uint32_t i = 0; i < binding->region_count; i++) {
        const struct rh_dsm_region *region = &binding->region[i];
        uint64_t rows = region->block_count > 1 ? region->block_count : 1;
        for (uint64_t row = 0; row < rows; row++, at += region->length) {
            const char *data = dsm->heap + region->offset + row * region->stride;
            if (!is_end)
                memcpy(state->twin + at, data, region->length);
            for (uint64_t j = 0; is_end && j < region->length; j++) {
                if (data[j] != state->twin[at + j])
                    state->parts |= 1ULL << ((at + j) * PARTS / binding->length);
            }
        }
    }
}

void check_parts_begin(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    struct check_variable *state = &dsm->check->variables[variable];
    uint64_t length = dsm->bindings[variable].length;
    free(state->twin);
    state->twin = length > 0 ? malloc(length) : NULL;
    state->twin_length = length;
    if (state->twin)
        look_at(dsm, variable, false);
}

void check_parts_end(struct rh_dsm *dsm, rh_dsm_variable variable)
{
    struct check_variable *state = &dsm->check->variables[variable];
    if (state->twin && state->twin_length == dsm->bindings[variable].length)
        look_at(dsm, variable, true);
    free(state->twin);
    state->twin = NULL;
}

/* ---- Report --------------------------------------------------------------------------------- */

struct finding {
    uint64_t bounces;
    uint64_t parts;
};

static void judge(const struct rh_dsm *dsm, const struct finding *all, rh_dsm_variable variable)
{
    uint64_t bounces = 0, seen = 0;
    bool is_apart = true;
    int writer_count = 0;
    for (int rank = 0; rank < dsm->size; rank++) {
        const struct finding *one = &all[(size_t)rank * dsm->variable_count + variable];
        bounces += one->bounces;
        is_apart = is_apart && !(seen & one->parts);
        seen |= one->parts;
        writer_count += one->parts != 0;
    }
    if (bounces < BOUNCES_MIN)
        return;
    if (is_apart && writer_count > 1)
        log_warning("RHINET_DSM_CHECK: variable %u went to and fro %llu times between ranks that "
                    "write different parts of it (false sharing): bind the parts to variables of "
                    "their own",
                    variable, (unsigned long long)bounces);
    else
        log_warning("RHINET_DSM_CHECK: variable %u went to and fro %llu times", variable,
                    (unsigned long long)bounces);
}

void check_report(struct rh_dsm *dsm)
{
    size_t count = dsm->variable_count;
    struct finding *own = calloc(count, sizeof(*own));
    struct finding *all = calloc(count * (size_t)dsm->size, sizeof(*all));
    for (size_t i = 0; own && i < count; i++)
        own[i] = (struct finding){dsm->own[i].stat.bounces, dsm->check->variables[i].parts};
    if (own && all && rh_gather(dsm->set, 0, own, all, count * sizeof(*own)) == 0 &&
        dsm->rank == 0) {
        for (size_t i = 0; i < count; i++)
            judge(dsm, all, (rh_dsm_variable)i);
    }
    free(own);
    free(all);
}
