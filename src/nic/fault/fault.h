/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC that wraps another one and makes things go wrong: "fault(shm)". See fault.c.
 */
#ifndef NIC_FAULT_FAULT_H
#define NIC_FAULT_FAULT_H

#include "nic/nic.h"

extern const struct nic_ops fault_ops;

#endif
