/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the fabric gets from the table in use to the mended one: at once, or in stages that are
 * checked step by step and written beside the table.
 */
#include "cli/route/repair.h"

#include <string.h>
#include <unistd.h>

/* Each stage after the one before it. Returns 1 if all steps are safe, else 0 with the number of
 * the first that is not, or a negative error. */
static int steps_check(struct repair_work *work, uint32_t *unsafe)
{
    struct lft_dump before = {0};
    int result = 0, safe = 1;
    for (uint32_t i = 1; i <= work->stages.count && result == 0 && safe; i++) {
        struct lft_dump now = {0};
        result = stages_table(&work->stages, i, &now);
        if (result == 0)
            result = check_transition(work->input.fabric, i == 1 ? &work->old_dump : &before, &now,
                                      &work->transition);
        safe = result == 0 && transition_safe(&work->transition);
        *unsafe = i;
        lft_dump_free(&before);
        before = now;
    }
    lft_dump_free(&before);
    return result < 0 ? result : safe;
}

static int stages_make(struct repair_work *work, bool drain)
{
    stages_free(&work->stages);
    return drain ? stages_drain(&work->stages, &work->old_dump, work->lft)
                 : stages_find(&work->stages, &work->old_dump, work->lft, work->room.turns);
}

/* Stages by the turns, or, where these do not lead to safe ones, with all that changes dropped in
 * between. */
static int stages_choose(struct repair_work *work)
{
    uint32_t unsafe = 0;
    int safe = 0;
    for (int drain = work->replaced; drain <= 1 && safe == 0; drain++) {
        int result = stages_make(work, drain);
        safe = result < 0 ? result : steps_check(work, &unsafe);
    }
    work->stages_safe = safe > 0;
    if (safe == 0 && unsafe == 1) { /* is it the table in use that is unsafe? */
        struct transition_report alone;
        int result = check_transition(work->input.fabric, &work->old_dump, &work->old_dump, &alone);
        work->old_unsafe = result == 0 && !transition_safe(&alone);
        safe = result;
    }
    return safe < 0 ? safe : 0;
}

int repair_stages_find(struct repair_work *work, bool check)
{
    if (!check)
        return stages_make(work, work->replaced);
    /* at once, if that is safe; the turns may say no where the check says yes */
    uint32_t unsafe;
    work->stages = (struct stages){.held = &work->old_dump, .after = work->lft, .count = 1};
    int safe = steps_check(work, &unsafe);
    work->stages_safe = safe > 0;
    return safe == 0 ? stages_choose(work) : safe < 0 ? safe : 0;
}

void repair_stage_path(char *path, size_t size, const char *table, uint32_t stage)
{
    snprintf(path, size, "%s.stage%u", table, stage);
}

int repair_stages_write(const struct repair_work *work, const char *path)
{
    char file[4096];
    int status = 0;
    if (work->stages.count > 1 && strcmp(path, "-") == 0) {
        cli_say("the change needs %u stages, a file for each: give --lft a file's "
                "name instead of '-'",
                work->stages.count);
        return 1;
    }
    for (uint32_t i = 1; i <= STAGES_MAX && status == 0; i++) {
        struct lft_dump table;
        repair_stage_path(file, sizeof(file), path, i);
        if (i >= work->stages.count) {
            unlink(file); /* an older repair's must not be taken for one of this */
            continue;
        }
        if (stages_table(&work->stages, i, &table) < 0)
            return cli_fail();
        FILE *out = route_output_open(file);
        status = out ? lft_dump_write(&table, work->input.fabric, out, NULL) : 1;
        if (out)
            status = route_output_close(out, file, status);
        lft_dump_free(&table);
    }
    return status;
}
