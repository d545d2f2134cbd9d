/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See bench.h: an experiment's figures as a table and a picture.
 */
#include "cli/table.h"
#include "experiment/cache/bench.h"

static void print_sheet(const struct bench_sheet *sheet)
{
    struct table_column columns[BENCH_LINES_MAX + 1] = {
        {.title = sheet->x_label, .is_number = true}};
    for (int i = 0; i < sheet->line_count; i++)
        columns[i + 1] = (struct table_column){.title = sheet->line_names[i], .is_number = true};
    struct table *table = table_create(columns, (size_t)sheet->line_count + 1);
    for (int point = 0; point < sheet->point_count; point++) {
        table_cell(table, "%g", sheet->x[point]);
        for (int line = 0; line < sheet->line_count; line++)
            table_cell(table, "%.0f MiB/s", sheet->y[line][point]);
    }
    printf("\n%s (MiB/s, all nodes together)\n", sheet->title);
    table_print(table, stdout, 0);
    table_destroy(table);
}

int bench_sheet_finish(const struct cache_bench *bench, const struct bench_sheet *sheet,
                       const char *name)
{
    print_sheet(sheet);
    if (!bench->plot)
        return 0;
    char path[4096];
    struct plot plot = {.title = sheet->title,
                        .x_label = sheet->x_label,
                        .y_label = "MiB/s, all nodes",
                        .line_count = (uint32_t)sheet->line_count};
    for (int i = 0; i < sheet->line_count; i++)
        plot.lines[i] = (struct plot_line){.name = sheet->line_names[i],
                                           .x = sheet->x,
                                           .y = sheet->y[i],
                                           .count = (uint32_t)sheet->point_count};
    snprintf(path, sizeof(path), "%s/%s.svg", bench->plot, name);
    return plot_write(&plot, path);
}
