/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See source.h.
 */
#include "route/formats/source.h"

#include "base/array.h"
#include "base/error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (4ull << 30)

static int file_read(struct source *source, FILE *file)
{
    struct stat status;
    bool sized = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
    size_t capacity = sized && status.st_size > 0 ? (size_t)status.st_size + 1 : 1 << 16;
    source->text = malloc(capacity);
    while (source->text) {
        size_t got = fread(source->text + source->length, 1, capacity - source->length, file);
        source->length += got;
        if (source->length < capacity)
            return ferror(file) ? -EIO : 0;
        if (capacity >= FILE_MAX)
            return -EFBIG;
        if (!array_grow(&source->text, &capacity, capacity + 1))
            break;
    }
    return -ENOMEM;
}

int source_open(struct source *source, const char *path)
{
    memset(source, 0, sizeof(*source));
    bool is_stdin = strcmp(path, "-") == 0;
    source->name = is_stdin ? "standard input" : path;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    if (!file)
        return error_set(-errno, ERROR_NO_RANK, "cannot open %s: %s", path, strerror(errno));
    int result = file_read(source, file);
    if (!is_stdin)
        fclose(file);
    if (result < 0) {
        source_close(source);
        return error_set(result, ERROR_NO_RANK, "cannot read %s: %s", path, strerror(-result));
    }
    return 0;
}

int source_from(struct source *source, const char *name, const void *bytes, size_t length)
{
    memset(source, 0, sizeof(*source));
    source->name = name;
    source->text = malloc(length + 1);
    if (!source->text)
        return error_set(-ENOMEM, ERROR_NO_RANK, "no memory for %zu bytes", length);
    memcpy(source->text, bytes, length);
    source->length = length;
    return 0;
}

void source_close(struct source *source)
{
    free(source->text);
    source->text = NULL;
}

void source_rewind(struct source *source)
{
    source->at = 0;
    source->line_number = 0;
}

int source_next(struct source *source)
{
    if (source->at >= source->length)
        return 0;
    source->line_number++;
    const char *start = source->text + source->at;
    size_t left = source->length - source->at;
    const char *end = memchr(start, '\n', left);
    size_t length = end ? (size_t)(end - start) : left;
    source->at += length + (end != NULL);
    if (length >= SOURCE_LINE_MAX) {
        source->line[0] = '\0';
        return source_error(source, "the line has %zu characters, at most %d are understood",
                            length, SOURCE_LINE_MAX - 1);
    }
    if (memchr(start, '\0', length)) {
        source->line[0] = '\0';
        return source_error(source, "byte 0 in the line; is this a text file?");
    }
    memcpy(source->line, start, length);
    while (length > 0 && isspace((unsigned char)source->line[length - 1]))
        length--;
    source->line[length] = '\0';
    return 1;
}

int source_error(const struct source *source, const char *format, ...)
{
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    return error_set(-EINVAL, ERROR_NO_RANK, "%s:%u: %s", source->name, source->line_number,
                     reason);
}

int source_error_wrap(const struct source *source, int code)
{
    char reason[256];
    snprintf(reason, sizeof(reason), "%s", rh_error_text());
    return error_set(code, ERROR_NO_RANK, "%s:%u: %s", source->name, source->line_number, reason);
}

void source_skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\t')
        (*at)++;
}

bool source_take(const char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

bool source_take_number(const char **at, uint32_t *value)
{
    uint64_t sum = 0;
    const char *from = *at;
    if (!isdigit((unsigned char)*from))
        return false;
    for (; isdigit((unsigned char)*from); from++) {
        sum = sum * 10 + (uint64_t)(*from - '0');
        if (sum > UINT32_MAX)
            return false;
    }
    *value = (uint32_t)sum;
    *at = from;
    return true;
}

int source_hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    char lower = digit | 32;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool source_take_hex(const char **at, uint64_t *value)
{
    const char *from = *at;
    source_take(&from, "0x");
    uint64_t sum = 0;
    int digits = 0;
    for (int digit; (digit = source_hex_digit(*from)) >= 0; from++, digits++) {
        if (sum >> 60)
            return false;
        sum = sum * 16 + (uint64_t)digit;
    }
    if (digits == 0)
        return false;
    *value = sum;
    *at = from;
    return true;
}

bool source_take_between(const char **at, char open, char close, char *word, size_t size)
{
    if (**at != open)
        return false;
    const char *end = strchr(*at + 1, close);
    if (!end)
        return false;
    size_t length = (size_t)(end - *at - 1);
    if (length >= size)
        length = size - 1;
    memcpy(word, *at + 1, length);
    word[length] = '\0';
    *at = end + 1;
    return true;
}

bool source_take_word(const char **at, char *word, size_t size)
{
    const char *end = **at == '"' ? strchr(*at + 1, '"') : NULL;
    if (end) /* two names that are cut to size could become one */
        return (size_t)(end - *at) <= size && source_take_between(at, '"', '"', word, size);
    size_t length = strcspn(*at, " \t");
    if (length == 0)
        return false;
    if (length >= size)
        return false;
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length;
    return true;
}
