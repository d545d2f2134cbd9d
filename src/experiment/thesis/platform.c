/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet sim platform`: the machines that can be simulated, and files that describe others. What
 * they may not be made of are the rows that the thesis's experiments test.
 */
#include "base/error.h"
#include "cli/json_put.h"
#include "cli/sim/sim.h"
#include "cli/table.h"
#include "experiment/experiment.h"
#include "experiment/thesis/thesis.h"

#include <errno.h>
#include <string.h>

/* ---- Where values are from ------------------------------------------------------------------- */

/* Is the word the id of a row that must come out of the model, and so may set nothing? */
static bool is_validation(const char *word, size_t length)
{
    for (const struct thesis_row *row = thesis_rows; row->id; row++) {
        if (row->class == 'V' && strlen(row->id) == length && strncmp(row->id, word, length) == 0)
            return true;
    }
    return false;
}

/* Is there a row of this id, or with parts of this id, that may set constants? */
static bool is_calibration(const char *word, size_t length)
{
    for (const struct thesis_row *row = thesis_rows; row->id; row++) {
        if (row->class != 'V' && strncmp(row->id, word, length) == 0 &&
            (row->id[length] == '\0' || row->id[length] == '-'))
            return true;
    }
    return false;
}

static int origin_check(const struct platform_origin *origin, const char *name)
{
    const char *row = origin->row;
    size_t length = strcspn(row, " ");
    if (origin->class == PLATFORM_CALIBRATED && !is_calibration(row, length))
        return error_fail(-EINVAL,
                          "%s:%u: %s is calibrated on '%s', which is no row of `rhinet sim thesis` "
                          "that sets constants",
                          origin->file, origin->line, name, row);
    const char *texts[] = {origin->row, origin->source};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (const char *word = texts[i]; *word; word += length + (word[length] != '\0')) {
            length = strcspn(word, " ,:;()");
            if (is_validation(word, length))
                return error_fail(-EINVAL,
                                  "%s:%u: %s is from row %.*s, which must come out of the model "
                                  "and may set nothing",
                                  origin->file, origin->line, name, (int)length, word);
        }
    }
    return 0;
}

static int origins_check(const struct platform *platform)
{
    int result = 0;
    for (size_t i = 0; result == 0 && sim_constant_list[i].name; i++)
        result = origin_check(&platform->origins[i], sim_constant_list[i].name);
    return result;
}

/* ---- list ------------------------------------------------------------------------------------ */

static const struct table_column list_columns[] = {{"platform", false, 0}, {"what", false, 0}};

static int list_run(int count, char **words)
{
    struct table *table = table_create(list_columns, 2);
    int status = 0;
    for (const struct platform_file *at = platform_files; at->name && status == 0; at++) {
        struct platform platform;
        if (platform_open(&platform, at->name) < 0) {
            status = cli_fail();
            continue;
        }
        table_cell(table, "%s", at->name);
        table_cell(table, "%s", platform.title);
        platform_close(&platform);
    }
    table_print(table, stdout, terminal_width());
    table_destroy(table);
    return status;
}

static const struct cli_command list_command = {
    .name = "list", .help = "the machines that the program knows", .run = list_run};

/* ---- show ------------------------------------------------------------------------------------ */

static bool wants_json;
static const struct cli_option show_options[] = {
    CLI_FLAG("json", &wants_json, "one JSON object a constant instead of a file"), CLI_OPTIONS_END};

static void origins_json(const struct platform *platform, const char *name)
{
    for (size_t i = 0; sim_constant_list[i].name; i++) {
        const struct sim_constant *at = &sim_constant_list[i];
        const struct platform_origin *origin = &platform->origins[i];
        json_t *row = json_object();
        json_put_format(row, "platform 1");
        json_put_text(row, "platform", name);
        json_put_text(row, "name", at->name);
        json_put_number(row, "value", (uint64_t)sim_constant_get(&platform->constants, i));
        json_put_text(row, "unit", at->unit);
        json_put_text(row, "class", platform_class_names[origin->class]);
        json_put_text(row, "row", origin->row);
        json_put_text(row, "source", origin->source);
        json_put_text(row, "file", origin->file);
        json_put_number(row, "line", origin->line);
        json_put_text(row, "meaning", at->meaning);
        json_dumpf(row, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(row);
    }
}

static int show_run(int count, char **words)
{
    struct platform platform;
    const char *name = count > 0 ? words[0] : PLATFORM_DEFAULT;
    if (platform_open(&platform, name) < 0)
        return cli_fail();
    if (wants_json)
        origins_json(&platform, name);
    else
        platform_print(&platform, stdout);
    platform_close(&platform);
    return 0;
}

static const struct cli_command show_command = {
    .name = "show",
    .help = "all constants of one, as a file without includes",
    .operands = "[PLATFORM]",
    .options = show_options,
    .suggest = sim_platform_name,
    .takes_files = true,
    .run = show_run};

/* ---- check ----------------------------------------------------------------------------------- */

static int check_run(int count, char **words)
{
    struct platform platform;
    int counts[PLATFORM_WHAT_IF + 1] = {0};
    if (platform_open(&platform, words[0]) < 0)
        return cli_fail();
    int status = origins_check(&platform) < 0 ? cli_fail() : 0;
    for (size_t i = 0; sim_constant_list[i].name; i++)
        counts[platform.origins[i].class]++;
    platform_close(&platform);
    if (status == 0)
        printf("%s: %zu constants: %d known, %d calibrated, %d assumed, %d switches\n", words[0],
               sim_constant_count(), counts[PLATFORM_KNOWN], counts[PLATFORM_CALIBRATED],
               counts[PLATFORM_ASSUMED], counts[PLATFORM_WHAT_IF]);
    return status;
}

static const struct cli_command check_command = {
    .name = "check",
    .help = "is a platform complete, and is nothing from a row that must come out of the model?",
    .operands = "PLATFORM",
    .suggest = sim_platform_name,
    .takes_files = true,
    .run = check_run};

const struct cli_command cli_sim_platform = {
    .name = "platform",
    .help = "the machines that can be simulated, as files",
    .commands = (const struct cli_command *const[]){&list_command, &show_command, &check_command,
                                                    NULL}};
