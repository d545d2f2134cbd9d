/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Constants of the architecture that the sources state: what the simulated hardware has instead,
 * which is the same unless somebody asks what if.
 */
#include "experiment/thesis/session.h"

/* The part of a link's bits that is data. */
static double data_of(const struct sim_constants *c, int64_t mbps)
{
    return (double)mbps * 8 * (double)c->flit_bytes / (double)c->flit_bits;
}

static double mhz(int64_t ps)
{
    return 1e6 / (double)ps;
}

static void links_settle(struct session *session, const struct sim_constants *c)
{
    number_settle(session, "L1", (double)c->flit_bits);
    number_settle(session, "L2", data_of(c, c->rhinet2_mbps));
    number_settle(session, "L3", data_of(c, c->cluster_mbps) / 8);
    number_settle(session, "L4", (double)c->flit_bits * 1e3 / (double)c->cluster_mbps);
    number_settle(session, "L5", data_of(c, c->rhinet3_mbps));
    number_settle(session, "L7", (double)c->mtu_bytes);
    number_settle(session, "L8", (double)c->rhinet2_metres);
    number_settle(session, "L8-3", (double)c->rhinet3_metres);
}

static void chip_settle(struct session *session, const struct sim_constants *c)
{
    number_settle(session, "M1", mhz(c->core_ps));
    number_settle(session, "M2", mhz(c->pci_ps) * (double)c->pci_word_bytes);
    number_settle(session, "M3", (double)(c->patlb_ways * c->patlb_sets));
    number_settle(session, "M4", 2 * (double)c->rvatlb_sets);
    number_settle(session, "M5", 2.0 * PROCESSOR_SRAM_BYTES / 1024);
    number_settle(session, "M6", 8 * (double)c->flit_bytes);
    number_settle(session, "M7", (double)c->page_bytes);
    number_settle(session, "M8", CHIP_HEADER_WORDS);
    number_settle(session, "M9", CHIP_AOTF_OFFSET_BITS);
    number_settle(session, "M10", (double)c->cpu_write_cycles);
    number_settle(session, "M10-read", (double)c->cpu_read_cycles);
    number_settle(session, "M16", (double)c->ring_check_cycles);
    number_settle(session, "T12", CHIP_RING_SLOT);
}

int architecture(struct session *session)
{
    const struct sim_constants *c = &session->constants;
    struct sim_constants slot = sim_constants_dimm(c);
    links_settle(session, c);
    chip_settle(session, c);
    number_settle(session, "D1", mhz(slot.core_ps) * (double)c->flit_bytes);
    number_settle(session, "D4", PROCESS_IMAGE_MAX);
    number_settle(session, "D11", (double)c->flit_bytes); /* a store is a word */
    number_settle(session, "D7", (double)(slot.swi_rx_cycles - c->swi_rx_cycles));
    return ports(session);
}
