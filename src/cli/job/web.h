/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet top --web`: a page of this machine's, for this user's browser, and figures for
 * Prometheus.
 *
 *   /         the page, which asks for
 *   /state    the last sample, who waits for whom, and the caches of this host, as JSON
 *   /metrics  all counters of the ranks on this host, as Prometheus reads them
 *
 * It listens on the loopback address only, and answers only who knows the token in its address (or
 * in the header Authorization: Bearer TOKEN), because other users of the machine reach it, too. A
 * page of somebody else's that a browser was lured to knows no token, and a name that was made to
 * lead here is not in Host.
 */
#pragma once

#include "cli/job/top.h"

struct web;

/* Begin to listen; port 0: any. stuck_ns: how old a wait must be to count as stuck. Says what is
 * wrong and returns NULL. */
struct web *web_open(uint16_t port, int64_t stuck_ns);

/* "http://127.0.0.1:PORT/?token=TOKEN". */
const char *web_address(const struct web *web);

/* What is answered from now on. */
void web_show(struct web *web, const struct live_job *job, const struct top_sample *sample);

/* The job has ended: who asks within a moment is told so. */
void web_close(struct web *web, bool has_ended);
