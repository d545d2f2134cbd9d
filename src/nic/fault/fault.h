/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC that wraps another one and makes things go wrong: "fault(shm)". See fault.c.
 */
#pragma once

#include "nic/nic.h"

extern const struct nic_ops fault_ops;
