/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory with one owner: cleared, aligned, each array its own, all of it given back (the sanitizer
 * sees what is not), and one question at the end tells whether anything was missing.
 */
#include "base/arena.h"
#include "scarce.h"
#include "unit.h"

#include <stdint.h>
#include <string.h>

static void test_takes_and_frees(void **state)
{
    (void)state;
    struct arena arena = {0};
    for (int round = 0; round < 2; round++) {
        uint8_t *bytes[100];
        for (size_t i = 0; i < COUNT_OF(bytes); i++) {
            ARENA_TAKE(&arena, bytes[i], i);
            assert_non_null(bytes[i]); /* also of none */
            assert_int_equal((uintptr_t)bytes[i] % _Alignof(max_align_t), 0);
            for (size_t k = 0; k < i; k++)
                assert_int_equal(bytes[i][k], 0);
            memset(bytes[i], (int)i, i);
        }
        for (size_t i = 1; i < COUNT_OF(bytes); i++)
            assert_true(bytes[i][0] == i && bytes[i][i - 1] == i);
        assert_false(arena.is_short);
        arena_free(&arena);
        assert_null(arena.blocks);
    }
    arena_free(&arena); /* of nothing */
}

struct line {
    _Alignas(256) uint64_t word; /* malloc() would do for one of 16 */
};

static void test_aligned(void **state)
{
    (void)state;
    struct arena arena = {0};
    for (size_t i = 0; i < 100; i++) {
        struct line *lines;
        ARENA_TAKE(&arena, lines, i);
        assert_int_equal((uintptr_t)lines % 256, 0);
        for (size_t k = 0; k < i; k++) {
            assert_int_equal(lines[k].word, 0);
            memset(&lines[k], 1, sizeof(lines[k])); /* the sanitizer sees what is not ours */
        }
    }
    arena_free(&arena);
}

struct owner {
    struct arena memory;
    double *numbers;
};

static void test_owner(void **state)
{
    (void)state;
    struct owner *owner = arena_owner(sizeof(*owner));
    assert_non_null(owner);
    assert_null(owner->numbers);
    ARENA_TAKE(&owner->memory, owner->numbers, 7);
    assert_true(owner->numbers[6] == 0);
    arena_owner_free(owner);
    arena_owner_free(NULL);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct arena arena = {0};
    int *first = ARENA_TAKE(&arena, first, 3), *second, *third;
    first[2] = 7;
    scarce_begin(1, false);
    ARENA_TAKE(&arena, second, 3);
    ARENA_TAKE(&arena, third, 3); /* memory is there again, but what was missing is */
    assert_true(scarce_end());
    assert_null(second);
    assert_non_null(third);
    assert_true(arena.is_short);
    assert_int_equal(first[2], 7);
    arena_free(&arena);
    assert_false(arena.is_short);
}

/* An unchecked product, or sum, would be a small number of bytes. */
static void test_too_large(void **state)
{
    (void)state;
    const size_t wanted[] = {SIZE_MAX / 8 + 2, SIZE_MAX / 8, PTRDIFF_MAX / 8};
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        struct arena arena = {0};
        assert_null(arena_take(&arena, wanted[i], 8, 8));
        assert_true(arena.is_short);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_and_frees), cmocka_unit_test(test_aligned),
        cmocka_unit_test(test_owner),           cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
