/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `rhinet route repair` has done and how long it took.
 */
#include "cli/json_put.h"
#include "cli/route/repair.h"

#include <inttypes.h>

static double repair_seconds(const struct repair_work *work)
{
    const struct repair_phases *phases = &work->phases;
    return phases->dead + phases->turns + phases->load + work->result.mend_seconds +
           work->result.balance_seconds;
}

static const char *class_name(const struct repair_work *work, uint32_t class)
{
    return work->input.traffic->class_count < 2 ? "all" : class == 0 ? "inside" : "between";
}

static void throughput_print(const struct repair_work *work)
{
    for (uint32_t k = 0; k < work->input.traffic->class_count; k++) {
        double mended = load_throughput(work->load, k);
        printf("throughput, %s: %.4f", class_name(work, k), mended);
        if (work->anew) {
            double anew = load_throughput(work->anew->load, k);
            printf("; computed anew %.4f (%+.1f %%)", anew, 100 * (mended / anew - 1));
        }
        putchar('\n');
    }
}

/* What to do with the tables. */
static void stages_print(const struct repair_work *work, const char *table)
{
    const struct stages *stages = &work->stages;
    const char *proof = !work->checked      ? "not checked"
                        : work->stages_safe ? "each step checked"
                                            : "NOT PROVED";
    if (stages->count == 1) {
        printf("transition: 1 stage (%s): switches may change in any order\n", proof);
    } else {
        printf("transition: %u stages (%s); %" PRIu64
               " working entries drop packets until their stage comes\n",
               stages->count, proof, stages->dropped);
        for (uint32_t i = 1; i <= stages->count && table; i++) {
            char file[4096];
            repair_stage_path(file, sizeof(file), table, i);
            printf("  %u. load %s%s\n", i, i < stages->count ? file : table,
                   i < stages->count ? ", and wait until all switches have it and packets of "
                                       "older ways are gone"
                                     : "");
        }
    }
    if (work->old_unsafe)
        printf("  the table in use is unsafe by itself, so the first step is too: %s%s\n",
               work->transition.circle, work->transition.witness);
    else if (work->checked && !work->stages_safe)
        printf("  what is wrong: %s%s\n", work->transition.circle, work->transition.witness);
}

static void text_print(const struct repair_work *work, const char *table)
{
    const struct repair_phases *phases = &work->phases;
    const struct repair_result *result = &work->result;
    printf("entries: %" PRIu64 " changed for %u targets, %" PRIu64
           " of them led nowhere any more, %" PRIu64 " could not stay (and %" PRIu64
           " between switches without hosts, where nothing is sent)\n",
           result->entries_changed, result->targets_changed, result->entries_forced,
           work->unavoidable, result->entries_idle);
    printf("time: %.1f ms to repair (%.1f ms of processor time): dead entries %.1f, turns %.1f, "
           "loads %.1f, mending %.1f, balance %.1f\n",
           1e3 * repair_seconds(work), 1e3 * phases->cpu, 1e3 * phases->dead, 1e3 * phases->turns,
           1e3 * phases->load, 1e3 * result->mend_seconds, 1e3 * result->balance_seconds);
    printf("besides: %.2f s to read%s, %.2f s to check, %.2f s to write\n", phases->read,
           work->memo ? "" : " (no memo beside the table)", phases->check, phases->write);
    throughput_print(work);
    if (work->checked)
        route_check_text(stdout, &work->check);
    stages_print(work, table);
}

static json_t *phases_json(const struct repair_work *work)
{
    json_t *object = json_object();
    json_put_real(object, "read", work->phases.read);
    json_put_real(object, "dead_entries", work->phases.dead);
    json_put_real(object, "turns", work->phases.turns);
    json_put_real(object, "loads", work->phases.load);
    json_put_real(object, "mend", work->result.mend_seconds);
    json_put_real(object, "balance", work->result.balance_seconds);
    json_put_real(object, "check", work->phases.check);
    json_put_real(object, "write", work->phases.write);
    return object;
}

static int json_print(const struct repair_work *work, const char *path)
{
    json_t *object = json_object(), *throughput = json_object(), *anew = json_object();
    json_put_format(object, "repair 1");
    json_put_number(object, "entries_changed", work->result.entries_changed);
    json_put_number(object, "entries_idle_changed", work->result.entries_idle);
    json_put_number(object, "entries_dead", work->result.entries_forced);
    json_put_number(object, "entries_unavoidable", work->unavoidable);
    json_put_number(object, "targets_changed", work->result.targets_changed);
    route_cut_json(object, &work->input.cut);
    json_put_flag(object, "replaced", work->replaced);
    json_put_number(object, "stages", work->stages.count);
    json_put_number(object, "entries_dropped_meanwhile", work->stages.dropped);
    json_put_flag(object, "memo", work->memo != NULL);
    json_put_real(object, "repair_seconds", repair_seconds(work));
    json_put_real(object, "processor_seconds", work->phases.cpu);
    json_object_set_new(object, "phases_seconds", phases_json(work));
    for (uint32_t k = 0; k < work->input.traffic->class_count; k++) {
        json_put_real(throughput, class_name(work, k), load_throughput(work->load, k));
        if (work->anew)
            json_put_real(anew, class_name(work, k), load_throughput(work->anew->load, k));
    }
    json_object_set_new(object, "throughput", throughput);
    if (work->anew)
        json_object_set(object, "throughput_anew", anew);
    json_decref(anew);
    if (work->checked) {
        json_object_set_new(object, "check", route_check_json(&work->check));
        json_put_flag(object, "transition_safe", work->stages_safe);
        json_put_flag(object, "old_table_unsafe", work->old_unsafe);
    }
    return route_json_write(object, path);
}

int repair_report(const struct repair_work *work, const struct repair_arguments *arguments)
{
    if (arguments->json)
        return json_print(work, arguments->json);
    text_print(work, arguments->lft);
    return 0;
}
