/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options that ask what if the simulated controller were another: each sets constants.
 */
#ifndef CLI_SIM_WHAT_IF_H
#define CLI_SIM_WHAT_IF_H

#include "sim/constants.h"

#include <getopt.h>

enum sim_what_if {
    WHAT_IF_DOUBLE_BUFFER = 512,
    WHAT_IF_WINDOWS,
    WHAT_IF_HARDWARE_VPUSH,
    WHAT_IF_CPU_SPEED,
    WHAT_IF_CLOCK,
    WHAT_IF_PCI_X,
    WHAT_IF_LINK,
    WHAT_IF_MTU
};

/* For a table of getopt_long(). */
#define SIM_WHAT_IF_OPTIONS                                                                        \
    {"double-buffer", no_argument, NULL, WHAT_IF_DOUBLE_BUFFER},                                   \
        {"windows", required_argument, NULL, WHAT_IF_WINDOWS},                                     \
        {"hardware-vpush", no_argument, NULL, WHAT_IF_HARDWARE_VPUSH},                             \
        {"cpu-speed", required_argument, NULL, WHAT_IF_CPU_SPEED},                                 \
        {"clock", required_argument, NULL, WHAT_IF_CLOCK},                                         \
        {"pci-x", no_argument, NULL, WHAT_IF_PCI_X},                                               \
        {"link", required_argument, NULL, WHAT_IF_LINK},                                           \
    {                                                                                              \
        "mtu", required_argument, NULL, WHAT_IF_MTU                                                \
    }

/* 0; -1: it is none of these; else the exit status, after it has said what is wrong. */
int sim_what_if_take(struct sim_constants *constants, int option, const char *text);

#endif
