/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lines.h.
 */
#include "base/lines.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lines_wrong(const struct lines_place *place, const char *what, const char *word)
{
    return error_set(-EINVAL, ERROR_NO_RANK, "%s, line %u: %s '%s'", place->path, place->line, what,
                     word ? word : "");
}

int lines_read(const char *path, void *context,
               int (*take)(void *context, const struct lines_place *place, char *line))
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!file)
        return error_set(-errno, ERROR_NO_RANK, "cannot read %s: %s", path, strerror(errno));
    struct lines_place place = {path, 0};
    char *line = NULL;
    size_t room = 0;
    int result = 0;
    ssize_t length;
    while (result == 0 && (length = getline(&line, &room, file)) >= 0) {
        place.line++;
        if (strlen(line) != (size_t)length)
            result = lines_wrong(&place, "a byte 0; this is no text file, after", line);
        line[strcspn(line, "#\r\n")] = '\0';
        if (result == 0 && line[strspn(line, " \t")] != '\0')
            result = take(context, &place, line);
    }
    if (result == 0 && !feof(file))
        result = error_set(-errno, ERROR_NO_RANK, "cannot read %s: %s", path, strerror(errno));
    free(line);
    if (file != stdin)
        fclose(file);
    return result;
}
