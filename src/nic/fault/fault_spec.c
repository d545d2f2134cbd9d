/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reader of RHINET_FAULT; the grammar is in fault_spec.h. Each function takes one piece of an item,
 * and the one that finds it wrong says so, with the whole item and what is allowed.
 */
#include "nic/fault/fault_spec.h"

#include "base/error.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ITEM_LENGTH_MAX 63
#define DELAY_NS_MAX    3600000000000 /* sixteen of them still add up to an int64_t */

static const char *const operation_names[FAULT_OPERATION_COUNT] = {
    [FAULT_ON_PUSH] = "push",     [FAULT_ON_PULL] = "pull",     [FAULT_ON_STORE] = "store",
    [FAULT_ON_ATOMIC] = "atomic", [FAULT_ON_APPEND] = "append", [FAULT_ON_FLUSH] = "flush",
    [FAULT_ON_WAIT] = "wait",
};

#define ON_ALL (FAULT_BIT(FAULT_OPERATION_COUNT) - 1)
#define ON_WRITES                                                                                  \
    (FAULT_BIT(FAULT_ON_PUSH) | FAULT_BIT(FAULT_ON_STORE) | FAULT_BIT(FAULT_ON_APPEND))
#define ON_READS  (FAULT_BIT(FAULT_ON_PULL))
#define ON_ATOMIC (FAULT_BIT(FAULT_ON_ATOMIC))

static const struct {
    const char *name;
    unsigned operations;
} kinds[FAULT_KIND_COUNT] = {
    [FAULT_DELAY] = {"delay", ON_ALL},
    [FAULT_FAIL] = {"fail", ON_ALL},
    [FAULT_DROP] = {"drop", ON_WRITES | ON_READS | ON_ATOMIC},
    [FAULT_REORDER] = {"reorder", FAULT_BIT(FAULT_ON_PUSH) | FAULT_BIT(FAULT_ON_STORE)},
    [FAULT_DOUBT] = {"doubt", FAULT_BIT(FAULT_ON_PUSH) | FAULT_BIT(FAULT_ON_APPEND) | ON_ATOMIC},
    [FAULT_KILL] = {"kill", ON_ALL},
    [FAULT_LOSE] = {"lose", ON_WRITES},
    [FAULT_REPEAT] = {"repeat", ON_WRITES | ON_ATOMIC},
    [FAULT_CORRUPT] = {"corrupt", ON_WRITES | ON_READS},
};

static const struct {
    const char *name;
    int code;
} codes[] = {
    {"EIO", -EIO},
    {"ETIMEDOUT", RH_ETIMEOUT},
    {"EAGAIN", RH_EAGAIN},
    {"ESRCH", RH_EDEAD},
    {"ENOENT", RH_ENOSEG},
    {"ESTALE", RH_ESTALE},
    {"ERANGE", RH_EBOUNDS},
    {"EACCES", RH_ERIGHTS},
    {"ENOSPC", RH_ENOSPACE},
    {"EOPNOTSUPP", RH_EUNSUP},
    {"EPERM", RH_EREFUSED},
    {"EBADMSG", RH_ECORRUPT},
    {"ECANCELED", RH_ECANCELED},
};

const char *fault_operation_name(enum fault_operation operation)
{
    return operation_names[operation];
}

unsigned fault_kind_operations(enum fault_kind kind)
{
    /* A push has no ticket: the program's own ones are hit too, so it must be named. */
    unsigned named_only = kind == FAULT_DOUBT ? FAULT_BIT(FAULT_ON_PUSH) : 0;
    return kinds[kind].operations & ~named_only;
}

static int bad_item(const char *item, const char *problem, const char *allowed)
{
    return error_fail(RH_EINVALID, "RHINET_FAULT: \"%s\": %s; allowed: %s", item, problem, allowed);
}

