/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processor in the chip: it carries firmware out, in step with virtual time. Between accesses
 * to the chip it runs ahead; an access that others can notice is put off until virtual time is
 * where the processor's cycles are, as an event.
 *
 * A processor that polls and sees the same again and again is not simulated: it is parked, and goes
 * on in step with its loop when there is something to see. It is made at the first exception, so
 * that an idle node costs nothing; its way to the main loop takes no time.
 *
 * Firmware that makes a mistake (an access that fails, an endless loop, a stack that is too deep)
 * ends the world, with a message that says where.
 */
#include "sim/chip/cpu.h"
#include "sim/chip/registers.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CYCLES_MOST   10000000 /* without looking at the chip */
#define ACCESSES_MOST 1000000  /* without coming back to the main loop */
#define FATAL         (~1u)    /* all but interrupts */

/* Time since the processor and the world were last in step. */
static sim_time elapsed(const struct chip *chip)
{
    const struct cpu *cpu = &chip->firmware.cpu;
    const struct sim_constants *c = chip->constants;
    uint64_t cycles = processor_cycles(cpu->processor) - cpu->cycles;
    uint64_t instructions = processor_instructions(cpu->processor) - cpu->instructions;
    int64_t bus = (int64_t)(cycles - instructions) * 100;
    int64_t own = (int64_t)instructions * chip->cpu_factor * 100 * 100 / c->cpu_percent;
    return (bus + own) * c->core_ps / 100;
}

static void in_step(struct cpu *cpu)
{
    cpu->cycles = processor_cycles(cpu->processor);
    cpu->instructions = processor_instructions(cpu->processor);
}

static sim_time cpu_now(const struct chip *chip)
{
    return chip->firmware.cpu.is_booting ? elapsed(chip) : sim_now(chip->sim);
}

void cpu_fail(struct chip *chip, const char *what)
{
    struct cpu *cpu = &chip->firmware.cpu;
    char place[128];
    processor_image_place(chip->image, cpu->processor ? processor_pc(cpu->processor) : 0, place,
                          sizeof(place));
    cpu->has_failed = true;
    error_fail(-EIO, "firmware of node %u: %s, at %s", chip->number, what, place);
    sim_fail(chip->sim, -EIO);
}

static void fault_tell(struct chip *chip)
{
    struct cpu *cpu = &chip->firmware.cpu;
    struct processor_fault fault = processor_fault(cpu->processor);
    char place[128];
    processor_image_place(chip->image, fault.pc, place, sizeof(place));
    cpu->has_failed = true;
    error_fail(-EIO, "firmware of node %u: %s (0x%08x), at %s", chip->number,
               processor_exception_name(fault.exception), fault.address, place);
    sim_fail(chip->sim, -EIO);
}

/* A poll. The same as before, and nothing else was looked at: the processor is parked. */
static int poll_read(struct chip *chip, uint32_t *value)
{
    struct cpu *cpu = &chip->firmware.cpu;
    uint32_t pending = chip->interrupts;
    sim_time now = cpu_now(chip);
    if (cpu->has_polled && cpu->accesses == 0 && pending == cpu->polled) {
        cpu->is_parked = true;
        cpu->period = now - cpu->poll_time;
        cpu->poll_time = sim_now(chip->sim);
        if (!cpu->is_booting)
            firmware_idle(chip);
        return PROCESSOR_BUS_LATER;
    }
    if (!cpu->is_booting)
        firmware_idle(chip);
    cpu->has_polled = true;
    cpu->polled = pending;
    cpu->poll_time = now;
    cpu->accesses = 0;
    *value = pending;
    if (pending && !cpu->is_booting)
        firmware_busy(chip);
    return (int)chip->constants->cpu_read_cycles;
}

static int bus_read(void *context, uint32_t address, uint32_t bytes, uint32_t *value)
{
    struct chip *chip = context;
    struct cpu *cpu = &chip->firmware.cpu;
    if (bytes != 4)
        return PROCESSOR_BUS_ERROR;
    if (!cpu->is_on_time && !cpu->is_booting && !register_is_still(chip, address))
        return PROCESSOR_BUS_LATER;
    cpu->is_on_time = false;
    if (address == INTC_PENDING)
        return poll_read(chip, value);
    cpu->accesses++;
    return register_read(chip, address, value);
}

