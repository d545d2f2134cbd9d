/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks of low diameter: dragonfly (groups of routers, all cabled to each other; every pair of
 * groups joined by one cable) and slim fly (the McKay-Miller-Siran graphs, diameter 2).
 */
#include "route/generate/generate.h"

#include "base/error.h"

static int switches_add(struct fabric *fabric, uint32_t count, uint32_t hosts)
{
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        char name[32];
        uint32_t index;
        snprintf(name, sizeof(name), "s%u", i);
        result = fabric_node_add(fabric, FABRIC_SWITCH, name, &index);
    }
    for (uint32_t i = 0; i < count && result == 0; i++)
        result = generate_hosts_add(fabric, i, hosts);
    return result;
}

static int join(struct fabric *fabric, uint32_t a, uint32_t b)
{
    return fabric_link_add(fabric, (struct fabric_end){a, 0}, (struct fabric_end){b, 0});
}

int generate_dragonfly(struct fabric *fabric, const struct generate_options *options)
{
    uint32_t routers = options->routers ? options->routers : 4;
    uint32_t global = options->global ? options->global : 2;
    uint32_t hosts = options->hosts ? options->hosts : global;
    uint32_t groups = routers * global + 1; /* the largest: one cable for each pair of groups */
    if (routers > 128 || global > 64 || routers + global + hosts > FABRIC_PORTS_MAX ||
        (uint64_t)groups * routers > 200000)
        return error_fail(
            -EINVAL, "a dragonfly of %u routers with %u global cables and %u hosts is too large",
            routers, global, hosts);
    int result = switches_add(fabric, groups * routers, hosts);
    for (uint32_t g = 0; g < groups; g++) {
        for (uint32_t i = 0; i < routers; i++) {
            for (uint32_t j = 0; j < i && result == 0; j++)
                result = join(fabric, g * routers + i, g * routers + j);
        }
    }
    for (uint32_t g = 0; g < groups; g++) {
        for (uint32_t h = g + 1; h < groups && result == 0; h++) {
            /* group h is number h-g-1 after g, and g is number g-h-1+groups after h */
            uint32_t from = (h - g - 1) / global, to = (g + groups - h - 1) / global;
            result = join(fabric, g * routers + from, h * routers + to);
        }
    }
    return result;
}

static uint32_t primitive_root(uint32_t q)
{
    for (uint32_t root = 2; root < q; root++) {
        uint32_t power = root, steps = 1;
        while (power != 1) {
            power = power * root % q;
            steps++;
        }
        if (steps == q - 1)
            return root;
    }
    return 0;
}

static bool is_prime(uint32_t q)
{
    for (uint32_t i = 2; i * i <= q; i++) {
        if (q % i == 0)
            return false;
    }
    return q > 1;
}

/* Cables inside the columns of one half: rows whose difference is an even (or odd) power. */
static int columns_cable(struct fabric *fabric, uint32_t q, uint32_t first, const bool *generator)
{
    int result = 0;
    for (uint32_t x = 0; x < q; x++) {
        for (uint32_t y = 0; y < q; y++) {
            for (uint32_t z = 0; z < y && result == 0; z++) {
                if (generator[(y - z) % q])
                    result = join(fabric, first + x * q + y, first + x * q + z);
            }
        }
    }
    return result;
}

int generate_slim_fly(struct fabric *fabric, const struct generate_options *options)
{
    uint32_t q = options->prime ? options->prime : 5;
    uint32_t hosts = options->hosts ? options->hosts : (3 * q - 1) / 4;
    if (!is_prime(q) || q % 4 != 1 || q > 101)
        return error_fail(
            -EINVAL,
            "a slim fly needs a prime of the form 4w+1 up to 101 (5, 13, 17, 29, …), not %u", q);
    bool even[128] = {false}, odd[128] = {false};
    uint32_t root = primitive_root(q), power = 1;
    for (uint32_t i = 0; i < q - 1; i++, power = power * root % q)
        (i % 2 == 0 ? even : odd)[power] = true;
    int result = switches_add(fabric, 2 * q * q, hosts);
    if (result == 0)
        result = columns_cable(fabric, q, 0, even);
    if (result == 0)
        result = columns_cable(fabric, q, q * q, odd);
    for (uint32_t x = 0; x < q; x++) {
        for (uint32_t m = 0; m < q; m++) {
            for (uint32_t c = 0; c < q && result == 0; c++)
                result = join(fabric, x * q + (m * x + c) % q, q * q + m * q + c);
        }
    }
    return result;
}
