/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all modules have in common: states with names and time lines, and take-over: suspending,
 * breakpoints, going on in any state.
 */
#include "sim/chip/parts.h"

#include "base/assert.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

static const char *const initiator_names[] = {"IDLE", "PGID", "IPA",  "IPA2", "CHK1",
                                              "CHK2", "CONT", "MISS", NULL};
static const char *const replier_names[] = {"IDLE", "RPA", "RPA2", "CHK1",
                                            "CHK2", "ACK", "MISS", NULL};
static const char *const rfend_names[] = {"IDLE", "FLIT0",   "FLIT1", "FLIT2", "FLIT3", "RVACHK",
                                          "RVA",  "RVACHK2", "SET1",  "SET2",  "SET3",  "SET4",
                                          "AOTF", "AOTFR",   "MISS",  NULL};
static const char *const rbend_names[] = {"IDLE", "PATLB", "DMA", "FLAG", "MISS", NULL};
static const char *const aotf_names[] = {"IDLE", "QUEUE", "TLB", "HEADER", NULL};
static const char *const cpu_names[] = {"main",
                                        "initiator handler",
                                        "replier handler",
                                        "rfend handler",
                                        "rbend handler",
                                        "host handler",
                                        NULL};

/* What the modules are called; which state means suspended, NONE: it has no take-over; and which
 * are suspendable (7.3.1): whoever depends on the module waits, then, for what comes after. */
#define NO_MISS    UINT32_MAX
#define STATE(bit) (1u << (bit))
static const struct {
    const char *name;
    const char *const *states;
    uint32_t miss, suspendable;
    void (*step)(struct chip *chip, uint32_t state);
} kinds[CHIP_MODULES] = {
    {"Initiator", initiator_names, I_MISS, STATE(I_IDLE) | STATE(I_PGID) | STATE(I_IPA2),
     initiator_step},
    {"Replier", replier_names, R_MISS, STATE(R_IDLE) | STATE(R_RPA2), replier_step},
    {"RFend", rfend_names, F_MISS, STATE(F_FLIT1) | STATE(F_FLIT3) | STATE(F_RVA), rfend_step},
    {"RBend", rbend_names, B_MISS, STATE(B_PATLB), rbend_step},
    {"AOTF", aotf_names, NO_MISS, 0, aotf_step},
    {"CPU", cpu_names, NO_MISS, 0, firmware_step},
};

bool module_breakpoints_set(struct chip *chip, enum chip_module number, uint32_t states)
{
    if (states & ~kinds[number].suspendable)
        return false;
    chip->modules[number].breakpoints = states;
    return true;
}

void module_init(struct chip *chip)
{
    trace_node(chip->trace, chip->number);
    for (int i = 0; i < CHIP_MODULES; i++)
        chip->modules[i].track = trace_track(chip->trace, "node", chip->number, kinds[i].name);
}

static void state_set_at(struct chip *chip, enum chip_module number, uint32_t state, sim_time now)
{
    struct module *module = &chip->modules[number];
    if (chip->trace && module->since < now && module->state != 0) /* IDLE is left blank */
        trace_span(chip->trace, module->track, kinds[number].states[module->state], module->since,
                   now);
    module->spent[module->state] += now - module->since;
    if (module->state != state)
        module->last_state = module->state;
    module->state = state;
    module->since = now;
    module->waits_since = 0;
}

static void state_set(struct chip *chip, enum chip_module number, uint32_t state)
{
    state_set_at(chip, number, state, sim_now(chip->sim));
}

void module_pass(struct chip *chip, enum chip_module number, const struct module_path *path,
                 uint32_t count)
{
    struct module *module = &chip->modules[number];
    int64_t cycles = 0;
    if (module->breakpoints || module->is_stopping_off) {
        module_go(chip, number, path[0].state, path[0].cycles);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        state_set_at(chip, number, path[i].state, sim_now(chip->sim) + chip_cycles(chip, cycles));
        cycles += path[i].cycles;
    }
    chip_post(chip, cycles, EVENT_STEP, number);
}

void module_rest(struct chip *chip, enum chip_module number, uint32_t state)
{
    state_set(chip, number, state);
}

