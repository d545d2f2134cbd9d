/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the firmware, which is code for the on-chip CPU (firmware/), and the chip: when it is
 * called, and what it is told of the host.
 */
#include "sim/chip/cpu.h"
#include "sim/chip/registers.h"

#include "base/array.h"

static const uint32_t order[] = {MODULE_COUNT, MODULE_RFEND, MODULE_REPLIER, MODULE_RBEND,
                                 MODULE_INITIATOR};

void chip_cpu_slow(struct chip *chip, uint32_t factor)
{
    chip->cpu_factor = factor > 0 ? factor : 1;
}

void firmware_interrupt(struct chip *chip)
{
    cpu_wake(chip);
}

void firmware_busy(struct chip *chip)
{
    for (size_t i = sizeof(order) / sizeof(order[0]); i-- > 0;) {
        if (chip->interrupts >> order[i] & 1)
            chip->firmware.serving = order[i];
    }
    chip->firmware.begin = sim_now(chip->sim);
    module_rest(chip, CHIP_CPU, C_HANDLER + chip->firmware.serving);
}

void firmware_idle(struct chip *chip)
{
    if (chip->modules[CHIP_CPU].state == C_POLL)
        return;
    chip->count.cpu += sim_now(chip->sim) - chip->firmware.begin;
    module_rest(chip, CHIP_CPU, C_POLL);
}

void chip_process_ended(struct chip *chip, uint16_t pgid, uint16_t pid)
{
    struct firmware *firmware = &chip->firmware;
    if (!firmware->listens)
        return;
    if (!array_grow(&firmware->ended, &firmware->ended_room, (size_t)firmware->ended_count + 1)) {
        sim_starve(chip->sim);
        return;
    }
    firmware->ended[firmware->ended_count++] = job_key(pgid, pid);
    chip->interrupts |= INTC_HOST;
    firmware_interrupt(chip);
}

void firmware_step(struct chip *chip, uint32_t state)
{
    (void)state;
    cpu_step(chip);
}
