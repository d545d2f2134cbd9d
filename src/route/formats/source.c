/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See source.h.
 */
#include "route/formats/source.h"

#include "base/error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int source_error(const struct lines *source, const char *format, ...)
{
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    return error_fail(-EINVAL, "%s:%u: %s", source->place.path, source->place.line, reason);
}

int source_error_wrap(const struct lines *source, int code)
{
    char reason[256];
    snprintf(reason, sizeof(reason), "%s", rh_error_text());
    return error_fail(code, "%s:%u: %s", source->place.path, source->place.line, reason);
}

void source_blanks_skip(const char **at)
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

bool source_number_take(const char **at, uint32_t *value)
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

bool source_hex_take(const char **at, uint64_t *value)
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

bool source_between_take(const char **at, char open, char close, char *word, size_t size)
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

bool source_word_take(const char **at, char *word, size_t size)
{
    const char *end = **at == '"' ? strchr(*at + 1, '"') : NULL;
    if (end) /* two names that are cut to size could become one */
        return (size_t)(end - *at) <= size && source_between_take(at, '"', '"', word, size);
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
