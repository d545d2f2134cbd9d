/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Take-over as firmware does it: registers of Initiator, Replier, RFend and RBend. A module that is
 * stopped can be looked into, changed a little, and let go on in a state where it can.
 */
#include "sim/chip/cpu.h"
#include "sim/chip/registers.h"

#include <string.h>

_Static_assert((int)CAUSE_BREAKPOINT == CHIP_BREAKPOINT && (int)CAUSE_TIMEOUT == CHIP_TIMEOUT,
               "causes are enum chip_exception");
_Static_assert((int)MODULE_RBEND == CHIP_RBEND && (int)MODULE_INITIATOR == CHIP_INITIATOR,
               "modules are enum chip_module");
_Static_assert((int)INITIATOR_IPA == I_IPA && (int)REPLIER_RPA == R_RPA &&
                   (int)RBEND_PATLB == B_PATLB && (int)RFEND_RVA == F_RVA &&
                   (int)RFEND_RVACHK2 == F_RVACHK2,
               "states by their numbers");

/* The header that a module works on; NULL: it has none. */
static const struct chip_header *module_header(const struct chip *chip, enum chip_module module)
{
    switch (module) {
    case CHIP_INITIATOR:
        return chip->initiator.first ? &chip->initiator.header : NULL;
    case CHIP_REPLIER:
        return chip->replier.count ? &replier_job(chip)->header : NULL;
    case CHIP_RFEND:
        return chip->rfend.current ? &chip->rfend.current->packet->header : NULL;
    default:
        return chip->rbend.arrival ? &chip->rbend.arrival->packet->header : NULL;
    }
}

static uint64_t module_address(const struct chip *chip, enum chip_module module,
                               const struct chip_header *header)
{
    switch (module) {
    case CHIP_INITIATOR:
        return header->local + chip->initiator.sent;
    case CHIP_REPLIER:
        return replier_job(chip)->start + chip->replier.sent;
    case CHIP_RFEND:
        return header->offset;
    default:
        return chip->rbend.virtual + chip->rbend.done;
    }
}

static uint32_t header_register(const struct chip_header *header, uint32_t number)
{
    uint64_t words[CHIP_HEADER_WORDS];
    chip_header_pack(header, words);
    return (uint32_t)(words[number / 2] >> number % 2 * 32);
}

/* What is in the window behind the words of a special request. */
static int behind_read(const struct chip *chip, uint32_t at, uint32_t *value)
{
    const struct request *request = chip->initiator.first;
    if (!request || request->kick != CHIP_SOFTWARE ||
        at >= (CHIP_WINDOW_WORDS - CHIP_HEADER_WORDS) * sizeof(request->words[0]))
        return PROCESSOR_BUS_ERROR;
    *value = half_of(request->words[CHIP_HEADER_WORDS + at / 8], at % 8);
    return 0;
}

static int payload_read(const struct chip *chip, uint32_t at, uint32_t *value)
{
    const struct chip_packet *packet = chip->rfend.current ? chip->rfend.current->packet : NULL;
    if (!packet || packet->header.type == CHIP_PACKET_PULL_REQUEST || at >= packet->header.length)
        return PROCESSOR_BUS_ERROR;
    uint32_t left = packet->header.length - at;
    *value = 0;
    memcpy(value, packet->payload + at, left < 4 ? left : 4);
    return 0;
}