static int bus_write(void *context, uint32_t address, uint32_t bytes, uint32_t value)
{
    struct chip *chip = context;
    struct cpu *cpu = &chip->firmware.cpu;
    if (bytes != 4)
        return PROCESSOR_BUS_ERROR;
    if (!cpu->is_on_time && !cpu->is_booting && !register_is_own(address))
        return PROCESSOR_BUS_LATER;
    cpu->is_on_time = false;
    cpu->accesses++;
    return register_write(chip, address, value);
}

static bool stack_is_sound(const struct chip *chip)
{
    uint32_t stack = processor_register(chip->firmware.cpu.processor, 29);
    return stack >= chip->firmware.cpu.stack_limit && stack <= PROCESSOR_STACK;
}

static void cpu_go(struct chip *chip)
{
    struct cpu *cpu = &chip->firmware.cpu;
    enum processor_stop stop = processor_run(cpu->processor,
                                             processor_cycles(cpu->processor) + CYCLES_MOST);
    if (cpu->has_failed)
        return;
    if (stop == PROCESSOR_FAULTED)
        fault_tell(chip);
    else if (stop == PROCESSOR_LIMIT)
        cpu_fail(chip, "an endless loop, or too long without looking at the chip");
    else if (cpu->accesses > ACCESSES_MOST)
        cpu_fail(chip, "an endless loop, or too long without INTC_PENDING");
    else if (!stack_is_sound(chip))
        cpu_fail(chip, "the stack is too deep, or its pointer is lost");
    else if (stop == PROCESSOR_WAITS && !cpu->is_parked) {
        sim_time when = sim_now(chip->sim) + elapsed(chip);
        in_step(cpu);
        sim_post(chip->sim, when, (struct sim_event){chip->actor, EVENT_STEP, CHIP_CPU});
    }
}

/* From its beginning to its main loop. */
static bool cpu_boot(struct chip *chip)
{
    struct cpu *cpu = &chip->firmware.cpu;
    struct processor_spec spec = {.image = chip->image,
                                  .bus = {chip, bus_read, bus_write},
                                  .constants = chip->constants,
                                  .fatal = FATAL};
    if (cpu->has_failed)
        return false;
    if (processor_create(&cpu->processor, &spec) < 0) {
        cpu->has_failed = true;
        sim_starve(chip->sim);
        return false;
    }
    uint32_t limit = processor_image_symbol(chip->image, "stack_limit");
    cpu->stack_limit = limit ? limit : PROCESSOR_DATA_BASE;
    uint32_t waiting = chip->interrupts;
    chip->interrupts = 0; /* so that it comes to rest */
    cpu->is_booting = true;
    cpu_go(chip);
    cpu->is_booting = false;
    chip->interrupts = waiting;
    in_step(cpu);
    if (!cpu->has_failed && !cpu->is_parked)
        cpu_fail(chip, "it does not come to a loop that reads INTC_PENDING");
    return !cpu->has_failed;
}

void cpu_wake(struct chip *chip)
{
    struct cpu *cpu = &chip->firmware.cpu;
    if (!cpu->processor && !cpu_boot(chip))
        return;
    if (!cpu->is_parked || cpu->has_failed)
        return;
    sim_time now = sim_now(chip->sim), period = cpu->period > 0 ? cpu->period : 1;
    sim_time loops = (now - cpu->poll_time + period - 1) / period;
    cpu->is_parked = cpu->has_polled = false;
    cpu->noticed = now;
    in_step(cpu);
    sim_post(chip->sim, cpu->poll_time + loops * period,
             (struct sim_event){chip->actor, EVENT_STEP, CHIP_CPU});
}

void cpu_step(struct chip *chip)
{
    chip->firmware.cpu.is_on_time = true;
    if (!chip->firmware.cpu.has_failed)
        cpu_go(chip);
}

void cpu_close(struct chip *chip)
{
    processor_destroy(chip->firmware.cpu.processor);
    free(chip->firmware.work);
    free(chip->firmware.ended);
}
