/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In place of web.c where libmicrohttpd was not there when the program was built.
 */
#include "cli/cli.h"
#include "cli/job/web.h"

struct web *web_open(uint16_t port, int64_t stuck_ns)
{
    cli_say("--web: this program was built without libmicrohttpd; build it again with it, or use "
            "--json");
    return NULL;
}

const char *web_address(const struct web *web)
{
    return "";
}

void web_show(struct web *web, const struct live_job *job, const struct top_sample *sample) {}

void web_close(struct web *web, bool has_ended) {}
