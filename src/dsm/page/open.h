/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps in which shared pages are made. All ranks take them together.
 */
#pragma once

#include "dsm/page/pages.h"

/* Segments, tables, the set, the locks. */
int open_memory(struct rh_dsm_pages *pages);

/* The view, its address, its first protection. */
int open_faults(struct rh_dsm_pages *pages);

/* Give back whatever was made, and pages itself. */
void open_undo(struct rh_dsm_pages *pages);
