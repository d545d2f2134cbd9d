/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Firmware that makes mistakes: each ends the world with a message that names the node and the
 * place; and any instructions at all leave the model whole.
 */
#include "mips.h"
#include "node.h"

#include <rhinet/error.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PENDING 0x40000000u

static void file_write(char *path, const uint32_t *words, size_t count)
{
    static uint8_t file[ELF_BYTES];
    size_t size = elf_make(file, words, count);
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, file, size), (ssize_t)size);
    close(descriptor);
}

/* A page that is not in PATLB. */
static void push_body(void *argument)
{
    struct nodes *nodes = argument;
    struct process_transfer transfer = {
        .peer = nodes->process[1], .local = NODE_DATA, .remote = NODE_DATA + 64, .length = 8};
    process_push(nodes->process[0], &transfer);
    process_finish(nodes->process[0]);
}

/* Runs a world in which this is the firmware; returns what sim_run() does. */
static int world_run(const uint32_t *words, size_t count, uint64_t events)
{
    char path[] = "/tmp/firmware-XXXXXX";
    struct nodes nodes;
    struct sim_constants constants = sim_constants_default();
    file_write(path, words, count);
    constants.firmware = path;
    nodes_open(&nodes, (struct cluster_spec){.constants = &constants}, false);
    unlink(path);
    nodes_start(&nodes, "push", push_body);
    int result = sim_run(nodes.sim, SIM_S, events);
    nodes_close(&nodes);
    return result;
}

/* The main loop, which ends with an instruction of the case when there is something to do. */
#define LOOP(...)                                                                                  \
    {                                                                                              \
        LUI(A0, HIGH(PENDING)), LW(T0, 0, A0), NOP, BEQ(T0, ZERO, -3), NOP, __VA_ARGS__            \
    }

static void test_faults(void **state)
{
    (void)state;
    const struct {
        uint32_t words[16];
        const char *says;
    } cases[] = {
        {LOOP(LW(T0, 0, ZERO)), "where nothing is (0x00000000), at start+0x14"},
        {LOOP(LW(T0, 2, A0)), "multiple of its size (0x40000002), at start+0x14"},
        {LOOP(SW(T0, 0, A0)), "where nothing is (0x40000000), at start+0x14"},
        {LOOP(LB(T0, 0, A0)), "where nothing is (0x40000000), at start+0x14"},
        {LOOP(JR(ZERO), NOP), "where no instructions are (0x00000000)"},
        {LOOP(BEQ(ZERO, ZERO, -1), NOP), "endless loop"},
        {LOOP(LW(T0, 12, A0), BEQ(ZERO, ZERO, -2), NOP), "without INTC_PENDING"},
        {LOOP(ADDIU(SP, ZERO, 4), LW(T0, 12, A0)), "the stack is too deep"},
        {LOOP(0x3f), "does not have"},
        {{BEQ(ZERO, ZERO, -1), NOP}, "endless loop"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(world_run(cases[i].words, COUNT_OF(cases[i].words), 0), -EIO);
        if (!strstr(rh_error_text(), cases[i].says) ||
            !strstr(rh_error_text(), "firmware of node 0: "))
            fail_msg("case %zu says: %s", i, rh_error_text());
    }
}

static void test_no_file(void **state)
{
    (void)state;
    struct sim *sim = world_make(1);
    struct cluster *cluster = NULL;
    struct sim_constants constants = sim_constants_default();
    constants.firmware = "/nonexistent/firmware.elf";
    struct cluster_spec spec = {.node_count = 2, .memory = NODE_MEMORY, .constants = &constants};
    assert_int_equal(cluster_create(&cluster, sim, &spec), -ENOENT);
    assert_non_null(strstr(rh_error_text(), "/nonexistent/firmware.elf"));
    sim_destroy(sim);
}

/* Stores of any value to any register, and any instructions: the world goes on, or ends with a
 * message. */
static void test_chance(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {0x40000000u, 0x40001000u, 0x40002000u, 0x40003000u,
                                      0x40004000u, 0x40005000u, 0x40006000u, 0x40010000u,
                                      0x20000000u, 0x24000000u};
    uint32_t failed = 0, seeds = 300;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct sim *sim = world_make(seed);
        uint32_t words[256] = LOOP(NOP), count = 5;
        while (count < COUNT_OF(words) - 8) {
            uint32_t block = blocks[sim_random_below(sim, COUNT_OF(blocks))];
            int32_t at = (int32_t)sim_random_below(sim, 32) * 4;
            uint32_t kind = (uint32_t)sim_random_below(sim, 8);
            words[count++] = LUI(A1, HIGH(block));
            words[count++] = ORI(A1, A1, LOW(block));
            words[count++] = ADDIU(T1, ZERO, (int32_t)sim_random_below(sim, 9));
            words[count++] = kind < 3   ? SW(T1, at, A1)
                             : kind < 7 ? LW(T1, at, A1)
                                        : (uint32_t)sim_random(sim);
        }
        words[count] = BEQ(ZERO, ZERO, -(int32_t)count - 1);
        words[count + 1] = NOP;
        count += 2;
        sim_destroy(sim);
        int result = world_run(words, count, 20000);
        assert_true(result >= 0 || result == -EIO);
        failed += result < 0;
    }
    assert_in_range(failed, 1, seeds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
