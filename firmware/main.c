/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The main loop: polls the interrupt controller, as saving registers for an interrupt costs tens of
 * cycles (5.4), and serves one module after the other. Receiving comes first, but for processes that
 * have ended: what comes next may be for others of the same number.
 */
#include "firmware.h"

int main(void)
{
    for (;;) {
        u32 pending = get(INTC_PENDING) & ~(is_delivering << MODULE_RFEND);
        if (pending == 0)
            continue;
        if (pending & INTC_HOST)
            host_serve();
        else if (pending & 1 << MODULE_RFEND)
            rfend_serve();
        else if (pending & 1 << MODULE_REPLIER)
            replier_serve();
        else if (pending & 1 << MODULE_RBEND)
            rbend_serve();
        else
            initiator_serve();
    }
}