static int find_kind(const char *name, size_t length)
{
    for (int i = 0; i < FAULT_KIND_COUNT; i++) {
        if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

static int parse_operation(const char *item, const char *name, struct fault_item *parsed)
{
    char allowed[96] = "any";
    size_t used = strlen(allowed);
    if (name[0] == '\0' || strcmp(name, "any") == 0) {
        parsed->operations = fault_kind_operations(parsed->kind);
        return 0;
    }
    for (int i = 0; i < FAULT_OPERATION_COUNT; i++) {
        if (!(kinds[parsed->kind].operations & FAULT_BIT(i)))
            continue;
        if (strcmp(operation_names[i], name) == 0) {
            parsed->operations = FAULT_BIT(i);
            return 0;
        }
        used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, ", %s",
                                 operation_names[i]);
    }
    return bad_item(item, "this kind of fault does not happen to that operation", allowed);
}

static int parse_rate(const char *item, const char *text, struct fault_item *parsed)
{
    if (!text_to_real(text, &parsed->rate) || parsed->rate > 1)
        return bad_item(item, "the rate is wrong", "0 to 1, or OPERATION%RATE, or OPERATION@N");
    return 0;
}

/* Takes text apart in place: "push@17+", "push%0.1", "@17", "0.1". */
static int parse_when(const char *item, char *text, struct fault_item *parsed)
{
    size_t name_length = strcspn(text, "@%");
    char mark = text[name_length];
    if (mark == '\0') {
        parsed->operations = fault_kind_operations(parsed->kind);
        return parse_rate(item, text, parsed);
    }
    text[name_length] = '\0';
    int result = parse_operation(item, text, parsed);
    if (result < 0)
        return result;
    char *number = text + name_length + 1;
    if (mark == '%')
        return parse_rate(item, number, parsed);
    size_t length = strlen(number);
    if (length > 0 && number[length - 1] == '+') {
        parsed->onward = true;
        number[length - 1] = '\0';
    }
    if (!text_to_u64(number, &parsed->first) || parsed->first == 0)
        return bad_item(item, "the number after @ is wrong",
                        "1 or more, or N+ for N and all after");
    return 0;
}

static int parse_code(const char *item, const char *name, struct fault_item *parsed)
{
    char allowed[160];
    size_t used = 0;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (strcmp(codes[i].name, name) == 0) {
            parsed->code = codes[i].code;
            return 0;
        }
        used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s", i ? ", " : "",
                                 codes[i].name);
    }
    return bad_item(item, "no such error", allowed);
}

static int parse_argument(const char *item, const char *argument, struct fault_item *parsed)
{
    switch (parsed->kind) {
    case FAULT_DELAY:
        if (!argument || !text_to_duration(argument, &parsed->delay_ns) ||
            parsed->delay_ns > DELAY_NS_MAX)
            return bad_item(item, "delay needs a time up to 1 hour",
                            "delay=WHEN:TIME, as delay=0.1:200us");
        return 0;
    case FAULT_FAIL:
        return parse_code(item, argument ? argument : "EIO", parsed);
    default:
        if (argument)
            return bad_item(item, "nothing may follow a colon here", "KIND=WHEN");
        return 0;
    }
}

static int parse_number(const char *item, const char *text, uint64_t most, uint64_t *number)
{
    char allowed[48];
    if (text_to_u64(text, number) && *number <= most)
        return 0;
    snprintf(allowed, sizeof(allowed), "0 to %llu", (unsigned long long)most);
    return bad_item(item, "not a number", allowed);
}

static int parse_fault(const char *item, char *text, int kind, struct fault_spec *spec)
{
    if (spec->item_count == FAULT_ITEMS_MAX)
        return bad_item(item, "too many faults", "at most 16");
    struct fault_item parsed = {.kind = (enum fault_kind)kind};
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    int result = parse_when(item, text, &parsed);
    if (result == 0)
        result = parse_argument(item, colon ? colon + 1 : NULL, &parsed);
    if (result == 0)
        spec->item[spec->item_count++] = parsed;
    return result;
}

static int parse_item(const char *item, struct fault_spec *spec)
{
    char copy[ITEM_LENGTH_MAX + 1];
    snprintf(copy, sizeof(copy), "%s", item);
    size_t name_length = strcspn(copy, "=@%");
    char *rest = copy + name_length + (copy[name_length] == '=');
    uint64_t number = 0;
    if (strncmp(copy, "seed=", 5) == 0)
        return parse_number(item, rest, UINT64_MAX, &spec->seed);
    if (strncmp(copy, "rank=", 5) == 0) {
        int result = parse_number(item, rest, INT_MAX, &number);
        if (result == 0)
            spec->rank = (int)number;
        return result;
    }
    int kind = find_kind(copy, name_length);
    if (kind < 0)
        return bad_item(
            item, "no such fault",
            "seed, rank, delay, fail, drop, reorder, doubt, kill, lose, repeat, corrupt");
    return parse_fault(item, rest, kind, spec);
}

int fault_spec_parse(const char *text, struct fault_spec *spec)
{
    struct fault_spec parsed = {.seed = 1, .rank = FAULT_EVERY_RANK};
    const char *at = text;
    while (*at) {
        char item[ITEM_LENGTH_MAX + 1];
        size_t length = strcspn(at, ",");
        snprintf(item, sizeof(item), "%.*s", (int)length, at);
        if (length > ITEM_LENGTH_MAX)
            return bad_item(item, "the item is too long", "at most 63 characters");
        int result = parse_item(item, &parsed);
        if (result < 0)
            return result;
        at += length;
        if (*at == ',' && *++at == '\0')
            return bad_item(text, "something must follow the last comma", "ITEM[,ITEM...]");
    }
    *spec = parsed;
    return 0;
}
