/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See steward.h.
 */
#include "job/steward.h"

#include <sodium.h>

void steward_proof(const struct cluster *cluster, int rank, uint8_t proof[STEWARD_PROOF_BYTES])
{
    struct {
        char purpose[16];
        int32_t rank;
    } claim = {.purpose = "rhinet member", .rank = rank};
    crypto_generichash(proof, STEWARD_PROOF_BYTES, (const uint8_t *)&claim, sizeof(claim),
                       cluster->secret, sizeof(cluster->secret));
}
