/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Firmware files: whole ones, what is said of others, and damage by chance.
 */
#include "mips.h"
#include "support.h"

#include <rhinet/error.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void parse_fails(const uint8_t *file, size_t size, const char *why)
{
    struct processor_image *image = NULL;
    assert_int_equal(processor_image_parse(&image, file, size, "some.elf"), -EINVAL);
    assert_null(image);
    assert_non_null(strstr(rh_error_text(), "some.elf"));
    assert_non_null(strstr(rh_error_text(), why));
}

/* A file that is whole, and what is said of others. */
static void test_files(void **state)
{
    (void)state;
    static uint8_t file[ELF_BYTES];
    const uint32_t words[] = {ADDIU(V0, ZERO, 42), BREAK, NOP};
    size_t size = elf_make(file, words, 3);
    struct processor_image *image = NULL;
    struct processor *p = NULL;
    char place[80];
    struct sim_constants constants = sim_constants_default();
    assert_int_equal(processor_image_parse(&image, file, size, "some.elf"), 0);
    assert_int_equal(processor_image_symbol(image, "start"), ELF_CODE);
    assert_int_equal(processor_image_symbol(image, "nothing"), 0);
    const char *const places[] = {"start (some.c:42)", "start (some.c:43)", "start+0x8",
                                  "0x0001100c"};
    for (uint32_t i = 0; i < COUNT_OF(places); i++) {
        processor_image_place(image, ELF_CODE + 4 * i, place, sizeof(place));
        assert_string_equal(place, places[i]);
    }
    assert_int_equal(
        processor_create(
            &p, &(struct processor_spec){.image = image, .constants = &constants, .fatal = ~1u}),
        0);
    assert_int_equal(processor_run(p, 1000), PROCESSOR_FAULTED);
    assert_int_equal(processor_register(p, V0), 42);
    processor_destroy(p);
    processor_image_close(image);

    for (size_t less = 0; less < size; less++) { /* cut anywhere: refused, or whole without names */
        int result = processor_image_parse(&image, file, less, "some.elf");
        assert_true(result == -EINVAL);
    }
    const struct {
        size_t at;
        uint8_t byte;
        const char *why;
    } wrong[] = {{0, 0, "not an ELF file"},
                 {4, 2, "mipsel"},
                 {5, 2, "mipsel"},
                 {18, 3, "mipsel"},
                 {16, 3, "firmware.ld"},
                 {44, 0, "table of segments"},
                 {26, 0xff, "begins where"},
                 {30, 1, "table of segments"},
                 {52 + 8 + 3, 0x80, "0x80030000 is outside"},
                 {52 + 20 + 2, 2, "outside"},
                 {52 + 16 + 3, 0x40, "beyond the file's end"}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        uint8_t right = file[wrong[i].at];
        file[wrong[i].at] = wrong[i].byte;
        parse_fails(file, size, wrong[i].why);
        file[wrong[i].at] = right;
    }
    assert_int_equal(processor_image_open(&image, "/nonexistent/some.elf"), -ENOENT);
    assert_non_null(strstr(rh_error_text(), "/nonexistent/some.elf"));
    assert_int_equal(processor_image_open(&image, "/"), -EINVAL);
}

/* Damaged files: never more than an error. */
static void test_files_chance(void **state)
{
    (void)state;
    static uint8_t file[ELF_BYTES];
    const uint32_t words[] = {ADDIU(V0, ZERO, 42), BREAK};
    size_t whole = elf_make(file, words, 2), loaded = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct sim *sim = world_make(seed);
        struct processor_image *image = NULL;
        char place[16]; /* shorter than some: cut, not overrun */
        size_t size = elf_make(file, words, 2);
        for (uint64_t i = sim_random_below(sim, 8); i-- > 0;) {
            size_t at = sim_random_below(sim, 3) ? sim_random_below(sim, 116)
                                                 : 0x400 + sim_random_below(sim, 0x300);
            file[at] = (uint8_t)sim_random(sim);
        }
        size -= sim_random_below(sim, 2) ? sim_random_below(sim, whole) : 0;
        uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees its end */
        assert_non_null(exact);
        memcpy(exact, file, size);
        if (processor_image_parse(&image, exact, size, "some.elf") == 0) {
            processor_image_place(image, ELF_CODE + 4, place, sizeof(place));
            loaded++;
        }
        processor_image_close(image);
        free(exact);
        sim_destroy(sim);
    }
    assert_in_range(loaded, 100, 2900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_files_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
