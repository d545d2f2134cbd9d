/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet route repair`: a table for the fabric as it is now, as near as possible to the one in
 * use.
 */
#include "cli/route/repair.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

static struct repair_arguments wishes;
static const struct cli_option options[] = {
    CLI_FILE("lft", "FILE", &wishes.lft, "tables for opensm -R file -U FILE"),
    CLI_FILE("json", "FILE", &wishes.json, "the report as JSON, - for stdout"),
    CLI_FLAG("no-check", &wishes.no_check, "do not prove the result"),
    CLI_FLAG("full", &wishes.full, "compare with a new computation"),
    CLI_OPTIONS_END,
};

/* Seconds since *since_ns, which becomes now. */
static double lap(int64_t *since_ns)
{
    int64_t now_ns = clock_now_ns();
    double seconds = (double)(now_ns - *since_ns) / NS_PER_S;
    *since_ns = now_ns;
    return seconds;
}

/* Every table entry anew, when the old one leaves no room for a gentle change. */
static int replace_all(struct repair_work *work)
{
    struct routing *routing;
    int result = routing_create(&routing, work->input.traffic, algorithm_find("turn-addition"),
                                NULL);
    if (result < 0)
        return result;
    struct lft *made = routing->lft;
    routing->lft = NULL;
    work->room.turns = routing->turns;
    routing->turns = NULL;
    work->result.entries_changed = lft_difference(work->lft, made);
    work->result.mend_seconds = routing->turns_seconds + routing->tables_seconds;
    lft_destroy(work->lft);
    work->lft = made;
    work->replaced = true;
    routing_destroy(routing);
    return 0;
}

/* The memo beside the old table, if it is there, belongs to it and knows all cables. */
static void memo_read(struct repair_work *work, const char *table)
{
    char path[4096];
    struct lines source;
    route_memo_path(path, sizeof(path), table);
    if (access(path, R_OK) != 0 || lines_open(&source, path) < 0)
        return;
    if (memo_parse(&work->memo, work->input.net, &source) < 0) {
        log_debug("%s", rh_error_text());
    } else if (work->memo->table != work->old_dump.fingerprint) {
        cli_say("%s belongs to another table; learning from the table", path);
        memo_destroy(work->memo);
        work->memo = NULL;
    } else if (strcmp(work->memo->traffic, work->input.model) != 0) {
        work->memo->class_count = 0; /* loads by another traffic are no use */
    }
    lines_close(&source);
}

static int mend(struct repair_work *work)
{
    struct repair_phases *phases = &work->phases;
    int64_t since_ns = clock_now_ns();
    double cpu = parallel_cpu_seconds();
    int result = dead_list_create(&work->dead, work->lft, &work->old_dump, work->old_fabric);
    phases->dead = lap(&since_ns);
    if (result == 0)
        result = repair_room_find(&work->room, work->lft, work->input.traffic, work->memo,
                                  &work->dead);
    phases->turns = lap(&since_ns);
    if (result == -ENETUNREACH || result == -ELOOP)
        return replace_all(work);
    if (result == 0)
        result = load_create(&work->load, work->input.traffic);
    if (result == 0)
        result = repair_load_find(work->load, work->lft, work->memo, &work->dead);
    phases->load = lap(&since_ns);
    if (result == 0) {
        double aside = parallel_cpu_seconds(); /* counting is for the report, not for mending */
        work->unavoidable = repair_unavoidable(work->lft, work->room.reach, &work->dead);
        cpu += parallel_cpu_seconds() - aside;
        result = repair_table(work->lft, &work->room, work->load, &work->dead, &work->result);
    }
    work->phases.cpu = parallel_cpu_seconds() - cpu;
    return result;
}

/* The loads of the mended table, added up from scratch. */
static int measure(struct repair_work *work, const struct repair_arguments *arguments)
{
    load_destroy(work->load);
    work->load = NULL;
    int result = load_create(&work->load, work->input.traffic);
    if (result == 0)
        result = load_of_table(work->load, work->lft);
    if (result == 0 && arguments->full)
        result = routing_create(&work->anew, work->input.traffic, algorithm_find("turn-addition"),
                                NULL);
    return result;
}

static int read_all(struct repair_work *work, const struct repair_arguments *arguments)
{
    cli_progress("reading %s", arguments->old_fabric);
    if (formats_fabric_read(&work->old_fabric, arguments->old_fabric, NULL) < 0)
        return cli_fail();
    if (route_input_open(&work->input, arguments->new_fabric, &route_view) != 0)
        return 1;
    cli_progress("reading %s", arguments->table);
    if (lft_dump_read(&work->old_dump, work->input.fabric, arguments->table) < 0 ||
        lft_import(&work->lft, work->input.net, &work->old_dump) < 0)
        return cli_fail();
    memo_read(work, arguments->table);
    if (!work->memo)
        lft_circles_break(work->lft); /* what has a memo is ours, and has none */
    return 0;
}

static int outputs_write(struct repair_work *work, const struct repair_arguments *arguments)
{
    int status = 0;
    struct route_table table = {.dump = &work->dump,
                                .lft = work->lft,
                                .turns = work->room.turns,
                                .load = work->load,
                                .model = work->input.model,
                                .before = work->memo};
    if (arguments->lft)
        status = repair_stages_write(work, arguments->lft);
    if (status == 0 && arguments->lft)
        status = route_table_write(&table, arguments->lft);
    return status;
}

static int repair(struct repair_work *work, const struct repair_arguments *arguments)
{
    int64_t since_ns = clock_now_ns();
    int status = read_all(work, arguments);
    if (status != 0)
        return status;
    work->phases.read = lap(&since_ns);
    cli_progress("mending");
    if (mend(work) < 0)
        return cli_fail();
    lap(&since_ns);
    if (lft_export(&work->dump, work->lft) < 0)
        return cli_fail();
    work->checked = !arguments->no_check;
    cli_progress("check");
    if (work->checked && check_tables(work->input.fabric, &work->dump, NULL, &work->check) < 0)
        return cli_fail();
    if (repair_stages_find(work, work->checked) < 0)
        return cli_fail();
    work->phases.check = lap(&since_ns);
    cli_progress(arguments->full ? "all tables anew, to compare" : "load");
    if (measure(work, arguments) < 0)
        return cli_fail();
    lap(&since_ns);
    cli_progress_end();
    status = outputs_write(work, arguments);
    work->phases.write = lap(&since_ns);
    if (status == 0)
        status = repair_report(work, arguments);
    bool failed = work->checked &&
                  (!check_passed(&work->check) || (!work->stages_safe && !work->old_unsafe));
    return status == 0 && failed ? 1 : status;
}

static int run(int count, char **words)
{
    wishes.old_fabric = words[0];
    wishes.table = words[1];
    wishes.new_fabric = words[2];
    struct repair_work work = {0};
    int status = repair(&work, &wishes);
    lft_dump_free(&work.old_dump);
    lft_dump_free(&work.dump);
    stages_free(&work.stages);
    lft_destroy(work.lft);
    repair_room_free(&work.room);
    dead_list_destroy(&work.dead);
    memo_destroy(work.memo);
    load_destroy(work.load);
    routing_destroy(work.anew);
    route_input_close(&work.input);
    fabric_destroy(work.old_fabric);
    return status;
}

const struct cli_command cli_route_repair = {.name = "repair",
                                             .help = "mend a table after failures",
                                             .operands = "OLD-FABRIC OLD-LFT NEW-FABRIC",
                                             .options = options,
                                             .shared = route_view_options,
                                             .takes_files = true,
                                             .run = run};
