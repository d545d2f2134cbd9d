/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See option.h. The grammar is that of getopt_long(3): --name value, --name=value, any beginning of
 * a name that is its alone, -n value, -nvalue, several letters at once, and -- behind the last.
 */
#include "cli/option.h"

#include "base/text.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX 64 /* among which the nearest name is looked for */

static bool wants_help;
static const struct cli_option everywhere[] = {
    CLI_FLAG("help", &wants_help, "explain this", .letter = 'h'), CLI_OPTIONS_END};

const struct cli_option *cli_option_at(const struct cli_command *command, size_t index)
{
    const struct cli_option *const tables[] = {command->options, command->shared, everywhere};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const struct cli_option *option = tables[i]; option && option->name; option++) {
            if (index-- == 0)
                return option;
        }
    }
    return NULL;
}

static const struct cli_option *letter_find(const struct cli_command *command, char letter)
{
    const struct cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) && option->letter != letter;)
        i++;
    return option;
}

struct cli_option_match cli_option_find(const struct cli_command *command, char *word)
{
    const struct cli_option *option;
    struct cli_option_match match = {0};
    for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
        if (option->habit && strcmp(option->habit, word + 1) == 0)
            return (struct cli_option_match){.option = option};
    }
    if (word[1] != '-') {
        match.option = letter_find(command, word[1]);
        match.value = word[2] ? word + 2 : NULL;
        return match;
    }
    size_t length = strcspn(word + 2, "=");
    if (word[2 + length] == '=')
        match.value = word + 2 + length + 1;
    for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
        if (strncmp(option->name, word + 2, length) != 0)
            continue;
        if (option->name[length] == '\0')
            return (struct cli_option_match){.option = option, .value = match.value};
        *(match.option ? &match.other : &match.option) = option;
    }
    return match;
}

/* ---- What is allowed ------------------------------------------------------------------------ */

void cli_words_join(char *text, size_t room, const char *const *words)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; words[i] && at < room; i++) {
        const char *before = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        at += (size_t)snprintf(text + at, room - at, "%s%s", before, words[i]);
    }
}

static const char *time_text(char text[32], uint64_t ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"m", 60000000000}, {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
    size_t i = ns == 0 ? 1 : 0; /* 0s */
    while (ns % units[i].ns != 0)
        i++;
    snprintf(text, 32, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
    return text;
}

static void allowed_text(const struct cli_option *option, char *text, size_t room)
{
    char from[32], to[32];
    if (option->allowed)
        snprintf(text, room, "%s", option->allowed);
    else if (option->kind == CLI_KIND_CHOICE)
        cli_words_join(text, room, option->choices);
    else if (option->kind == CLI_KIND_SIZE)
        snprintf(text, room, "a size such as 64K or 1G");
    else if (option->kind == CLI_KIND_TIME)
        snprintf(text, room, "a duration from %s to %s", time_text(from, option->least),
                 time_text(to, option->most));
    else if (option->kind == CLI_KIND_REAL)
        snprintf(text, room, "a number from %g to %g", option->real_min, option->real_max);
    else if (option->kind == CLI_KIND_NUMBER && option->most == UINT64_MAX)
        snprintf(text, room, "a whole number");
    else if (option->kind == CLI_KIND_NUMBER)
        snprintf(text, room, "a number from %" PRIu64 " to %" PRIu64, option->least, option->most);
    else
        snprintf(text, room, "%s", option->value);
}

static int refuse(const struct cli_option *option, const char *text)
{
    char allowed[256];
    if (option->kind == CLI_KIND_LIST)
        return cli_usage_error("--%s %s: it cannot be given more than %d times", option->name, text,
                               CLI_LIST_MAX);
    allowed_text(option, allowed, sizeof(allowed));
    return cli_usage_error("--%s is %s, not '%s'", option->name, allowed, text);
}

/* ---- Values --------------------------------------------------------------------------------- */

static void whole_put(const struct cli_option *option, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    if (option->width == sizeof(narrow))
        memcpy(option->target, &narrow, sizeof(narrow));
    else
        memcpy(option->target, &value, sizeof(value));
}

static bool whole_read(const struct cli_option *option, const char *text, uint64_t *value)
{
    int64_t ns = 0;
    if (option->kind == CLI_KIND_NUMBER)
        return text_to_u64(text, value);
    if (option->kind == CLI_KIND_SIZE)
        return text_to_size(text, value);
    bool is_time = text_to_duration(text, &ns);
    *value = (uint64_t)ns;
    return is_time;
}

static bool whole_set(const struct cli_option *option, const char *text)
{
    uint64_t value;
    if (!whole_read(option, text, &value) || value < option->least || value > option->most)
        return false;
    whole_put(option, value);
    return true;
}

static bool real_set(const struct cli_option *option, const char *text)
{
    double value;
    if (!text_to_real(text, &value) || value < option->real_min || value > option->real_max)
        return false;
    *(double *)option->target = value;
    return true;
}

static bool choice_set(const struct cli_option *option, const char *text)
{
    for (size_t i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            whole_put(option, i);
            return true;
        }
    }
    return false;
}

