/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of src/rma share: checks that come before the NIC is asked.
 */
#pragma once

#include "base/assert.h"
#include "base/error.h"
#include "base/likely.h"
#include "job/job.h"
#include "rma/inside.h"
#include "rma/rma_layer.h"

/* The refusal for a rank outside the job. */
int rma_refuse_rank(const struct rh_job *job, int rank);

static inline bool rma_rank_is_valid(const struct rh_job *job, int rank)
{
    return (unsigned)rank < (unsigned)job->nic_job.size;
}
