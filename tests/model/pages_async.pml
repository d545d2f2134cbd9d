/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared pages whose writes the kernel notes: see pages.pml.
 */
#define ASYNC
#include "pages.pml"