static bool item_add(const struct cli_option *option, const char *text)
{
    struct cli_list *list = option->target;
    if (list->count == CLI_LIST_MAX)
        return false;
    list->item[list->count++] = text;
    return true;
}

static bool value_set(const struct cli_option *option, const char *text)
{
    switch (option->kind) {
    case CLI_KIND_NUMBER:
    case CLI_KIND_SIZE:
    case CLI_KIND_TIME:
        return whole_set(option, text);
    case CLI_KIND_REAL:
        return real_set(option, text);
    case CLI_KIND_CHOICE:
        return choice_set(option, text);
    case CLI_KIND_LIST:
        return item_add(option, text);
    case CLI_KIND_TEXT:
    case CLI_KIND_FILE:
        *(const char **)option->target = text;
        return true;
    default: /* has no value to keep, so no standard one either */
        return false;
    }
}

static int take(const struct cli_option *option, char *text)
{
    int status = 0;
    if (option->kind == CLI_KIND_FLAG)
        *(bool *)option->target = true;
    else if (option->kind == CLI_KIND_CALL)
        status = option->take(text);
    else
        status = value_set(option, text) ? 0 : -1;
    return status < 0 ? refuse(option, text) : status;
}

/* ---- Words ---------------------------------------------------------------------------------- */

static bool has_option(const struct cli_command *command, const char *name)
{
    const struct cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
        if (strcmp(option->name, name) == 0)
            return true;
    }
    return false;
}

/* The name of a command beside the running one that has the option; or NULL. */
static const char *beside_find(const char *name)
{
    const struct cli_command *above = cli_above(), *beside;
    for (size_t i = 0; above && above != &cli_root && (beside = above->commands[i]); i++) {
        if (!beside->is_hidden && has_option(cli_behind(beside), name))
            return beside->name;
    }
    return NULL;
}

static int refuse_name(const struct cli_command *command, const char *word)
{
    const char *names[OPTIONS_MAX];
    char name[64];
    size_t count = 0;
    for (const struct cli_option *option;
         count < OPTIONS_MAX && (option = cli_option_at(command, count));)
        names[count++] = option->name;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    const char *beside = strncmp(name, "--", 2) == 0 ? beside_find(name + 2) : NULL;
    if (beside)
        return cli_usage_error("unknown option %s; `%s` has it", name, beside);
    const char *nearest = text_nearest(name + strspn(name, "-"), names, count);
    return cli_usage_error("unknown option %s%s%s%s", name, nearest ? "; did you mean --" : "",
                           nearest ? nearest : "", nearest ? "?" : "");
}

/* One word that begins with a dash, and the next if it is its value; *at goes to the last. */
static int word_take(const struct cli_command *command, int count, char **words, int *at)
{
    char *word = words[*at], allowed[256];
    struct cli_option_match match = cli_option_find(command, word);
    const struct cli_option *option = match.option;
    if (!option)
        return refuse_name(command, word);
    if (match.other)
        return cli_usage_error("%s may be --%s or --%s", word, option->name, match.other->name);
    if (option->kind == CLI_KIND_FLAG && match.value && word[1] == '-')
        return cli_usage_error("--%s takes no value", option->name);
    if (option->kind == CLI_KIND_FLAG && match.value) {
        int status = take(option, NULL);
        words[*at] = match.value - 1; /* -ab: the rest is a word of its own */
        words[*at][0] = '-';
        return status != 0 ? status : word_take(command, count, words, at);
    }
    if (option->kind != CLI_KIND_FLAG && !match.value && ++*at == count) {
        allowed_text(option, allowed, sizeof(allowed));
        return cli_usage_error("%s needs a value: %s", word, allowed);
    }
    return take(option, match.value ? match.value : words[*at]);
}

int cli_options_read(const struct cli_command *command, int *count, char **words)
{
    const struct cli_option *option;
    int kept = 0, at = 0;
    for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
        if (option->standard && !value_set(option, option->standard))
            return refuse(option, option->standard);
    }
    for (; at < *count; at++) {
        bool is_end = strcmp(words[at], "--") == 0;
        bool is_option = words[at][0] == '-' && words[at][1];
        if (is_end || (!is_option && command->stops)) {
            at += is_end;
            break;
        }
        int status = is_option ? word_take(command, *count, words, &at) : 0;
        if (wants_help || status != 0)
            return wants_help ? CLI_WANTS_HELP : status;
        if (!is_option)
            words[kept++] = words[at];
    }
    while (at < *count)
        words[kept++] = words[at++];
    words[kept] = NULL;
    *count = kept;
    return 0;
}
