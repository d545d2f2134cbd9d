/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See manager_process.h.
 */
#include "job/manager_process.h"

#include <sodium.h>

void manager_process_proof(const struct job_map *map, int rank,
                           uint8_t proof[MANAGER_PROCESS_PROOF_BYTES])
{
    struct {
        char purpose[16];
        int32_t rank;
    } claim = {.purpose = "rhinet member", .rank = rank};
    crypto_generichash(proof, MANAGER_PROCESS_PROOF_BYTES, (const uint8_t *)&claim, sizeof(claim),
                       map->secret, sizeof(map->secret));
}
