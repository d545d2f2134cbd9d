/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The speed of the on-chip processor's interpreter; see worlds.h.
 */
#include "experiment/simulator/worlds.h"

#include "base/clock.h"
#include "sim/processor/processor.h"

#define CYCLES 30000000

/* A loop as compilers make them: a checksum over a table of words, stored beside it. Registers 8 to
 * 12 are the loop's, 13 the table's address, 14 its end. */
static const uint32_t program[] = {
    0x3c0d0003, /* lui   $13, 3       the data */
    0x240c0000, /* addiu $12, $0, 0   sum */
    0x25ae0400, /* addiu $14, $13, 1024 */
    0x25a80000, /* addiu $8, $13, 0   again: */
    0x8d090000, /* lw    $9, 0($8)    word: */
    0x25080004, /* addiu $8, $8, 4 */
    0x000c5140, /* sll   $10, $12, 5 */
    0x012a4826, /* xor   $9, $9, $10 */
    0x01896021, /* addu  $12, $12, $9 */
    0xad0c03fc, /* sw    $12, 1020($8) */
    0x010e582b, /* sltu  $11, $8, $14 */
    0x1560fff8, /* bne   $11, $0, word */
    0x00000000, /* nop */
    0x1000fff5, /* beq   $0, $0, again */
    0x00000000, /* nop */
};

int bench_processor(struct bench_result *result)
{
    struct processor_image *image = NULL;
    struct processor *processor = NULL;
    struct sim_constants constants = sim_constants_default();
    int status = processor_image_words(&image, program, sizeof(program) / sizeof(program[0]));
    if (status == 0)
        status = processor_create(
            &processor, &(struct processor_spec){.image = image, .constants = &constants});
    if (status == 0) {
        double before = clock_cpu_seconds();
        processor_run(processor, CYCLES);
        result->seconds = clock_cpu_seconds() - before;
        result->instructions = (double)processor_instructions(processor) / result->seconds;
    }
    processor_destroy(processor);
    processor_image_close(image);
    return status;
}
