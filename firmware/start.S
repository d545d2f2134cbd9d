/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the processor begins: the stack is set, memory is as the file has it and 0 elsewhere.
 * Exceptions of the processor itself end the simulation with a message before they come here.
 */
    .set noreorder
    .section .start, "ax"
    .globl start
    .ent start
start:
    j       main
    nop
    .end start
