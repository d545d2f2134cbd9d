/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages and receives with tags of 64 bits: the rules one by one, then random programs beside a
 * model, which keeps everything in arrays and looks through them from the beginning.
 */
#include "msg/matching.h"

#include "base/splitmix.h"
#include "unit.h"

#include <string.h>

#define ENTRIES_MAX 200
#define STEPS       20000

static void test_oldest_first(void **state)
{
    (void)state;
    struct matching matching = {0};
    struct matching_entry any = {.source = MATCHING_ANY_SOURCE, .ignore = UINT64_MAX};
    struct matching_entry five = {.source = 3, .tag = 5};
    struct matching_entry message = {.source = 3, .tag = 5};
    assert_null(matching_post(&matching, &any));
    assert_null(matching_post(&matching, &five));
    assert_ptr_equal(matching_posted_find(&matching, &message), &any);
    assert_ptr_equal(matching_arrive(&matching, &message), &any);
    assert_ptr_equal(matching_arrive(&matching, &message), &five);
    assert_null(matching_arrive(&matching, &message));
    assert_ptr_equal(matching.unexpected.first, &message);
    assert_ptr_equal(matching_unexpected_find(&matching, &any), &message);
    assert_ptr_equal(matching_post(&matching, &five), &message);
    assert_null(matching.unexpected.first);
    assert_null(matching.posted.last);
}

static void test_ignored_bits_and_source(void **state)
{
    (void)state;
    struct matching_entry receive = {
        .source = 1, .tag = 0xff00000000000012u, .ignore = 0xff00000000000001u};
    struct matching_entry message = {.source = 1, .tag = 0x13};
    assert_true(matching_fits(&receive, &message));
    message.tag = 0x10;
    assert_false(matching_fits(&receive, &message));
    message.tag = 0x12;
    message.source = 2;
    assert_false(matching_fits(&receive, &message));
    receive.source = MATCHING_ANY_SOURCE;
    assert_true(matching_fits(&receive, &message));
}

/* ---- The model ------------------------------------------------------------------------------ */

struct model_list {
    struct matching_entry *entry[ENTRIES_MAX];
    int count;
};

static void model_drop(struct model_list *list, int index)
{
    list->count--;
    memmove(&list->entry[index], &list->entry[index + 1],
            (size_t)(list->count - index) * sizeof(list->entry[0]));
}

static bool model_fits(const struct matching_entry *receive, const struct matching_entry *message)
{
    for (int bit = 0; bit < 64; bit++) {
        bool matters = !(receive->ignore >> bit & 1);
        if (matters && (receive->tag >> bit & 1) != (message->tag >> bit & 1))
            return false;
    }
    return receive->source == MATCHING_ANY_SOURCE || receive->source == message->source;
}

static int model_find(const struct model_list *list, const struct matching_entry *wanted,
                      bool is_receive)
{
    for (int i = 0; i < list->count; i++) {
        if (is_receive ? model_fits(wanted, list->entry[i]) : model_fits(list->entry[i], wanted))
            return i;
    }
    return -1;
}

static struct matching_entry *model_step(struct model_list *there, struct model_list *here,
                                         struct matching_entry *entry, bool is_receive)
{
    int found = model_find(there, entry, is_receive);
    if (found < 0) {
        here->entry[here->count++] = entry;
        return NULL;
    }
    struct matching_entry *other = there->entry[found];
    model_drop(there, found);
    return other;
}

static void check_list(const struct matching_list *list, const struct model_list *model)
{
    const struct matching_entry *entry = list->first, *previous = NULL;
    for (int i = 0; i < model->count; i++) {
        assert_ptr_equal(entry, model->entry[i]);
        assert_ptr_equal(entry->previous, previous);
        previous = entry;
        entry = entry->next;
    }
    assert_null(entry);
    assert_ptr_equal(list->last, previous);
}

static struct matching_entry *pick_free(struct matching_entry *pool, bool *is_used)
{
    for (int i = 0; i < ENTRIES_MAX; i++) {
        if (is_used[i])
            continue;
        is_used[i] = true;
        return &pool[i];
    }
    return NULL;
}

static void random_program(uint64_t seed)
{
    struct matching matching = {0};
    struct model_list posted = {.count = 0}, unexpected = {.count = 0};
    static struct matching_entry pool[ENTRIES_MAX];
    bool is_used[ENTRIES_MAX] = {false};
    for (int step = 0; step < STEPS; step++) {
        uint64_t chance = splitmix_next(&seed);
        /* Some receives are cancelled. */
        if (chance % 10 == 0 && posted.count > 0) {
            int index = (int)(chance >> 40) % posted.count;
            is_used[posted.entry[index] - pool] = false;
            matching_remove(&matching.posted, posted.entry[index]);
            model_drop(&posted, index);
            continue;
        }
        struct matching_entry *entry = pick_free(pool, is_used);
        if (!entry)
            break; /* both lists are long, and nothing fits any more */
        bool is_receive = chance >> 8 & 1;
        *entry = (struct matching_entry){.source = chance >> 9 & 3, .tag = chance >> 12 & 7};
        if (is_receive && (chance >> 16 & 3) == 0)
            entry->source = MATCHING_ANY_SOURCE;
        if (is_receive && (chance >> 18 & 1))
            entry->ignore = (chance >> 20 & 1) ? UINT64_MAX : chance >> 21 & 7;
        struct matching_entry *expected = is_receive
                                              ? model_step(&unexpected, &posted, entry, true)
                                              : model_step(&posted, &unexpected, entry, false);
        struct matching_entry *found = is_receive ? matching_post(&matching, entry)
                                                  : matching_arrive(&matching, entry);
        assert_ptr_equal(found, expected);
        if (found)
            is_used[found - pool] = is_used[entry - pool] = false;
        check_list(&matching.posted, &posted);
        check_list(&matching.unexpected, &unexpected);
    }
}

static void test_random_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++)
        random_program(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oldest_first),
        cmocka_unit_test(test_ignored_bits_and_source),
        cmocka_unit_test(test_random_programs),
    };
    return cmocka_run_group_tests_name("matching", tests, NULL, NULL);
}
