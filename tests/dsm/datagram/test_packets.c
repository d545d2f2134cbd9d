/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages as packets: cut, mixed, doubled, lost and put together again; and packets that nobody
 * should have sent.
 */
#include "dsm/datagram/packets.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t dice(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static size_t cut(struct packet *packet, const char *message, size_t size, uint64_t id, unsigned at)
{
    return packet_cut(packet, message, size, id, at);
}

static void test_header(void **unused)
{
    (void)unused;
    struct packet packet;
    char message[5000];
    memset(message, 7, sizeof(message));
    assert_int_equal(sizeof(packet), 2048);
    assert_int_equal(PACKET_PAYLOAD, 2036);
    assert_int_equal(packet_count(sizeof(message)), 3);
    assert_int_equal(cut(&packet, message, sizeof(message), 9, 0), 2048);
    assert_int_equal(cut(&packet, message, sizeof(message), 9, 2), 12 + 5000 - 2 * 2036);
    assert_int_equal(packet.message_size, 5000);
    assert_int_equal(packet.message_id, 9);
    assert_int_equal(packet.number, 2);
}

/* Two messages at a time, packets in any order, some twice, some later once more. */
static void test_any_order(void **unused)
{
    (void)unused;
    static char message[2][MESSAGE_MAX];
    struct assembly *assembly = assembly_create();
    uint64_t id = UINT32_MAX - 300; /* wider than 32 bits on the way */
    for (int round = 0; round < 400; round++, id += 2) {
        size_t size[2], got = 0;
        bool has_come[2] = {false, false}, is_old;
        for (int m = 0; m < 2; m++) {
            size[m] = 1 + dice() % (round % 3 == 0 ? MESSAGE_MAX : 5000);
            for (size_t i = 0; i < size[m]; i++)
                message[m][i] = (char)dice();
        }
        while (!has_come[0] || !has_come[1]) {
            struct packet packet;
            unsigned m = dice() % 2, at = (unsigned)(dice() % packet_count(size[m]));
            size_t length = cut(&packet, message[m], size[m], id + m, at);
            const char *whole = assembly_add(assembly, &packet, length, &got, &is_old);
            assert_int_equal(is_old, has_come[m]);
            if (whole) {
                assert_false(has_come[m]);
                assert_int_equal(got, size[m]);
                assert_memory_equal(whole, message[m], got);
                has_come[m] = true;
            }
        }
    }
    assembly_destroy(assembly);
}

/* Many incomplete ones: the oldest give way, and come when they are sent again. */
static void test_too_many(void **unused)
{
    (void)unused;
    static char message[3 * PACKET_PAYLOAD];
    struct assembly *assembly = assembly_create();
    struct packet packet;
    size_t size;
    bool is_old;
    for (unsigned id = 0; id < 100; id++) {
        size_t length = cut(&packet, message, sizeof(message), id, 0);
        assert_null(assembly_add(assembly, &packet, length, &size, &is_old));
    }
    for (unsigned id = 0; id < 100; id++)
        for (unsigned at = 0; at < 3; at++) {
            size_t length = cut(&packet, message, sizeof(message), id, at);
            const char *whole = assembly_add(assembly, &packet, length, &size, &is_old);
            assert_true((whole != NULL) == (at == 2));
        }
    assembly_destroy(assembly);
}

/* A message of one packet: whether it came, and whether it had come. */
static bool comes(struct assembly *assembly, uint64_t id, bool *is_old)
{
    struct packet packet;
    size_t size;
    size_t length = cut(&packet, "word", 4, id, 0);
    return assembly_add(assembly, &packet, length, &size, is_old) != NULL;
}

/* What has come is known for 65536 numbers; beyond that, nothing is said of a message, and least of
 * all that it has come. */
static void test_window(void **unused)
{
    (void)unused;
    struct assembly *assembly = assembly_create();
    bool is_old;
    for (uint64_t id = 1; id < 200000; id += 1 + id % 2) {
        assert_true(comes(assembly, id, &is_old));
        assert_false(comes(assembly, id, &is_old));
        assert_true(is_old);
    }
    assert_true(comes(assembly, 300000, &is_old)); /* further than the window is long */
    assert_true(comes(assembly, 300000 - 65535, &is_old));
    assert_false(comes(assembly, 300000 - 65536, &is_old));
    assert_false(is_old);
    assert_false(comes(assembly, 300000, &is_old));
    assert_true(is_old);
    for (uint64_t id = 300001; id < 500000; id++)
        assert_true(comes(assembly, id, &is_old) && !is_old);
    assembly_destroy(assembly);
}

static void test_nonsense(void **unused)
{
    (void)unused;
    struct assembly *assembly = assembly_create();
    size_t size;
    bool is_old;
    for (int i = 0; i < 200000; i++) {
        struct packet packet = {.message_size = (uint16_t)dice(),
                                .message_id = dice() % 4,
                                .number = (uint16_t)(dice() % (i % 2 ? 40 : 65536))};
        size_t length = dice() % (PACKET_LENGTH + 1);
        const char *whole = assembly_add(assembly, &packet, length, &size, &is_old);
        assert_true(!whole || size <= MESSAGE_MAX);
    }
    assembly_destroy(assembly);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),   cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_too_many), cmocka_unit_test(test_window),
        cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
