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

#define RING (NODE_DATA + 4096)

/* What happens in the world; {0}: a push from a page that is not in PATLB. */
static struct world {
    bool is_warm, is_soft; /* all is in PATLB and RVATLB; VPUSH all in software */
    uint32_t sid;          /* 0: the process's */
    struct {
        enum chip_module module;
        const char *state; /* NULL: none */
    } stop;                /* a breakpoint, on both nodes */
} world;

static void push_body(void *argument)
{
    struct nodes *nodes = argument;
    struct process_transfer transfer = {.peer = nodes->process[1],
                                        .sid = world.sid ? world.sid : PROCESS_SID,
                                        .local = NODE_DATA,
                                        .remote = NODE_DATA + 64,
                                        .length = 8};
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
    constants.soft_vpush = world.is_soft;
    nodes_open(&nodes, (struct cluster_spec){.constants = &constants}, world.is_warm);
    unlink(path);
    process_ring_open(nodes.process[1], RING, 2);
    for (uint32_t i = 0; i < 2 && world.stop.state; i++)
        chip_breakpoint_set(cluster_chip(nodes.cluster, i), world.stop.module,
                            chip_state_find(world.stop.module, world.stop.state), true);
    nodes_start(&nodes, "push", push_body);
    int result = sim_run(nodes.sim, SIM_S, events);
    if (result == SIM_TIME && network_check(cluster_network(nodes.cluster)) < 0)
        result = -EPROTO;
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

#define WRITE(address, value)                                                                      \
    LUI(A1, HIGH(address)), ORI(A1, A1, LOW(address)), ADDIU(T1, ZERO, value), SW(T1, 0, A1)
#define AGAIN(words) BEQ(ZERO, ZERO, -(words)-1), NOP

/* What firmware may not do to a module now; each was a crash or a packet that stayed for ever. */
static void test_sequences(void **state)
{
    (void)state;
    const struct {
        const char *name;
        struct world world;
        uint32_t words[40];
        const char *says; /* NULL: nothing */
    } cases[] = {
        {"a payload that RFend has not",
         {.is_warm = true, .sid = 99},
         LOOP(WRITE(0x40003010u, 1), WRITE(0x40006030u, 0)),
         "node 1: access to an address where nothing is (0x40006030)"},
        {"more of a payload than there is",
         {.is_warm = true, .sid = PROCESS_RING_SID},
         LOOP(WRITE(0x40006008u, 9), WRITE(0x40006030u, 0)),
         "node 1: access to an address where nothing is (0x40006030)"},
        {"a process that has not ended",
         {0},
         LOOP(WRITE(0x4000001cu, 1)),
         "node 0: access to an address where nothing is (0x4000001c)"},
        {"two conditional writes at a time",
         {0},
         LOOP(WRITE(0x40005004u, 1), WRITE(0x40006024u, 1), WRITE(0x40006024u, 1)),
         "node 0: access to an address where nothing is (0x40006024)"},
        {"a frame that the host has not",
         {0},
         LOOP(LUI(A2, 0x4000), ORI(A2, A2, 0x5000), LUI(A3, 0x4000), ORI(A3, A3, 0x1000),
              LW(T0, 0x14, A3), NOP, SW(T0, 0, A2), LW(T0, 0x18, A3), LW(T1, 0x1c, A3),
              SRL(T0, T0, 12), SLL(T2, T1, 20), ADDU(T0, T0, T2), SRL(T1, T1, 12), SW(T0, 4, A2),
              SW(T1, 8, A2), LUI(T0, 0x7fff), SW(T0, 0xc, A2), SW(T0, 0x14, A2),
              WRITE(0x40001000u, 2), AGAIN(27)),
         "node 0: a DMA to where the host has no memory"},
        {"RBend has not drained: complete",
         {.is_warm = true, .stop = {CHIP_RBEND, "PATLB"}},
         LOOP(WRITE(0x40004010u, 2), AGAIN(9)),
         NULL},
        {"RBend has not drained: cancel",
         {.is_warm = true, .stop = {CHIP_RBEND, "PATLB"}},
         LOOP(WRITE(0x40004010u, 1), AGAIN(9)),
         NULL},
        {"an address before the header is there",
         {.is_warm = true, .stop = {CHIP_INITIATOR, "PGID"}},
         LOOP(WRITE(0x40001000u, 2)),
         "node 0: access to an address where nothing is (0x40001000)"},
        {"a breakpoint where nobody waits for the module",
         {0},
         LOOP(WRITE(0x4000100cu, 1 << 5)), /* Initiator, CHK2 */
         "node 0: access to an address where nothing is (0x4000100c)"},
        {"a ring that RFend does not wait for",
         {.is_warm = true, .stop = {CHIP_INITIATOR, "PGID"}},
         LOOP(WRITE(0x4001002cu, 1)),
         "where nothing is (0x4001002c)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        world = cases[i].world;
        int result = world_run(cases[i].words, COUNT_OF(cases[i].words), 0);
        if (result != (cases[i].says ? -EIO : SIM_TIME))
            fail_msg("%s: %d, %s", cases[i].name, result, rh_error_text());
        if (cases[i].says && !strstr(rh_error_text(), cases[i].says))
            fail_msg("%s says: %s", cases[i].name, rh_error_text());
    }
    world = (struct world){0};
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
                                      0x20000000u, 0x24000000u, 0x28000000u, 0x2803ff80u};
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
            words[count++] = sim_random_below(sim, 4) > 0
                                 ? ADDIU(T1, ZERO, (int32_t)sim_random_below(sim, 9))
                                 : LUI(T1, (int32_t)sim_random_below(sim, 65536));
            words[count++] = kind < 3   ? SW(T1, at, A1)
                             : kind < 7 ? LW(T1, at, A1)
                                        : (uint32_t)sim_random(sim);
        }
        words[count] = BEQ(ZERO, ZERO, -(int32_t)count - 1);
        words[count + 1] = NOP;
        count += 2;
        sim_destroy(sim);
        world = (struct world){
            .is_warm = seed % 2, .is_soft = seed / 2 % 2, .sid = seed % 2 ? PROCESS_RING_SID : 0};
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
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