void module_suspend(struct chip *chip, enum chip_module number, enum chip_exception cause)
{
    struct module *module = &chip->modules[number];
    ASSERT(kinds[number].miss != NO_MISS);
    chip->count.exceptions[cause]++;
    module->is_suspended = true;
    module->cause = cause;
    state_set(chip, number, kinds[number].miss);
    chip->interrupts |= 1u << number;
    firmware_interrupt(chip);
}

#define TIMEOUT_MODULE_BITS 3

void module_wait(struct chip *chip, enum chip_module number)
{
    sim_time now = sim_now(chip->sim);
    chip->modules[number].waits_since = now;
    if (chip->constants->timeout_cycles)
        chip_post(chip, chip->constants->timeout_cycles, EVENT_TIMEOUT,
                  (uint64_t)now << TIMEOUT_MODULE_BITS | number);
}

void module_timeout(struct chip *chip, uint64_t argument)
{
    enum chip_module number = argument & ((1u << TIMEOUT_MODULE_BITS) - 1);
    const struct module *module = &chip->modules[number];
    bool still_waits = module->waits_since == (sim_time)(argument >> TIMEOUT_MODULE_BITS);
    if (still_waits && !module->is_suspended)
        module_suspend(chip, number, CHIP_TIMEOUT);
}

void module_go(struct chip *chip, enum chip_module number, uint32_t state, int64_t cycles)
{
    struct module *module = &chip->modules[number];
    state_set(chip, number, state);
    if (module->breakpoints >> state & 1 && !module->is_stopping_off) {
        module_suspend(chip, number, CHIP_BREAKPOINT);
        return;
    }
    module->is_stopping_off = false;
    chip_post(chip, cycles, EVENT_STEP, number);
}

void module_release(struct chip *chip, enum chip_module number)
{
    struct module *module = &chip->modules[number];
    if (module->is_suspended)
        chip->count.stopped += sim_now(chip->sim) - module->since;
    module->is_suspended = false;
}

void module_resume(struct chip *chip, enum chip_module number, uint32_t state)
{
    struct module *module = &chip->modules[number];
    ASSERT(module->is_suspended);
    module_release(chip, number);
    module->is_stopping_off = true;
    module_go(chip, number, state, 1);
}

void module_step(struct chip *chip, enum chip_module number)
{
    if (!chip->modules[number].is_suspended)
        kinds[number].step(chip, chip->modules[number].state);
}

const char *chip_state_name(const struct chip *chip, enum chip_module module)
{
    return kinds[module].states[chip->modules[module].state];
}

const char *chip_module_name(enum chip_module module)
{
    return kinds[module].name;
}

const char *chip_state_text(enum chip_module module, uint32_t state)
{
    return kinds[module].states[state];
}

bool chip_state_time(const struct chip *chip, enum chip_module module, uint32_t state,
                     sim_time *time)
{
    if (!kinds[module].states[state])
        return false;
    *time = chip->modules[module].spent[state];
    return true;
}

const char *chip_last_state_name(const struct chip *chip, enum chip_module module)
{
    return kinds[module].states[chip->modules[module].last_state];
}

bool chip_is_suspended(const struct chip *chip, enum chip_module module)
{
    return chip->modules[module].is_suspended;
}

uint32_t chip_state_find(enum chip_module module, const char *name)
{
    for (uint32_t i = 0; kinds[module].states[i]; i++) {
        if (strcmp(kinds[module].states[i], name) == 0)
            return i;
    }
    return UINT32_MAX;
}

int chip_breakpoint_set(struct chip *chip, enum chip_module number, uint32_t state, bool is_on)
{
    ASSERT(kinds[number].miss != NO_MISS && state < 32);
    uint32_t before = chip->modules[number].breakpoints;
    uint32_t states = is_on ? before | STATE(state) : before & ~STATE(state);
    if (!module_breakpoints_set(chip, number, states))
        return error_fail(-EINVAL, "%s cannot be stopped in %s: that is no suspendable state",
                          kinds[number].name, kinds[number].states[state]);
    return 0;
}
