/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of pm.h. Private to this folder.
 */
#ifndef EXPERIMENT_THESIS_PM_ROWS_H
#define EXPERIMENT_THESIS_PM_ROWS_H

#include "experiment/thesis/thesis.h"

int mpi_rows(struct thesis_report *report, const struct sim_constants *constants);
int pm_facts(struct thesis_report *report, const struct sim_constants *constants);
int cluster_facts(struct thesis_report *report, const struct sim_constants *constants);

#endif
