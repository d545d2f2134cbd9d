/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet report`: one page to look at, from the JSON that the other commands write. Everything is
 * in the page, so that it can be sent by mail and opened without a network; what it shows is made
 * by page/, which the build puts together with the plotting library (embed.py).
 */
#include "cli/report/report.h"

#include "cli/cli.h"
#include "cli/json_put.h"
#include "cli/report/documents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *output, *title;
} wishes;

static const struct cli_option options[] = {
    CLI_FILE("output", "FILE", &wishes.output, "where to write the page, - is stdout",
             .letter = 'o', .standard = "report.html"),
    CLI_TEXT("title", "TEXT", &wishes.title, "what stands above it", .standard = "rhinet report"),
    CLI_OPTIONS_END,
};

static json_t *read_runs(int count, char **words)
{
    json_t *runs = json_array();
    bool is_good = true;
    for (int i = 0; i < count; i++) { /* all of them, so that all faults are said at once */
        json_t *run = documents_read(words[i]);
        is_good &= run != NULL;
        json_array_append_new(runs, run);
    }
    if (is_good)
        return runs;
    json_decref(runs);
    return NULL;
}

static json_t *make_data(json_t *runs)
{
    char now[32];
    time_t seconds = time(NULL);
    struct tm moment;
    strftime(now, sizeof(now), "%Y-%m-%d %H:%M UTC", gmtime_r(&seconds, &moment));
    json_t *data = json_object();
    json_put_text(data, "title", wishes.title);
    json_put_text(data, "made_by", "rhinet " RHINET_VERSION);
    json_put_text(data, "made_at", now);
    json_object_set_new(data, "runs", runs);
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

static bool write_page(const json_t *data, FILE *out)
{
    fwrite(report_page_before, 1, report_page_before_length, out);
    bool failed = json_dump_callback(data, put_data, out, JSON_COMPACT) != 0;
    fwrite(report_page_after, 1, report_page_after_length, out);
    return fflush(out) == 0 && !ferror(out) && !failed;
}

/* Beside the old one, and then in its place: who has it open sees a whole page. */
static int write_file(const json_t *data, const char *path)
{
    char *beside = NULL;
    if (asprintf(&beside, "%s.%d", path, (int)getpid()) < 0)
        return ENOMEM;
    FILE *out = fopen(beside, "wxe");
    int result = out ? 0 : errno;
    if (out && !write_page(data, out))
        result = errno ? errno : EIO;
    if (out && fclose(out) != 0 && result == 0)
        result = errno;
    if (result == 0 && rename(beside, path) < 0)
        result = errno;
    if (out && result != 0)
        unlink(beside);
    free(beside);
    return result;
}

static int report(int count, char **words)
{
    json_t *runs = read_runs(count, words);
    if (!runs)
        return 1;
    json_t *data = make_data(runs);
    int result = 0;
    if (strcmp(wishes.output, "-") == 0)
        result = write_page(data, stdout) ? 0 : EIO;
    else
        result = write_file(data, wishes.output);
    json_decref(data);
    if (result != 0) {
        cli_say("cannot write %s: %s", wishes.output, strerror(result));
        return 1;
    }
    if (strcmp(wishes.output, "-") != 0)
        printf("%s: open it in a browser\n", wishes.output);
    return 0;
}

const struct cli_command cli_report = {.name = "report",
                                       .help = "one page to look at, from what --json has written",
                                       .operands = "RUN.json...",
                                       .options = options,
                                       .takes_files = true,
                                       .run = report};
