/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrays that grow: nothing is lost, adding one by one is cheap, and what cannot be had leaves
 * array and room as they were.
 */
#include "base/array.h"
#include "scarce.h"
#include "unit.h"

#include <stdlib.h>

struct wide {
    uint64_t word[5];
};

static void test_grows_and_keeps(void **state)
{
    (void)state;
    struct wide *items = NULL;
    size_t room = 0;
    unsigned moves = 0;
    for (size_t i = 0; i < 5000; i++) {
        size_t before = room;
        assert_true(array_grow(&items, &room, i + 1));
        assert_true(room > i);
        moves += room != before;
        for (size_t k = 0; k < COUNT_OF(items->word); k++)
            items[i].word[k] = 10 * i + k; /* a sanitizer sees it if the room is too small */
    }
    assert_true(moves <= 11); /* doubled each time, not one more */
    for (size_t i = 0; i < 5000; i++) {
        for (size_t k = 0; k < COUNT_OF(items->word); k++)
            assert_int_equal(items[i].word[k], 10 * i + k);
    }
    struct wide *same = items;
    assert_true(array_grow(&items, &room, room));
    assert_ptr_equal(items, same);
    free(items);
}

static void test_many_at_once(void **state)
{
    (void)state;
    uint8_t *bytes = NULL;
    size_t room = 0;
    assert_true(array_grow(&bytes, &room, 1000));
    assert_true(room >= 1000);
    bytes[room - 1] = 1;
    free(bytes);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct wide *items = NULL;
    size_t room = 0;
    assert_true(array_grow(&items, &room, 3));
    struct wide *same = items;
    size_t before = room;
    items[2].word[4] = 7;
    scarce_begin(1, true);
    bool has_grown = array_grow(&items, &room, before + 1);
    bool is_resized = array_resize(&items, before + 1);
    bool still_fits = array_grow(&items, &room, before);
    assert_true(scarce_end());
    assert_false(has_grown);
    assert_false(is_resized);
    assert_true(still_fits);
    assert_ptr_equal(items, same);
    assert_int_equal(room, before);
    assert_int_equal(items[2].word[4], 7);
    assert_true(array_grow(&items, &room, before + 1)); /* memory is there again */
    assert_int_equal(items[2].word[4], 7);
    free(items);
}

/* An unchecked product would be a small number of bytes. */
static void test_too_large(void **state)
{
    (void)state;
    static const size_t wanted[] = {SIZE_MAX / sizeof(struct wide) + 2, SIZE_MAX / 8 + 1,
                                    SIZE_MAX / 2 + 1, SIZE_MAX};
    struct wide *items = NULL;
    size_t room = 0;
    assert_true(array_grow(&items, &room, 1));
    struct wide *same = items;
    size_t before = room;
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        assert_false(array_grow(&items, &room, wanted[i]));
        assert_false(array_resize(&items, wanted[i]));
        assert_ptr_equal(items, same);
        assert_int_equal(room, before);
    }
    free(items);
}

/* More than half of all there can be: twice that is not a small number. */
static void test_double_does_not_wrap(void **state)
{
    (void)state;
    char byte, *bytes = &byte;
    size_t room = SIZE_MAX / 2 + 2;
    assert_false(array_grow(&bytes, &room, room + 1));
    assert_ptr_equal(bytes, &byte);
    assert_int_equal(room, SIZE_MAX / 2 + 2);
}

static void test_resize_is_exact(void **state)
{
    (void)state;
    uint16_t *items = NULL;
    for (size_t count = 1; count < 100; count++) {
        assert_true(array_resize(&items, count));
        items[count - 1] = (uint16_t)count;
    }
    for (size_t i = 0; i < 99; i++)
        assert_int_equal(items[i], i + 1);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows_and_keeps),      cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_out_of_memory),        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_double_does_not_wrap), cmocka_unit_test(test_resize_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
