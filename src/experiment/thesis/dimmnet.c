/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The paper on DIMMnet-1: the same chip in a memory slot.
 */
#include "experiment/thesis/session.h"

#define IMAGE 464 /* bytes of a BOTF packet there */

static int stream_curve(const struct measure_setup *setup, struct measure_stream stream,
                        uint32_t least, uint32_t most, struct thesis_curve *curve)
{
    int result = 0;
    for (stream.size = least; stream.size <= most && result == 0; stream.size *= 2) {
        double mbps;
        result = measure_throughput(setup, &stream, &mbps);
        curve_add(curve, stream.size, mbps);
    }
    return result;
}

/* PUSHes from SO-DIMM to SO-DIMM: to another node, and to itself. */
static int rdma(struct session *session, const struct measure_setup *setup)
{
    struct thesis_curve *apart = curve_begin(session, "dimm", "RDMA, two nodes", "MB/s");
    struct thesis_curve *alone = curve_begin(session, "dimm", "RDMA, one node", "MB/s");
    struct measure_stream stream = {.windows = 1};
    int result = stream_curve(setup, stream, 128, 128 << 10, apart);
    stream.is_to_self = true;
    if (result == 0)
        result = stream_curve(setup, stream, 128, 128 << 10, alone);
    if (result < 0)
        return result;
    number_settle(session, "D2", curve_max(apart));
    number_settle(session, "D3", 100 * (1 - curve_at(alone, 128 << 10) / curve_max(apart)));
    return 0;
}

/* Shares of the time that a packet takes of the receiver. */
static void shares_settle(struct session *session, const struct sim_constants *constants,
                          double mbps)
{
    double period = IMAGE / mbps * (double)SIM_US / (double)constants->core_ps;
    double unknown = 100 * (double)constants->dimm_unknown_cycles / period;
    double dma = 100 * (IMAGE / (double)constants->pci_word_bytes) / period;
    number_settle(session, "D8", 100 - unknown - dma);
    number_settle(session, "D8-unknown", unknown);
    number_settle(session, "D8-dma", dma);
}

/* Packet images through two windows in turn: as it is, without Unknown as model (1) has it, and
 * with receive and rec1 hidden as well, model (3). */
static int botf(struct session *session, struct measure_setup *setup)
{
    struct sim_constants constants = *setup->constants;
    struct measure_stream stream = {.size = IMAGE, .windows = 2, .is_botf = true};
    double as_is, model_1, model_3;
    int result = measure_throughput(setup, &stream, &as_is);
    setup->constants = &constants;
    constants.swi_rx_cycles -= constants.dimm_unknown_cycles;
    if (result == 0)
        result = measure_throughput(setup, &stream, &model_1);
    constants.double_buffer = 1;
    if (result == 0)
        result = measure_throughput(setup, &stream, &model_3);
    if (result < 0)
        return result;
    number_settle(session, "D5", as_is);
    number_settle(session, "D6", model_1 - as_is);
    number_settle(session, "D9", model_3);
    shares_settle(session, &constants, as_is);
    return 0;
}

int dimm(struct session *session)
{
    struct sim_constants constants = sim_constants_dimm(&session->constants);
    struct measure_setup setup = {.constants = &constants, .has_switch = true};
    int result = rdma(session, &setup);
    return result < 0 ? result : botf(session, &setup);
}
