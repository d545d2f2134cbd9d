/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank's computing costs in virtual time: nothing, as much as was measured or a multiple of
 * it, or what a recording says. A recording has, for each rank, behind which of its calls of the
 * library it computed and how long; replayed, the job is the same as it was then.
 */
#pragma once

#include <stdint.h>

enum compute_kind { COMPUTE_NONE, COMPUTE_SCALED, COMPUTE_RECORD, COMPUTE_REPLAY };

struct compute_model {
    enum compute_kind kind;
    double factor;  /* of COMPUTE_SCALED */
    char file[256]; /* of a recording */
};

/* Reads "none", "measured", "scaled:F", "record:FILE" or "replay:FILE"; a number is a factor in per
 * mille. RH_EINVALID, without a text: the caller knows where it stood. */
int compute_model_read(struct compute_model *model, const char *text);

struct compute;

/* RH_EINVALID, RH_ECORRUPT, RH_ENOSPACE. */
int compute_open(struct compute **compute, const struct compute_model *model, uint32_t size);
/* What a rank was measured to have computed, and how many calls it had returned from until then. */
struct computed {
    uint64_t ns, calls;
};
/* What that costs. */
uint64_t compute_cost_ns(struct compute *compute, int rank, struct computed computed);
/* Writes the recording, or says where the replayed one did not fit: RH_ECORRUPT. Frees; NULL:
 * nothing. */
int compute_close(struct compute *compute);
