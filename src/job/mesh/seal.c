/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proofs and encryption of the mesh, by libsodium: keyed BLAKE2b over both hellos proves that one
 * knows the secret, for this meeting only; XSalsa20-Poly1305 under keys of this meeting, one for
 * each direction, seals the frames, and their number is the nonce.
 */
#include "base/assert.h"
#include "base/error.h"
#include "job/mesh/state.h"

#include <sodium.h>
#include <string.h>

_Static_assert(SEAL_BYTES == crypto_secretbox_MACBYTES, "room for the seal");
_Static_assert(crypto_secretbox_KEYBYTES == 32, "room for the key");

int seal_open(void)
{
    if (sodium_init() >= 0)
        return 0;
    return error_fail(RH_EREFUSED, "libsodium cannot be used on this machine");
}

void seal_nonce(uint8_t nonce[32])
{
    randombytes_buf(nonce, 32);
}

static void digest(const struct mesh_meeting *meeting, const char *purpose, uint8_t result[32])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, meeting->secret, 32, 32);
    crypto_generichash_update(&state, (const uint8_t *)purpose, strlen(purpose) + 1);
    crypto_generichash_update(&state, (const uint8_t *)meeting->caller, sizeof(*meeting->caller));
    crypto_generichash_update(&state, (const uint8_t *)meeting->called, sizeof(*meeting->called));
    crypto_generichash_final(&state, result, 32);
}

void seal_prove(const struct mesh_meeting *meeting, bool as_caller, uint8_t proof[PROOF_BYTES])
{
    digest(meeting, as_caller ? "rhinet caller" : "rhinet called", proof);
}

bool seal_is_proof(const uint8_t *proof, const uint8_t *expected)
{
    return sodium_memcmp(proof, expected, PROOF_BYTES) == 0;
}

void seal_keys_make(const struct mesh_meeting *meeting, bool as_caller, struct mesh_keys *keys)
{
    *keys = (struct mesh_keys){0};
    digest(meeting, "rhinet to called", as_caller ? keys->sending : keys->receiving);
    digest(meeting, "rhinet to caller", as_caller ? keys->receiving : keys->sending);
}

static void make_nonce(uint8_t nonce[crypto_secretbox_NONCEBYTES], uint64_t number)
{
    memset(nonce, 0, crypto_secretbox_NONCEBYTES);
    memcpy(nonce, &number, sizeof(number));
}

void seal_shut(struct mesh_keys *keys, uint8_t *cipher, const void *plain, size_t length)
{
    ASSERT(keys->sent < UINT64_MAX); /* no two frames share a nonce */
    uint8_t nonce[crypto_secretbox_NONCEBYTES];
    make_nonce(nonce, keys->sent++);
    crypto_secretbox_easy(cipher, plain, length, nonce, keys->sending);
}

bool seal_break(struct mesh_keys *keys, void *plain, const uint8_t *cipher, size_t cipher_length)
{
    uint8_t nonce[crypto_secretbox_NONCEBYTES];
    make_nonce(nonce, keys->received++);
    return crypto_secretbox_open_easy(plain, cipher, cipher_length, nonce, keys->receiving) == 0;
}
