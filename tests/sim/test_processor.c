/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The on-chip processor, instruction by instruction: results, delay slots, exceptions, interrupts,
 * the bus, cycles; instructions by chance.
 */
#include "mips.h"
#include "support.h"

#define DATA    PROCESSOR_DATA_BASE
#define CODE    PROCESSOR_CODE_BASE
#define DEVICE  0x40000000u
#define FOREVER 100000

/* A word of a device, and how its bus answers. */
struct device {
    uint32_t value, reads, writes, bytes;
    int answer;
    uint32_t puts_off; /* so many accesses first */
};

static int device_answer(struct device *device)
{
    if (device->puts_off == 0)
        return device->answer;
    device->puts_off--;
    return PROCESSOR_BUS_LATER;
}

static int device_read(void *context, uint32_t address, uint32_t bytes, uint32_t *value)
{
    struct device *device = context;
    int answer = address - DEVICE < 16 ? device_answer(device) : PROCESSOR_BUS_ERROR;
    if (answer < 0)
        return answer;
    device->reads++;
    device->bytes = bytes;
    *value = device->value;
    return answer;
}

static int device_write(void *context, uint32_t address, uint32_t bytes, uint32_t value)
{
    struct device *device = context;
    int answer = address - DEVICE < 16 ? device_answer(device) : PROCESSOR_BUS_ERROR;
    if (answer < 0)
        return answer;
    device->writes++;
    device->bytes = bytes;
    device->value = value;
    return answer;
}

/* A processor with a program; BREAK ends it unless `fatal` says otherwise. */
struct bench {
    struct processor_image *image;
    struct processor *processor;
    struct device device;
    struct sim_constants constants;
};

static void bench_open(struct bench *bench, const uint32_t *words, size_t count, uint32_t fatal)
{
    bench->constants = sim_constants_default();
    assert_int_equal(processor_image_words(&bench->image, words, count), 0);
    struct processor_spec spec = {.image = bench->image,
                                  .bus = {&bench->device, device_read, device_write},
                                  .constants = &bench->constants,
                                  .fatal = fatal};
    assert_int_equal(processor_create(&bench->processor, &spec), 0);
}

static void bench_close(struct bench *bench)
{
    processor_destroy(bench->processor);
    processor_image_close(bench->image);
}

#define ALL_FATAL (~1u)

