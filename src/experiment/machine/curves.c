/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Curves below the table: what was measured over sizes, as a bar for each, longest for the largest
 * value of its kind and on a scale of powers of ten where that spans more than one.
 */
#include "experiment/machine/bench.h"

#include <math.h>
#include <stdio.h>

#define BAR_MAX 40

/* Length of a case's name without its size: "stream" of "stream-64K". */
static int kind_length(const char *name)
{
    return (int)(strrchr(name, '-') - name);
}

static bool is_same_kind(const char *name, const char *other)
{
    int length = kind_length(name);
    return length == kind_length(other) && strncmp(name, other, (size_t)length) == 0;
}

struct scale {
    double low, high;
    int count;
};

static struct scale scale_of(const struct bench_sheet *sheet, int first)
{
    const struct bench_layer *layer = bench_layer_of(sheet);
    struct scale scale = {.low = HUGE_VAL};
    for (int i = first; i < layer->case_count; i++) {
        struct bench_round median;
        if (!sheet->wishes.is_chosen[i] ||
            !is_same_kind(layer->cases[i].name, layer->cases[first].name) ||
            !bench_figure_median(&sheet->figure[i], &median))
            continue;
        scale.low = fmin(scale.low, median.value);
        scale.high = fmax(scale.high, median.value);
        scale.count++;
    }
    return scale;
}

static int bar_of(const struct scale *scale, double value)
{
    double part = value / scale->high;
    if (scale->high > 10 * scale->low)
        part = (1 + log10(value / scale->low)) / (1 + log10(scale->high / scale->low));
    return (int)lround(part * BAR_MAX);
}

static void print_curve(const struct bench_sheet *sheet, int first, const struct scale *scale)
{
    const struct bench_layer *layer = bench_layer_of(sheet);
    const char *kind = layer->cases[first].name;
    printf("\n%.*s, %s\n", kind_length(kind), kind, layer->cases[first].unit);
    for (int i = first; i < layer->case_count; i++) {
        struct bench_round median;
        if (!sheet->wishes.is_chosen[i] || !is_same_kind(layer->cases[i].name, kind) ||
            !bench_figure_median(&sheet->figure[i], &median))
            continue;
        printf("%6s ", strrchr(layer->cases[i].name, '-') + 1);
        for (int bar = bar_of(scale, median.value); bar > 0; bar--)
            putchar('#');
        printf(" %.1f\n", median.value);
    }
}

void bench_curves_print(const struct bench_sheet *sheet)
{
    const struct bench_layer *layer = bench_layer_of(sheet);
    for (int i = 0; i < layer->case_count; i++) {
        bool is_first = true;
        for (int j = 0; j < i; j++)
            is_first &= !is_same_kind(layer->cases[j].name, layer->cases[i].name);
        struct scale scale = is_first ? scale_of(sheet, i) : (struct scale){0};
        if (scale.count > 1)
            print_curve(sheet, i, &scale);
    }
}
