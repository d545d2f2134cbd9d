/* SPDX-License-Identifier: BSD-3-Clause
 *
 * After mending: the balance of what has changed.
 */
#include "route/repair/parts.h"

/* What is affordable, in table entries looked at: a closer look at a tree costs all of its own. */
#define TUNE_ENTRIES  1500000u /* while the changed entries are improved */
#define TUNE_LOOKS    2600000u /* while others are looked for */
#define TUNE_IDLE     320000u  /* in a row, without finding anything to improve */
#define TUNE_PASSES   3
#define BALANCE_GOAL  1.04f /* channels this much busier than any before are relieved */
#define BALANCE_WORTH 0.9f

/* Is there a cable that nobody uses: one that has come back? */
static bool any_idle(const struct load *load)
{
    for (uint32_t c = 0; c < load->net->channel_count; c++) {
        float sum = 0;
        for (uint32_t k = 0; k < load->traffic->class_count; k++)
            sum += load->channel[k][c];
        if (sum == 0)
            return true;
    }
    return false;
}

int repair_balance(struct repair *repair, struct lft *lft, struct load *load,
                   struct repair_result *result)
{
    uint32_t targets = result->targets_changed ? result->targets_changed : 1;
    uint32_t switches = lft->net->switch_count;
    uint32_t rounds = TUNE_ENTRIES / switches / targets;
    int code = tune_entries(lft, repair->turns, load, repair->changed, repair->changed_count,
                            rounds < TUNE_PASSES ? rounds : TUNE_PASSES);
    uint64_t most = result->entries_forced * 2, changed = result->entries_changed;
    struct tune_options options = {
        .rounds_max = TUNE_PASSES,
        .moves_max = (most > changed ? most - changed : 0) + changed / 8,
        .bulky = true,
        .looks_max = TUNE_LOOKS / switches + 1 + targets / 8,
        .idle_max = TUNE_IDLE / switches + 32 + targets / 8,
        .longer = true,
        .worth = BALANCE_WORTH,
    };
    bool idle = any_idle(load);
    if (idle)
        options.moves_max += lft->net->host_count;
    for (uint32_t k = 0; k < load->traffic->class_count && !idle; k++)
        options.goal[k] = repair->most_before[k] * BALANCE_GOAL;
    if (code == 0 && options.moves_max > 0)
        code = tune_table(lft, repair->turns, load, &options);
    result->entries_changed += options.moves;
    return code;
}
