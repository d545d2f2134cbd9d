/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of a command: kinds, the line of a table, reading them. See cli.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_option_kind {
    CLI_KIND_FLAG,
    CLI_KIND_NUMBER, /* whole, of 4 or 8 bytes as its target is */
    CLI_KIND_REAL,
    CLI_KIND_SIZE, /* 64K, 1G */
    CLI_KIND_TIME, /* 30s, 1.5ms; in nanoseconds */
    CLI_KIND_CHOICE,
    CLI_KIND_TEXT,
    CLI_KIND_FILE, /* a text of which completion knows that it is a file or folder */
    CLI_KIND_LIST, /* may be given several times */
    CLI_KIND_CALL
};

struct cli_option {
    const char *name; /* without dashes */
    enum cli_option_kind kind;
    char letter;       /* 0: none */
    const char *habit; /* a name with one dash that people type out of habit, or NULL */
    const char *value; /* its name in help and manual; NULL: none, or all choices */
    const char *help;
    const char *standard; /* unless given; NULL: the target stays as it is */
    void *target;
    size_t width;                         /* of the target */
    uint64_t least, most;                 /* of numbers, sizes and times */
    double real_min, real_max;            /* of real numbers */
    const char *const *choices;           /* ends with NULL; the target gets the index */
    const char *(*suggest)(size_t index); /* further words for completion; ends with NULL */
    /* 0; an exit status, after it has said what is wrong; or -1: the value is not `allowed`. */
    int (*take)(char *text);
    bool takes_file;     /* completion offers files; a CLI_KIND_FILE does so anyway */
    const char *allowed; /* in words, where the kind does not say it: "an even number" */
};

#define CLI_LIST_MAX 64

struct cli_list {
    const char *item[CLI_LIST_MAX];
    size_t count;
};

#define CLI_OPTION(name_, value_, kind_, ...)                                                      \
    {                                                                                              \
        .name = (name_), .value = (value_), .kind = (kind_), __VA_ARGS__                           \
    }
/* The compiler compares the target with what the kind writes there: a whole number has a place of 4
 * or 8 bytes that holds the largest one, or this divides by 0. */
#define CLI_TARGET(type_, target_)                                                                 \
    .target = (1 ? (target_) : (type_ *)0), .width = sizeof(*(target_))
#define CLI_TARGET_WHOLE(most_, target_)                                                           \
    .target = (target_),                                                                           \
    .width = sizeof(*(target_)) /                                                                  \
             (sizeof(*(target_)) == 8 || (sizeof(*(target_)) == 4 && (most_) <= UINT32_MAX))

/* The help line comes last, and behind it what is rare: .letter, .standard, .suggest, .allowed. */
#define CLI_FLAG(name_, target_, ...)                                                              \
    CLI_OPTION(name_, NULL, CLI_KIND_FLAG, CLI_TARGET(bool, target_), .help = __VA_ARGS__)
#define CLI_NUMBER(name_, value_, least_, most_, target_, ...)                                     \
    CLI_OPTION(name_, value_, CLI_KIND_NUMBER, .least = (least_), .most = (most_),                 \
               CLI_TARGET_WHOLE(most_, target_), .help = __VA_ARGS__)
#define CLI_REAL(name_, value_, least_, most_, target_, ...)                                       \
    CLI_OPTION(name_, value_, CLI_KIND_REAL, .real_min = (least_), .real_max = (most_),            \
               CLI_TARGET(double, target_), .help = __VA_ARGS__)
#define CLI_SIZE(name_, value_, target_, ...)                                                      \
    CLI_OPTION(name_, value_, CLI_KIND_SIZE, .most = UINT64_MAX,                                   \
               CLI_TARGET_WHOLE(UINT64_MAX, target_), .help = __VA_ARGS__)
#define CLI_TIME(name_, value_, least_, most_, target_, ...)                                       \
    CLI_OPTION(name_, value_, CLI_KIND_TIME, .least = (least_), .most = (most_),                   \
               CLI_TARGET_WHOLE(most_, target_), .help = __VA_ARGS__)
#define CLI_CHOICE(name_, value_, choices_, target_, ...)                                          \
    CLI_OPTION(name_, value_, CLI_KIND_CHOICE, .choices = (choices_),                              \
               CLI_TARGET_WHOLE(1, target_), .help = __VA_ARGS__)
#define CLI_TEXT(name_, value_, target_, ...)                                                      \
    CLI_OPTION(name_, value_, CLI_KIND_TEXT, CLI_TARGET(const char *, target_), .help = __VA_ARGS__)
#define CLI_FILE(name_, value_, target_, ...)                                                      \
    CLI_OPTION(name_, value_, CLI_KIND_FILE, CLI_TARGET(const char *, target_), .help = __VA_ARGS__)
#define CLI_LIST(name_, value_, target_, ...)                                                      \
    CLI_OPTION(name_, value_, CLI_KIND_LIST, CLI_TARGET(struct cli_list, target_),                 \
               .help = __VA_ARGS__)
#define CLI_CALL(name_, value_, take_, ...)                                                        \
    CLI_OPTION(name_, value_, CLI_KIND_CALL, .take = (take_), .help = __VA_ARGS__)
#define CLI_OPTIONS_END                                                                            \
    {                                                                                              \
        .name = NULL                                                                               \
    }

struct cli_command;

/* All options of a command, one after the other, --help last; NULL behind it. */
const struct cli_option *cli_option_at(const struct cli_command *command, size_t index);

/* What a word means: "-n", "--ranks", "--ran", "--ranks=4". */
struct cli_option_match {
    const struct cli_option *option; /* NULL: none */
    const struct cli_option *other;  /* another one that it may mean as well, or NULL */
    char *value;                     /* in the same word, or NULL */
};
struct cli_option_match cli_option_find(const struct cli_command *command, char *word);

#define CLI_WANTS_HELP (-1)

/* Standard values, then the words: what is left of them are operands. 0, CLI_WANTS_HELP, or an exit
 * status after it has said what is wrong. */
int cli_options_read(const struct cli_command *command, int *count, char **words);

/* Several words as "top, middle or bottom". */
void cli_words_join(char *text, size_t room, const char *const *words);
