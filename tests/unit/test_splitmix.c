/* SPDX-License-Identifier: BSD-3-Clause
 *
 * splitmix64: the published numbers, because seeds in reports must mean the same for ever.
 */
#include "base/splitmix.h"
#include "unit.h"

static void test_published_numbers(void **state)
{
    (void)state;
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
                                        9817491932198370423u, 4593380528125082431u,
                                        16408922859458223821u};
    uint64_t stream = 1234567;
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_true(splitmix_next(&stream) == expected[i]);
    assert_true(stream == 1234567 + 5 * SPLITMIX_STEP);
}

/* One bit more or less changes about half of the others. */
static void test_mix_avalanche(void **state)
{
    (void)state;
    for (int bit = 0; bit < 64; bit++) {
        int changed = 0;
        for (uint64_t i = 0; i < 64; i++) {
            uint64_t word = i * SPLITMIX_STEP;
            changed += __builtin_popcountll(splitmix_mix(word) ^
                                            splitmix_mix(word ^ (uint64_t)1 << bit));
        }
        assert_in_range(changed / 64, 26, 38);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_numbers),
        cmocka_unit_test(test_mix_avalanche),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
