/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What rank 0 says at the end: a table, or JSON.
 */
#include "pm/pmtest/pmtest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void pmtest_note(struct pmtest *test, const struct pmtest_figure *figure)
{
    if (test->rank != 0)
        return;
    json_t *entry = json_pack("{s:s, s:s, s:I, s:f, s:s}", "test", figure->test, "implementation",
                              figure->pm, figure->amount_name, (json_int_t)figure->amount, "value",
                              figure->value, "unit", figure->unit);
    if (figure->raw > 0) {
        json_object_set_new(entry, "raw", json_real(figure->raw));
        json_object_set_new(entry, "ratio", json_real(figure->value / figure->raw));
    }
    if (figure->messages > 0)
        json_object_set_new(entry, "messages_per_second", json_real(figure->messages));
    json_array_append_new(test->results, entry);
}

static int write_json(const struct pmtest *test, FILE *out)
{
    json_t *root = json_pack("{s:s, s:i, s:s, s:i, s:i, s:O}", "program", "pmtest", "ranks",
                             test->size, "nic", rh_nic_name(test->job), "rounds",
                             test->options->rounds, "count", test->options->count, "results",
                             test->results);
    int result = json_dumpf(root, out, JSON_INDENT(2)) < 0 ? -1 : 0;
    fputc('\n', out);
    json_decref(root);
    return result;
}

static double number(const json_t *entry, const char *key)
{
    return json_number_value(json_object_get(entry, key));
}

static void write_row(const json_t *entry)
{
    const json_t *senders = json_object_get(entry, "senders");
    printf("%-9s %-9s %6lld %-7s %10.3f %-13s", json_string_value(json_object_get(entry, "test")),
           json_string_value(json_object_get(entry, "implementation")),
           json_integer_value(senders ? senders : json_object_get(entry, "bytes")),
           senders ? "senders" : "bytes", number(entry, "value"),
           json_string_value(json_object_get(entry, "unit")));
    if (json_object_get(entry, "ratio"))
        printf("  %5.2f x %s", number(entry, "ratio"), senders ? "2 senders" : "raw");
    if (json_object_get(entry, "messages_per_second"))
        printf("  %6.2f million messages/s", number(entry, "messages_per_second") / 1e6);
    putchar('\n');
}

static void write_table(const struct pmtest *test)
{
    size_t index;
    json_t *entry;
    printf("pmtest: %d ranks on %s, median of %u rounds; raw: a cache line there and back\n",
           test->size, rh_nic_name(test->job), test->options->rounds);
    json_array_foreach(test->results, index, entry) write_row(entry);
}

int pmtest_report(const struct pmtest *test)
{
    const char *path = test->options->json_path;
    if (!path) {
        write_table(test);
        return 0;
    }
    if (strcmp(path, "-") == 0)
        return write_json(test, stdout);
    FILE *out = fopen(path, "w");
    if (!out) {
        fprintf(stderr, "pmtest: %s: %s\n", path, strerror(errno));
        return -1;
    }
    int result = write_json(test, out);
    return fclose(out) != 0 ? -1 : result;
}
