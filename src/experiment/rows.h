/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of experiment.h. Private to src/experiment.
 */
#ifndef EXPERIMENT_ROWS_H
#define EXPERIMENT_ROWS_H

#include "sim/thesis/thesis.h"

int mpi_rows(struct thesis_report *report, const struct sim_constants *constants);
int pm_facts(struct thesis_report *report, const struct sim_constants *constants);
int cluster_facts(struct thesis_report *report, const struct sim_constants *constants);

#endif
