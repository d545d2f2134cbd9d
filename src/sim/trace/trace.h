/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time lines: what each part did when, as a file that ui.perfetto.dev and chrome://tracing open
 * (the JSON form of Chrome's trace events). One small interface; who has no trace passes NULL.
 */
#ifndef SIM_TRACE_TRACE_H
#define SIM_TRACE_TRACE_H

#include "sim/engine/engine.h"

struct trace;

/* Writes to `out`, which stays the caller's. NULL, with an error set, when memory is out. */
struct trace *trace_open(FILE *out);
/* Ends the file. 0, or -EIO. */
int trace_close(struct trace *trace);

/* A line of the picture: `part` of `group`, such as "RFend" of "node 1". Returns its number. */
uint32_t trace_track(struct trace *trace, const char *group, uint32_t group_number,
                     const char *part);

/* `what` lasted from `begin` to `end`. */
void trace_span(struct trace *trace, uint32_t track, const char *what, sim_time begin,
                sim_time end);
/* `what` happened. */
void trace_mark(struct trace *trace, uint32_t track, const char *what, sim_time when);

#endif
