/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bit errors on links. The distance to the next wrong bit is drawn once and counted down, so that a
 * link without errors costs nothing.
 */
#include "sim/switch/network.h"

#include <math.h>

double errors_next(struct network *network)
{
    double rate = network->options.bit_error_rate;
    return rate > 0 ? sim_random_wait(network->sim, 1 / rate) : INFINITY;
}

/* ECC: one wrong bit of a flit is mended, a second one in the same flit is not. */
static struct damage strike_ecc(struct network *network, struct port *port, uint32_t flits)
{
    struct damage damage = {0};
    double flit_bits = (double)network->constants.flit_bits, bits = flits * flit_bits;
    double last = -1;
    while (port->bits_to_error < bits) {
        double flit = floor(port->bits_to_error / flit_bits);
        if (flit == last)
            damage.is_lost = true;
        else
            port->bits_corrected++;
        last = flit;
        port->bits_to_error += errors_next(network);
    }
    port->bits_to_error -= bits;
    return damage;
}

/* CRC: the receiver drops a wrong flit and all that follow it until the sender, told so, has gone
 * back to its sequence number. The time in between is lost, and what was sent in it. */
static struct damage strike_crc(struct network *network, struct port *port, uint32_t flits)
{
    struct damage damage = {0};
    double flit_bits = (double)network->constants.flit_bits;
    uint32_t back = (uint32_t)(2 * port->delay / port->flit_time) + 2, tries = 0, taken = 0;
    while (port->bits_to_error < (flits - taken) * flit_bits) {
        taken += (uint32_t)(port->bits_to_error / flit_bits);
        port->flits_resent += back;
        damage.tail_late += back * port->flit_time;
        if (taken == 0)
            damage.head_late += back * port->flit_time;
        port->bits_to_error = errors_next(network);
        if (++tries > network->constants.retry_limit) {
            damage.is_lost = true;
            break;
        }
    }
    if (!damage.is_lost)
        port->bits_to_error -= (flits - taken) * flit_bits;
    return damage;
}

struct damage errors_strike(struct network *network, struct port *port, uint32_t flits)
{
    if (port->bits_to_error == INFINITY)
        return (struct damage){0};
    return network->options.kind == NETWORK_RHINET2 ? strike_ecc(network, port, flits)
                                                    : strike_crc(network, port, flits);
}
