/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See text.h.
 */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool text_to_u64(const char *text, uint64_t *value)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 0);
    if (errno != 0 || *end != '\0')
        return false;
    *value = parsed;
    return true;
}

bool text_to_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        unsigned shift = 10 * (unsigned)(unit - units + 1);
        if (parsed > UINT64_MAX >> shift)
            return false;
        parsed <<= shift;
        end++;
        if (strcmp(end, "iB") == 0 || strcmp(end, "B") == 0)
            end += strlen(end);
    }
    if (*end != '\0')
        return false;
    *bytes = parsed;
    return true;
}

bool text_to_real(const char *text, double *value)
{
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return false;
    char *end;
    errno = 0;
    double parsed = strtod(text, &end);
    if (errno != 0 || *end != '\0' || !isfinite(parsed))
        return false;
    *value = parsed;
    return true;
}

bool text_to_duration(const char *text, int64_t *value_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"", 1e9}};
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    double parsed = strtod(text, &end);
    if (errno != 0 || !isfinite(parsed))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        double ns = parsed * units[i].ns;
        if (strcmp(end, units[i].name) == 0 && ns < 9e18) {
            *value_ns = (int64_t)ns;
            return true;
        }
    }
    return false;
}

#define NAME_LENGTH_MAX 63

static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NAME_LENGTH_MAX + 1];
    size_t length_b = strlen(b);
    if (length_b > NAME_LENGTH_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= length_b; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length_b; j++) {
            size_t best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (diagonal + 1 < best)
                best = diagonal + 1;
            row[j + 1] = best;
        }
    }
    return row[length_b];
}

const char *text_nearest(const char *text, const char *const *names, size_t name_count)
{
    const char *nearest = NULL;
    size_t nearest_distance = strlen(text) / 3 + 1; /* farther than that is another word */
    for (size_t i = 0; i < name_count; i++) {
        size_t distance = edit_distance(text, names[i]);
        if (distance <= nearest_distance) {
            nearest_distance = distance;
            nearest = names[i];
            if (distance == 0)
                break;
            nearest_distance = distance - 1;
        }
    }
    return nearest;
}