int module_register_read(const struct chip *chip, enum chip_module number, uint32_t at,
                         uint32_t *value)
{
    const struct module *module = &chip->modules[number];
    const struct chip_header *header = module_header(chip, number);
    if (at >= MODULE_HEADER && at < MODULE_HEADER + 4 * CHIP_HEADER_REGISTERS && header) {
        *value = header_register(header, (at - MODULE_HEADER) / 4);
        return 0;
    }
    if (at >= MODULE_PAYLOAD)
        return number == CHIP_RFEND       ? payload_read(chip, at - MODULE_PAYLOAD, value)
               : number == CHIP_INITIATOR ? behind_read(chip, at - MODULE_PAYLOAD, value)
                                          : PROCESSOR_BUS_ERROR;
    switch (at) {
    case MODULE_STATE:
        *value = module->state;
        return 0;
    case MODULE_LAST:
        *value = module->last_state;
        return 0;
    case MODULE_CAUSE:
        *value = module->cause;
        return 0;
    case MODULE_BREAK:
        *value = module->breakpoints;
        return 0;
    default:
        break;
    }
    if (!header)
        return PROCESSOR_BUS_ERROR;
    uint64_t address = module_address(chip, number, header);
    switch (at) {
    case MODULE_JOB:
        *value = job_key(header->pgid,
                         number == CHIP_INITIATOR ? header->source_pid : header->target_pid);
        return 0;
    case MODULE_ADDRESS:
        *value = (uint32_t)address;
        return 0;
    case MODULE_ADDRESS_HIGH:
        *value = (uint32_t)(address >> 32);
        return 0;
    case MODULE_PART:
        *value = chip->initiator.sent;
        return 0;
    case MODULE_SKIP:
        *value = chip->rfend.skips_rvatlb;
        return 0;
    case MODULE_WINDOW:
        *value = chip->initiator.first && chip->windows[chip->initiator.first->window].is_valid;
        return 0;
    default:
        return PROCESSOR_BUS_ERROR;
    }
}

/* A PUSH whose header is complete: its next part can be looked for. */
static bool is_push(const struct chip *chip)
{
    return chip->initiator.first->kick == CHIP_PUSH &&
           chip->modules[CHIP_INITIATOR].last_state > I_PGID;
}

/* It does not wait any more where it was stopped: nobody has to call it. */
static void wait_end(struct chip *chip, enum chip_module number, bool is_elsewhere)
{
    if (number == CHIP_INITIATOR) {
        struct initiator *initiator = &chip->initiator;
        initiator->waits_for_room = false;
        initiator->is_soft = initiator->is_soft && !is_elsewhere;
    } else if (number == CHIP_REPLIER) {
        chip->replier.waits_for_room = false;
    } else if (number == CHIP_RFEND) {
        chip->rfend.waits = chip->firmware.waits_for_room = false;
    }
    chip->interrupts &= ~(1u << number);
}

static int module_state_write(struct chip *chip, enum chip_module number, uint32_t state)
{
    static const uint32_t wakes[][2] = {
        {I_IDLE, I_IPA}, {R_IDLE, R_RPA}, {F_RVA, F_RVACHK2}, {B_PATLB, B_PATLB}};
    const struct module *module = &chip->modules[number];
    bool is_possible = state == module->last_state || state == wakes[number][0] ||
                       state == wakes[number][1];
    /* IDLE is where a request or job begins; at other times RFend and RBend have nothing to do
     * there, and the Initiator's address is that of a PUSH */
    if (!module->is_suspended || !is_possible || !module_header(chip, number))
        return PROCESSOR_BUS_ERROR;
    if (number == CHIP_INITIATOR && state == I_IPA &&
        (!is_push(chip) || module->cause == CHIP_TIMEOUT))
        return PROCESSOR_BUS_ERROR;
    if (number == CHIP_RBEND && module->cause == CHIP_TIMEOUT) /* its data is in memory */
        return PROCESSOR_BUS_ERROR;
    wait_end(chip, number, state != module->last_state);
    module_resume(chip, number, state);
    return 0;
}