#define RUN(name, ...)                                                                             \
    struct bench name = {.device = {.value = 0x80000001u, .answer = 7}};                           \
    const uint32_t name##_words[] = {__VA_ARGS__, BREAK};                                          \
    bench_open(&name, name##_words, COUNT_OF(name##_words), ALL_FATAL);                            \
    assert_int_equal(processor_run(name.processor, FOREVER), PROCESSOR_FAULTED);                   \
    assert_int_equal(processor_fault(name.processor).exception, PROCESSOR_BREAK)

#define REGISTER(bench, number) processor_register((bench).processor, number)

static void test_numbers(void **state)
{
    (void)state;
    RUN(b, LUI(A0, 0x8000), ORI(A0, A0, 0xfff0), ADDIU(A1, ZERO, -3), SRA(T0, A0, 4),
        SRL(T1, A0, 4), SLL(T2, A0, 4), ADDIU(A2, ZERO, 36), SLLV(T3, A1, A2), SRAV(T4, A0, A2),
        ADDU(T5, A0, A0), SUBU(T6, ZERO, A1), NOR(T7, A1, ZERO), SLT(16, A0, A1), SLTU(17, A0, A1),
        SLTI(18, A1, -2), SLTIU(19, A1, -2), ANDI(20, A1, 0xff00), ADDIU(ZERO, ZERO, 5),
        ADDI(21, A1, -5), SLTU(22, A1, A0));
    const uint32_t wanted[] = {[T0] = 0xf8000fffu,
                               [T1] = 0x08000fffu,
                               [T2] = 0x000fff00u,
                               [T3] = 0xffffffd0u,
                               [T4] = 0xf8000fffu,
                               [T5] = 0x0001ffe0u,
                               [T6] = 3,
                               [T7] = 2,
                               [16] = 1,
                               [17] = 1,
                               [18] = 1,
                               [19] = 1,
                               [20] = 0xff00,
                               [21] = (uint32_t)-8,
                               [22] = 0};
    for (uint32_t i = T0; i <= 22; i++)
        assert_int_equal(REGISTER(b, i), wanted[i]);
    assert_int_equal(REGISTER(b, ZERO), 0);
    assert_int_equal(processor_cycles(b.processor), COUNT_OF(b_words));
    assert_int_equal(processor_instructions(b.processor), COUNT_OF(b_words));
    bench_close(&b);
}

static void test_products(void **state)
{
    (void)state;
    RUN(b, ADDIU(A0, ZERO, -7), ADDIU(A1, ZERO, 2), MULT(A0, A1), MFHI(T0), MFLO(T1), MULTU(A0, A1),
        MFHI(T2), DIV(A0, A1), MFLO(T3), MFHI(T4), DIVU(A0, A1), MFLO(T5), LUI(A2, 0x8000),
        ADDIU(A3, ZERO, -1), DIV(A2, A3), MFLO(T6), DIV(A0, ZERO), MFHI(T7), MTHI(A1), MFHI(16));
    assert_int_equal(REGISTER(b, T0), UINT32_MAX);
    assert_int_equal(REGISTER(b, T1), (uint32_t)-14);
    assert_int_equal(REGISTER(b, T2), 1);
    assert_int_equal(REGISTER(b, T3), (uint32_t)-3);
    assert_int_equal(REGISTER(b, T4), (uint32_t)-1);
    assert_int_equal(REGISTER(b, T5), 0x7ffffffc);
    assert_int_equal(REGISTER(b, T6), 0x80000000u);
    assert_int_equal(REGISTER(b, T7), (uint32_t)-7);
    assert_int_equal(REGISTER(b, 16), 2);
    /* a result is there 12 or 35 cycles after its instruction; the next one waits so long */
    uint64_t waits = 2 * 11 + 4 * 34;
    assert_int_equal(processor_cycles(b.processor), COUNT_OF(b_words) + waits);
    bench_close(&b);
}

/* The instruction behind a branch is carried out in any case; links lead behind it. */
static void test_branches(void **state)
{
    (void)state;
    RUN(b, BEQ(ZERO, ZERO, 3), ADDIU(T0, T0, 1), ADDIU(T1, T1, 1), ADDIU(T1, T1, 1),
        BNE(ZERO, ZERO, 2), ADDIU(T0, T0, 1), ADDIU(T2, T2, 1), JAL(CODE + 4 * 11),
        ADDIU(T0, T0, 1), J(CODE + 4 * 15), NOP, /* 11: */ ADDU(A0, RA, ZERO), BGEZAL(ZERO, 2), NOP,
        ADDIU(T1, T1, 1), /* 15, and again: */ BNE(T3, ZERO, 5), ADDIU(T3, ZERO, 1),
        ADDU(A1, RA, ZERO), JALR(A2, A0), ADDIU(T0, T0, 1), ADDIU(T1, T1, 1));
    assert_int_equal(REGISTER(b, T0), 4);
    assert_int_equal(REGISTER(b, T1), 0);
    assert_int_equal(REGISTER(b, T2), 1);
    assert_int_equal(REGISTER(b, A0), CODE + 4 * 9);
    assert_int_equal(REGISTER(b, A1), CODE + 4 * 14);
    assert_int_equal(REGISTER(b, A2), CODE + 4 * 20);
    bench_close(&b);
}

static void test_memory(void **state)
{
    (void)state;
    RUN(b, LUI(A0, HIGH(DATA)), LUI(T0, 0x8182), ORI(T0, T0, 0x8384), SW(T0, 8, A0), LB(T1, 9, A0),
        LBU(T2, 9, A0), LH(T3, 10, A0), LHU(T4, 10, A0), SB(T0, 12, A0), SH(T0, 14, A0),
        LW(T5, 12, A0), LWR(T6, 9, A0), LWL(T6, 12, A0), SWR(T0, 17, A0), SWL(T0, 20, A0),
        LW(T7, 16, A0), LW(16, 20, A0), LUI(A1, HIGH(CODE)), LW(17, 0, A1), LHU(18, 2, A1));
    assert_int_equal(REGISTER(b, T1), 0xffffff83u);
    assert_int_equal(REGISTER(b, T2), 0x83);
    assert_int_equal(REGISTER(b, T3), 0xffff8182u);
    assert_int_equal(REGISTER(b, T4), 0x8182);
    assert_int_equal(REGISTER(b, T5), 0x83840084u);
    assert_int_equal(REGISTER(b, T6), 0x84818283u); /* bytes 9 to 12 */
    assert_int_equal(REGISTER(b, T7), 0x82838400u); /* bytes 17 to 20 were written */
    assert_int_equal(REGISTER(b, 16), 0x81);
    assert_int_equal(REGISTER(b, 17), b_words[0]); /* instructions can be read */
    assert_int_equal(REGISTER(b, 18), b_words[0] >> 16);
    bench_close(&b);
}

/* What a load fetches is seen by the second instruction after it, and a result that is written in
 * between stays. */
static void test_load_delay(void **state)
{
    (void)state;
    RUN(b, LUI(A0, HIGH(DATA)), ADDIU(T0, ZERO, 7), SW(T0, 0, A0), ADDIU(T1, ZERO, 1),
        ADDIU(T4, ZERO, 2), LW(T1, 0, A0), ADDU(T2, T1, ZERO), ADDU(T3, T1, ZERO), LW(T4, 0, A0),
        ADDIU(T4, T4, 20), ADDU(T5, T4, ZERO), BEQ(ZERO, ZERO, 1), LW(T6, 0, A0),
        ADDU(T7, T6, ZERO));
    assert_int_equal(REGISTER(b, T2), 1);
    assert_int_equal(REGISTER(b, T3), 7);
    assert_int_equal(REGISTER(b, T5), 22);
    assert_int_equal(REGISTER(b, T7), 0);
    bench_close(&b);
}

/* Exceptions: which, where, what is left unchanged. A handler at the vector looks and goes on
 * behind the instruction. */
static void exception_case(uint32_t first, uint32_t second, uint32_t code, bool is_slot)
{
    struct bench bench = {.device = {.answer = PROCESSOR_BUS_ERROR}};
    uint32_t words[64] = {/* at the vector: code and place */
                          [32] = MFC0(26, 13),
                          MFC0(27, 14),
                          NOP,
                          BREAK};
    words[0] = LUI(A0, HIGH(DATA));
    words[1] = LUI(A1, 0x7fff);
    words[2] = LUI(A2, HIGH(DEVICE));
    words[3] = ORI(A1, A1, 0xffff);
    words[4] = first;
    words[5] = second;
    words[6] = ADDIU(T7, ZERO, 1);
    bench_open(&bench, words, COUNT_OF(words), 1u << PROCESSOR_BREAK);
    processor_register_set(bench.processor, T0, 5);
    assert_int_equal(processor_run(bench.processor, FOREVER), PROCESSOR_FAULTED);
    uint32_t cause = processor_register(bench.processor, 26);
    assert_int_equal(cause >> 2 & 31, code);
    assert_int_equal(cause >> 31, is_slot);
    assert_int_equal(processor_register(bench.processor, 27), CODE + 4 * 4);
    assert_int_equal(processor_register(bench.processor, T0), 5);
    assert_int_equal(processor_register(bench.processor, T7), 0);
    bench_close(&bench);
}

static void test_exceptions(void **state)
{
    (void)state;
    exception_case(SYSCALL, NOP, PROCESSOR_SYSCALL, false);
    exception_case(ADD(T0, A1, A1), NOP, PROCESSOR_OVERFLOW, false);
    exception_case(ADDI(T0, A1, 1), NOP, PROCESSOR_OVERFLOW, false);
    exception_case(LW(T0, 2, A0), NOP, PROCESSOR_LOAD_ADDRESS, false);
    exception_case(LH(T0, 1, A0), NOP, PROCESSOR_LOAD_ADDRESS, false);
    exception_case(SW(T0, 1, A0), NOP, PROCESSOR_STORE_ADDRESS, false);
    exception_case(LW(T0, 4, ZERO), NOP, PROCESSOR_DATA_BUS, false);
    exception_case(LW(T0, 0, A2), NOP, PROCESSOR_DATA_BUS, false);
    exception_case(SW(T0, 0, A2), NOP, PROCESSOR_DATA_BUS, false);
    exception_case(0x3f, NOP, PROCESSOR_RESERVED, false);
    exception_case(0xec000000u, NOP, PROCESSOR_COPROCESSOR, false);
    exception_case(17u << 26, NOP, PROCESSOR_COPROCESSOR, false);
    exception_case(BEQ(ZERO, ZERO, 9), SYSCALL, PROCESSOR_SYSCALL, true);
    exception_case(BNE(ZERO, ZERO, 9), SYSCALL, PROCESSOR_SYSCALL, true);
}

/* Instructions cannot be written, nor fetched where none are. */
static void test_fetch(void **state)
{
    (void)state;
    const uint32_t store[] = {LUI(A0, HIGH(CODE)), SW(ZERO, 0, A0)};
    const uint32_t jumps[][2] = {{JR(A1), NOP}, {JR(A2), NOP}};
    struct bench bench = {0};
    bench_open(&bench, store, 2, ALL_FATAL);
    assert_int_equal(processor_run(bench.processor, FOREVER), PROCESSOR_FAULTED);
    assert_int_equal(processor_fault(bench.processor).exception, PROCESSOR_DATA_BUS);
    assert_int_equal(processor_fault(bench.processor).address, CODE);
    assert_int_equal(processor_fault(bench.processor).pc, CODE + 4);
    bench_close(&bench);
    for (int i = 0; i < 2; i++) {
        bench_open(&bench, jumps[i], 2, ALL_FATAL);
        processor_register_set(bench.processor, A1, 0);
        processor_register_set(bench.processor, A2, CODE + 2);
        assert_int_equal(processor_run(bench.processor, FOREVER), PROCESSOR_FAULTED);
        assert_int_equal(processor_fault(bench.processor).exception,
                         i ? PROCESSOR_LOAD_ADDRESS : PROCESSOR_FETCH_BUS);
        /* it stays so */
        assert_int_equal(processor_run(bench.processor, 2 * FOREVER), PROCESSOR_FAULTED);
        bench_close(&bench);
    }
}

/* Status: mask and the three levels; a line is taken when both allow it, between a load and what
 * follows it too. */
static void test_interrupts(void **state)
{
    (void)state;
    uint32_t words[64] = {/* at the vector: once more, then back and on */
                          [32] = ADDIU(T0, T0, 1), MFC0(26, 14), MFC0(T2, 12), NOP, JR(26), RFE};
    words[0] = ADDIU(A0, ZERO, 0x401); /* line 0, on */
    words[1] = LUI(A1, HIGH(DATA));
    words[2] = MTC0(A0, 12);
    words[3] = LW(T3, 0, A1);
    words[4] = NOP;
    words[5] = ADDIU(T1, T1, 1);
    words[6] = BEQ(ZERO, ZERO, -2);
    words[7] = NOP;
    struct bench bench = {0};
    bench_open(&bench, words, COUNT_OF(words), ALL_FATAL);
    struct processor *p = bench.processor;
    assert_true(processor_memory_write(p, DATA, &(uint32_t){99}, 4));
    processor_lines_set(p, 2); /* masked */
    assert_int_equal(processor_run(p, 4), PROCESSOR_LIMIT);
    assert_int_equal(processor_register(p, T0), 0);
    processor_lines_set(p, 1);
    assert_int_equal(processor_run(p, 7), PROCESSOR_LIMIT);
    assert_int_equal(processor_register(p, T3), 99);
    assert_int_equal(processor_register(p, T0), 1);
    processor_lines_set(p, 0); /* in the handler interrupts are off; after it nothing asks */
    assert_int_equal(processor_run(p, 100), PROCESSOR_LIMIT);
    assert_int_equal(processor_register(p, T0), 1);
    assert_int_equal(processor_register(p, T2) & 0x3f, 4);
    assert_true(processor_register(p, T1) > 10);
    /* in a branch's delay slot too, at whatever cycle it comes: no count is lost or doubled */
    for (uint64_t at = 101; at < 140; at++) {
        processor_lines_set(p, 1);
        processor_run(p, processor_cycles(p) + 1);
        processor_lines_set(p, 0);
        processor_run(p, processor_cycles(p) + 20);
    }
    assert_int_equal(processor_register(p, T0), 40);
    /* two interrupts that software makes itself */
    processor_reset(p);
    assert_int_equal(processor_register(p, T0), 0);
    bench_close(&bench);
}

/* Bus: value, size and cycles; an access that is put off happens once, later. */
static void test_bus(void **state)
{
    (void)state;
    const uint32_t words[] = {LUI(A0, HIGH(DEVICE)), LW(T0, 4, A0), LW(A0, 0, A0), /* old A0 */
                              LBU(T1, 3, A0),        SH(T0, 2, A0), NOP,           BREAK};
    for (uint32_t delays = 0; delays < 3; delays++) {
        struct bench bench = {.device = {.value = DEVICE, .answer = 7, .puts_off = delays}};
        bench_open(&bench, words, COUNT_OF(words), ALL_FATAL);
        for (uint32_t i = 0; i < delays; i++) {
            assert_int_equal(processor_run(bench.processor, FOREVER), PROCESSOR_WAITS);
            assert_int_equal(processor_cycles(bench.processor), 2 + 100 * i);
            assert_int_equal(bench.device.reads, 0);
            processor_cycles_skip(bench.processor, 2 + 100 * (i + 1));
        }
        assert_int_equal(processor_run(bench.processor, FOREVER), PROCESSOR_FAULTED);
        assert_int_equal(processor_fault(bench.processor).exception, PROCESSOR_BREAK);
        assert_int_equal(processor_cycles(bench.processor), COUNT_OF(words) + 4 * 7 + 100 * delays);
        assert_int_equal(bench.device.reads, 3);
        assert_int_equal(bench.device.writes, 1);
        assert_int_equal(bench.device.bytes, 2);
        assert_int_equal(processor_register(bench.processor, T0), DEVICE);
        bench_close(&bench);
    }
}

/* Anything at all: a run ends, by its cycles at the latest. */
static void test_chance(void **state)
{
    (void)state;
    static uint32_t words[PROCESSOR_SRAM_BYTES / 4];
    uint64_t stops[4] = {0};
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct sim *sim = world_make(seed);
        struct bench bench = {.device = {.answer = (int)(seed % 3)}};
        size_t count = seed % 4 ? 512 : COUNT_OF(words);
        for (size_t i = 0; i < count; i++) {
            words[i] = (uint32_t)sim_random(sim);
            /* what exists more often than chance has it, and short ways */
            if (seed % 2 && i % 3)
                words[i] = (words[i] & 0x03ffffffu) | (words[i] >> 28 & 1 ? 0x8c000000u : 0);
            if (seed % 5 == 0 && i % 7 == 0)
                words[i] = BNE(words[i] & 31, words[i] >> 5 & 31,
                               (int32_t)(words[i] >> 10 & 15) - 8);
        }
        bench_open(&bench, words, count, seed % 7 ? 0 : ALL_FATAL);
        for (uint32_t i = 1; i < 32; i++)
            processor_register_set(bench.processor, i,
                                   i % 2 ? DATA + (uint32_t)sim_random_below(sim, 0x20000)
                                         : (uint32_t)sim_random(sim));
        for (uint64_t until = 1000; until <= 20000; until += 1000) {
            bench.device.puts_off = (uint32_t)sim_random_below(sim, 3);
            stops[processor_run(bench.processor, until)]++;
            processor_lines_set(bench.processor, (uint32_t)sim_random_below(sim, 64));
            assert_int_equal(processor_register(bench.processor, ZERO), 0);
        }
        bench_close(&bench);
        sim_destroy(sim);
    }
    assert_true(stops[PROCESSOR_LIMIT] > 0);
    assert_true(stops[PROCESSOR_FAULTED] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_products),
        cmocka_unit_test(test_branches),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_load_delay), cmocka_unit_test(test_exceptions),
        cmocka_unit_test(test_fetch),      cmocka_unit_test(test_interrupts),
        cmocka_unit_test(test_bus),        cmocka_unit_test(test_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
