/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet report`: one page to look at, from the JSON that the other commands write. Everything is
 * in the page, so that it can be sent by mail and opened without a network; what it shows is made
 * by page/, which the build puts together with the plotting library (embed.py).
 */
#include "cli/report/report.h"

#include "cli/cli.h"
#include "cli/report/documents.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Beside the old one, and then in its place: who has it open sees a whole page. Ctrl-C waits until
 * there is only one. */
static int replace_file(const json_t *data, const char *path)
{
    char *beside = NULL;
    if (asprintf(&beside, "%s.XXXXXX", path) < 0)
        return ENOMEM;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int fd = mkostemp(beside, O_CLOEXEC);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    int result = out ? 0 : errno;
    mode_t mask = umask(0);
    umask(mask);
    if (out && (fchmod(fd, 0666 & ~mask) < 0 || !page_write(PAGE_REPORT, data, out)))
        result = errno ? errno : EIO;
    if (out && fclose(out) != 0 && result == 0)
        result = errno;
    if (result == 0 && rename(beside, path) < 0)
        result = errno;
    if (fd >= 0 && result != 0)
        unlink(beside);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(beside);
    return result;
}

/* What is there and is no file, such as a device or a pipe, is written to, not replaced. */
static int write_to(const json_t *data, const char *path)
{
    struct stat status;
    char *real = realpath(path, NULL); /* a link stays one */
    bool is_other = real && stat(real, &status) == 0 && !S_ISREG(status.st_mode);
    int result = 0;
    if (!is_other) {
        result = replace_file(data, real ? real : path);
    } else {
        FILE *out = fopen(real, "we");
        if (!out || !page_write(PAGE_REPORT, data, out))
            result = errno ? errno : EIO;
        if (out && fclose(out) != 0 && result == 0)
            result = errno;
    }
    free(real);
    return result;
}

static bool is_text(const char *text)
{
    json_t *value = json_string(text);
    json_decref(value);
    return value != NULL;
}

static int report(int count, char **words)
{
    if (!is_text(wishes.title))
        return cli_usage_error("--title is no UTF-8");
    json_t *runs = read_runs(count, words);
    if (!runs)
        return 1;
    cli_progress("the page");
    json_t *data = page_data(wishes.title);
    json_object_set_new(data, "runs", runs);
    int result = 0;
    if (strcmp(wishes.output, "-") == 0)
        result = page_write(PAGE_REPORT, data, stdout) ? 0 : EIO;
    else
        result = write_to(data, wishes.output);
    json_decref(data);
    cli_progress_end();
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
