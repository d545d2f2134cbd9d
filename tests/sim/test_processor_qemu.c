/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The on-chip processor against qemu-mipsel: programs by chance, as ELF files that both run; at the
 * end registers and memory must be the same. qemu knows no load delays, so programs do not look at
 * what a load has fetched in the next instruction, and divide by nothing that is 0.
 */
#include "mips.h"
#include "support.h"

#include "sim/engine/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAMS 40
#define GROUPS   400
#define WORDS    (GROUPS * 4 + 256)
#define RESULT   4096
#define BASE     SP /* points into the middle of the data, and nobody changes it */

struct maker {
    struct sim *sim;
    uint32_t words[WORDS];
    size_t count;
    size_t starts[GROUPS + 8];   /* of groups: where branches may go */
    size_t branches[GROUPS + 8]; /* groups that end with a branch and its slot; 0: none */
};

static uint32_t chance(struct maker *maker, uint32_t limit)
{
    return (uint32_t)sim_random_below(maker->sim, limit);
}

static void put(struct maker *maker, uint32_t word)
{
    assert_true(maker->count < WORDS);
    maker->words[maker->count++] = word;
}

/* Registers that programs compute with: 1 to 25. */
static uint32_t any(struct maker *maker)
{
    return 1 + chance(maker, 25);
}

static void plain_put(struct maker *maker)
{
    static const uint8_t functions[] = {0, 2, 3, 4, 6, 7, 33, 35, 36, 37, 38, 39, 42, 43};
    static const uint8_t codes[] = {9, 10, 11, 12, 13, 14, 15};
    if (chance(maker, 2))
        put(maker, mips_r(functions[chance(maker, COUNT_OF(functions))], any(maker), any(maker),
                          chance(maker, 32)) |
                       (chance(maker, 32) << 6));
    else
        put(maker, mips_i(codes[chance(maker, COUNT_OF(codes))], any(maker), any(maker),
                          (int32_t)chance(maker, 0x10000)));
}

/* Shifts by a number take no first register, all others no number. */
static void shape_mend(struct maker *maker)
{
    uint32_t *word = &maker->words[maker->count - 1], function = *word & 63;
    if (*word >> 26 == 15)
        *word &= ~(31u << 21);
    if (*word >> 26 != 0)
        return;
    if (function <= 3)
        *word &= ~(31u << 21);
    else
        *word &= ~(31u << 6);
}

static void memory_put(struct maker *maker)
{
    static const struct {
        uint8_t code, size;
    } kinds[] = {{32, 1}, {33, 2}, {34, 1}, {35, 4}, {36, 1}, {37, 2},
                 {38, 1}, {40, 1}, {41, 2}, {42, 1}, {43, 4}, {46, 1}};
    uint32_t kind = chance(maker, COUNT_OF(kinds)), target = any(maker);
    int32_t offset = ((int32_t)chance(maker, 0xc00) - 0x600) & ~(kinds[kind].size - 1);
    put(maker, mips_i(kinds[kind].code, target, BASE, offset));
    if (kinds[kind].code == 34) /* the pair of an unaligned load, which may follow at once */
        put(maker, mips_i(38, target, BASE, offset - 3));
    put(maker, NOP);
}

static void product_put(struct maker *maker)
{
    uint32_t function = 24 + chance(maker, 4), divisor = any(maker);
    if (function >= 26)
        put(maker, ORI(divisor, divisor, 1));
    put(maker, mips_r(function, 0, any(maker), divisor));
    put(maker, chance(maker, 2) ? MFHI(any(maker)) : MFLO(any(maker)));
}

static void checked_put(struct maker *maker)
{
    uint32_t a = any(maker), b = any(maker);
    put(maker, SRA(a, a, 2));
    put(maker, SRA(b, b, 2));
    put(maker, chance(maker, 2) ? ADD(any(maker), a, b) : SUB(any(maker), a, b));
}

/* Where it goes is written in later. The slot has a plain instruction. */
static void branch_put(struct maker *maker, size_t group)
{
    static const uint8_t codes[] = {4, 5, 6, 7}, kinds[] = {0, 1, 16, 17};
    uint32_t which = chance(maker, 10), rs = any(maker);
    maker->branches[group] = maker->count;
    if (which < 4)
        put(maker, mips_i(codes[which], which < 2 ? any(maker) : 0, rs, 0));
    else if (which < 8)
        put(maker, mips_i(1, kinds[which - 4], rs, 0));
    else
        put(maker, which == 8 ? J(0u) : JAL(0u));
    plain_put(maker);
    shape_mend(maker);
}

static void branches_aim(struct maker *maker)
{
    for (size_t i = 0; i < GROUPS; i++) {
        size_t at = maker->branches[i];
        if (at == 0)
            continue;
        size_t target = maker->starts[i + 1 + chance(maker, 4)];
        bool is_jump = maker->words[at] >> 26 == 2 || maker->words[at] >> 26 == 3;
        maker->words[at] |= is_jump ? (uint32_t)(ELF_CODE / 4 + target)
                                    : (uint32_t)(target - at - 1) & 0xffff;
    }
}

static void number_put(struct maker *maker, uint32_t target, uint32_t value)
{
    put(maker, LUI(target, HIGH(value)));
    put(maker, ORI(target, target, LOW(value)));
}

