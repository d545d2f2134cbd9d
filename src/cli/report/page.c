/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See report.h.
 */
#include "cli/json_put.h"
#include "cli/report/report.h"

#include <time.h>

json_t *page_data(const char *title)
{
    char now[32];
    time_t seconds = time(NULL);
    struct tm moment;
    strftime(now, sizeof(now), "%Y-%m-%d %H:%M UTC", gmtime_r(&seconds, &moment));
    json_t *data = json_object();
    json_put_text(data, "title", title);
    json_put_text(data, "made_by", "rhinet " RHINET_VERSION);
    json_put_text(data, "made_at", now);
    return data;
}

/* Inside a page's script nothing may look like its end: "<" can only stand in a string. */
static int put_data(const char *text, size_t length, void *out)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '<')
            fputs("\\u003c", out);
        else
            fputc(text[i], out);
    }
    return ferror((FILE *)out) ? -1 : 0;
}

bool page_write(enum page page, const json_t *data, FILE *out)
{
    bool is_live = page == PAGE_LIVE;
    fwrite(is_live ? live_page_before : report_page_before, 1,
           is_live ? live_page_before_length : report_page_before_length, out);
    bool failed = json_dump_callback(data, put_data, out, JSON_COMPACT) != 0;
    fwrite(is_live ? live_page_after : report_page_after, 1,
           is_live ? live_page_after_length : report_page_after_length, out);
    return fflush(out) == 0 && !ferror(out) && !failed;
}