static int soft_write(struct chip *chip)
{
    struct firmware *firmware = &chip->firmware;
    struct chip_header header;
    chip_header_unpack(&header, firmware->send_header);
    uint32_t left = chip->initiator.header.length - chip->initiator.sent;
    if (chip->modules[CHIP_INITIATOR].cause != CHIP_PATLB_MISS || !is_push(chip) ||
        header.type != CHIP_PACKET_PUSH || header.length == 0 ||
        !chip->wire.has(chip->wire.context, header.target_node) ||
        header.length != firmware->dma_length || header.length > left ||
        header.length > (uint64_t)chip->constants->mtu_bytes ||
        !host_memory_has(chip->host, firmware->dma_host, header.length))
        return PROCESSOR_BUS_ERROR;
    chip->interrupts &= ~(1u << CHIP_INITIATOR);
    if (firmware->patlb.is_open)
        initiator_soft(chip, &header, firmware->dma_host);
    else /* the page was unpinned meanwhile: it misses again */
        module_resume(chip, CHIP_INITIATOR, I_IPA);
    return 0;
}

static int module_command(struct chip *chip, enum chip_module number, uint32_t command)
{
    bool is_cancel = command == COMMAND_CANCEL;
    if (!chip->modules[number].is_suspended || !module_header(chip, number))
        return PROCESSOR_BUS_ERROR;
    if (command == COMMAND_SOFT && number == CHIP_INITIATOR)
        return soft_write(chip);
    if (!is_cancel && command != COMMAND_COMPLETE)
        return PROCESSOR_BUS_ERROR;
    wait_end(chip, number, true);
    if (number == CHIP_INITIATOR)
        (is_cancel ? initiator_cancel : initiator_complete)(chip);
    else if (number == CHIP_REPLIER)
        (is_cancel ? replier_cancel : replier_drop)(chip);
    else if (number == CHIP_RFEND)
        (is_cancel ? rfend_discard : rfend_consume)(chip);
    else if (chip->modules[CHIP_RBEND].cause == CHIP_TIMEOUT)
        rbend_give_up(chip); /* its payload has left the FIFO, and is in memory */
    else
        rbend_discard(chip);
    return 0;
}

/* What firmware may change of a packet: where it goes and what is answered, never its shape. */
static int header_write(struct chip *chip, enum chip_module number, uint32_t which, uint32_t value)
{
    struct chip_header *header = number == CHIP_RFEND     ? &chip->rfend.current->packet->header
                                 : number == CHIP_REPLIER ? &replier_job(chip)->header
                                                          : NULL;
    uint32_t before = header ? header_register(header, which) : 0;
    bool is_flag = which == HEADER_FLAG || which == HEADER_FLAG + 1;
    bool is_offset = which == HEADER_OFFSET || which == HEADER_OFFSET + 1;
    bool is_wish = which == HEADER_TYPE && (before ^ value) == HEADER_WANTS_ACK;
    if (!header || (number == CHIP_REPLIER && !is_flag))
        return PROCESSOR_BUS_ERROR;
    if (is_flag)
        half_set(&header->flag, which % 2, value);
    else if (is_offset)
        half_set(&header->offset, which % 2, value);
    else if (is_wish)
        header->wants_ack = !header->wants_ack;
    else if (before != value)
        return PROCESSOR_BUS_ERROR;
    return 0;
}

int module_register_write(struct chip *chip, enum chip_module number, uint32_t at, uint32_t value)
{
    bool is_held = chip->modules[number].is_suspended && module_header(chip, number);
    if (at >= MODULE_HEADER && at < MODULE_HEADER + 4 * CHIP_HEADER_REGISTERS && is_held)
        return header_write(chip, number, (at - MODULE_HEADER) / 4, value);
    switch (at) {
    case MODULE_SKIP:
        if (number != CHIP_RFEND || !is_held)
            return PROCESSOR_BUS_ERROR;
        chip->rfend.skips_rvatlb = value & 1;
        return 0;
    case MODULE_STATE:
        return module_state_write(chip, number, value);
    case MODULE_BREAK:
        return module_breakpoints_set(chip, number, value) ? 0 : PROCESSOR_BUS_ERROR;
    case MODULE_COMMAND:
        return module_command(chip, number, value);
    default:
        return PROCESSOR_BUS_ERROR;
    }
}