/* Registers, some of them with values at the edges; groups; all registers to memory; and out. */
static void program_make(struct maker *maker)
{
    static const uint32_t edges[] = {0, 1, 0x7fffffff, 0x80000000u, UINT32_MAX};
    for (uint32_t i = 1; i <= 25; i++)
        number_put(maker, i,
                   chance(maker, 3) ? (uint32_t)sim_random(maker->sim)
                                    : edges[chance(maker, COUNT_OF(edges))]);
    number_put(maker, BASE, PROCESSOR_DATA_BASE + 0x800);
    number_put(maker, RA, 0);
    put(maker, MULTU(T0, T1));
    for (size_t i = 0; i < GROUPS; i++) {
        uint32_t kind = chance(maker, 10);
        maker->starts[i] = maker->count;
        if (kind < 4) {
            plain_put(maker);
            shape_mend(maker);
        } else if (kind < 6) {
            memory_put(maker);
        } else if (kind < 7) {
            product_put(maker);
        } else if (kind < 8) {
            checked_put(maker);
        } else {
            branch_put(maker, i);
        }
    }
    for (size_t i = GROUPS; i < GROUPS + 8; i++)
        maker->starts[i] = maker->count;
    branches_aim(maker);
    for (uint32_t i = 1; i < 32; i++) {
        if (i < 26 || i > 28)
            put(maker, SW(i, (int32_t)i * 4 - 0x800, BASE));
    }
    put(maker, MFHI(T0));
    put(maker, MFLO(T1));
    put(maker, SW(T0, 26 * 4 - 0x800, BASE));
    put(maker, SW(T1, 27 * 4 - 0x800, BASE));
    number_put(maker, A1, PROCESSOR_DATA_BASE);
    put(maker, ADDIU(A0, ZERO, 1));
    put(maker, ADDIU(A2, ZERO, RESULT));
    put(maker, ADDIU(V0, ZERO, 4004)); /* write */
    put(maker, SYSCALL);
    put(maker, ADDIU(A0, ZERO, 0));
    put(maker, ADDIU(V0, ZERO, 4001)); /* exit */
    put(maker, SYSCALL);
}

/* What qemu's program writes; false: there is no qemu. */
static bool qemu_run(const char *path, uint8_t result[RESULT])
{
    int ends[2], status = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], 1);
        execlp("qemu-mipsel", "qemu-mipsel", path, (char *)NULL);
        _exit(errno == ENOENT ? 127 : 126);
    }
    close(ends[1]);
    size_t have = 0;
    for (ssize_t got; have < RESULT; have += (size_t)got) {
        got = read(ends[0], result + have, RESULT - have);
        if (got <= 0)
            break;
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return false;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || have != RESULT)
        fail_msg("qemu-mipsel %s ended with status 0x%x after %zu bytes", path, status, have);
    return true;
}

static void own_run(const uint8_t *file, size_t size, uint8_t result[RESULT])
{
    struct processor_image *image = NULL;
    struct processor *p = NULL;
    struct sim_constants constants = sim_constants_default();
    assert_int_equal(processor_image_parse(&image, file, size, "chance"), 0);
    assert_int_equal(
        processor_create(
            &p, &(struct processor_spec){.image = image, .constants = &constants, .fatal = ~1u}),
        0);
    assert_int_equal(processor_run(p, 100000), PROCESSOR_FAULTED);
    assert_int_equal(processor_fault(p).exception, PROCESSOR_SYSCALL);
    assert_true(processor_memory_read(p, PROCESSOR_DATA_BASE, result, RESULT));
    processor_destroy(p);
    processor_image_close(image);
}

static void results_compare(uint64_t seed, const uint8_t *own, const uint8_t *qemu)
{
    for (uint32_t i = 0; i < RESULT / 4; i++) {
        uint32_t a, b;
        memcpy(&a, own + 4 * i, 4);
        memcpy(&b, qemu + 4 * i, 4);
        if (a != b)
            fail_msg("seed %llu: %s %u is 0x%08x, with qemu 0x%08x", (unsigned long long)seed,
                     i < 32 ? "register" : "word", i, a, b);
    }
}

static void test_programs(void **state)
{
    (void)state;
    static uint8_t file[ELF_BYTES], own[RESULT], qemu[RESULT];
    char path[] = "/tmp/processor-XXXXXX";
    int descriptor = mkostemp(path, O_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(fchmod(descriptor, 0700), 0);
    close(descriptor);
    bool has_qemu = true;
    for (uint64_t seed = 1; seed <= PROGRAMS && has_qemu; seed++) {
        struct maker *maker = calloc(1, sizeof(*maker));
        assert_non_null(maker);
        maker->sim = world_make(seed);
        program_make(maker);
        size_t size = elf_make(file, maker->words, maker->count);
        FILE *output = fopen(path, "we");
        assert_non_null(output);
        assert_int_equal(fwrite(file, 1, size, output), size);
        fclose(output);
        own_run(file, size, own);
        has_qemu = qemu_run(path, qemu);
        if (has_qemu)
            results_compare(seed, own, qemu);
        sim_destroy(maker->sim);
        free(maker);
    }
    unlink(path);
    if (!has_qemu) {
        print_message("# there is no qemu-mipsel (Debian: qemu-user)\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
