/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared-memory NIC: processes of one machine. See shm_nic.h for how it works.
 */
#ifndef NIC_SHM_SHM_H
#define NIC_SHM_SHM_H

#include "nic/nic.h"

extern const struct nic_ops shm_ops;

#endif
