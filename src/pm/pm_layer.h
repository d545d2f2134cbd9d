/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PM's part of the reserved SIDs. Implementations have different ones, so that ranks that did not
 * agree on one wait for each other instead of misunderstanding each other.
 */
#pragma once

#include <rhinet/rma.h>

#define PM_SID_QUEUE      (RH_SID_RESERVED + 0xf000)
#define PM_SID_RINGS      (RH_SID_RESERVED + 0xf001)
#define PM_SID_AUTO_QUEUE (RH_SID_RESERVED + 0xf002)
#define PM_SID_AUTO_LANES (RH_SID_RESERVED + 0xf003)
#define PM_SID_MEMORY     (RH_SID_RESERVED + 0xf100) /* + number of the registration */
#define PM_SID_LAST       (RH_SID_RESERVED + 0xfeff)
