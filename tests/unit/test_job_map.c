/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seats and nodes of a job of several hosts, addresses, and the orders of a host: what is written
 * is read back, and what was changed on the way is refused without harm.
 */
#include "job/address.h"
#include "job/job_map.h"
#include "job/launch/launch.h"
#include "job/launch/orders.h"
#include "job/mesh/mesh.h"
#include "unit.h"

#include <limits.h>
#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void test_seats(void **state)
{
    (void)state;
    for (int coordinator = -1; coordinator < 5; coordinator++) {
        struct job_map map;
        assert_int_equal(job_map_open(&map, 7, 5), 0);
        map.coordinator_node = coordinator;
        unsigned taken = 0;
        for (int node = 0; node < 5; node++) {
            int seat = job_map_seat_of(&map, node);
            assert_in_range(seat, 0, job_map_seat_count(&map) - 1);
            assert_int_equal(job_map_node_of(&map, seat), node);
            assert_int_equal(taken & 1u << seat, 0);
            taken |= 1u << seat;
        }
        assert_int_equal(job_map_node_of(&map, 0), coordinator);
        assert_int_equal(job_map_seat_count(&map), coordinator < 0 ? 6 : 5);
        job_map_close(&map);
    }
}

static void test_too_many_hosts(void **state)
{
    (void)state;
    struct job_map map;
    assert_int_equal(job_map_open(&map, 3, 4), RH_EINVALID);
    assert_int_equal(job_map_open(&map, 3, 0), RH_EINVALID);
    assert_int_equal(job_map_open(&map, 1 << 20, JOB_NODES_MAX + 1), RH_EINVALID);
}

/* Members of all hosts get the same, from which the job's own cannot be told. */
static void test_member_secret(void **state)
{
    (void)state;
    uint8_t secret[32] = {1, 2, 3}, once[32], again[32], other[32];
    job_member_secret(secret, once);
    job_member_secret(secret, again);
    assert_memory_equal(once, again, sizeof(once));
    assert_memory_not_equal(once, secret, sizeof(once));
    secret[31] ^= 1;
    job_member_secret(secret, other);
    assert_memory_not_equal(once, other, sizeof(once));
}

static void test_ranks_text(void **state)
{
    (void)state;
    struct job_map map;
    char text[128], small[44];
    static const int places[] = {0, 0, 0, 1, 0, 1, 0, 0};
    assert_int_equal(job_map_open(&map, 8, 2), 0);
    memcpy(map.node_of, places, sizeof(places));
    job_map_ranks_text(&map, 0, text, sizeof(text));
    assert_string_equal(text, "ranks 0-2, 4, 6-7");
    job_map_ranks_text(&map, 1, text, sizeof(text));
    assert_string_equal(text, "ranks 3, 5");
    map.node_of[3] = 0;
    job_map_ranks_text(&map, 1, text, sizeof(text));
    assert_string_equal(text, "rank 5");
    job_map_ranks_text(&map, 0, small, sizeof(small));
    assert_string_equal(small, "ranks 0-4, ...");
    job_map_close(&map);
}

static void test_address_lists(void **state)
{
    (void)state;
    static const char *const good[] = {"1 127.0.0.1", "65535 10.1.2.3 fd00::1 192.0.2.1"};
    static const char *const bad[] = {"",          "0 127.0.0.1",   "70000 127.0.0.1",
                                      "1",         "1 host",        "1 127.0.0.1 ",
                                      "x 1.2.3.4", "1 1.2.3.4.5.6", "-1 127.0.0.1"};
    struct address_list list;
    char text[512];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(address_list_parse(&list, good[i]));
        address_list_print(&list, text, sizeof(text));
        assert_string_equal(text, good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(address_list_parse(&list, bad[i]));
}

static void test_own_addresses(void **state)
{
    (void)state;
    struct address_list list;
    assert_int_equal(address_own(&list, "127.0.0.0/8"), 0);
    assert_string_equal(list.text[0], "127.0.0.1");
    assert_int_equal(address_own(&list, "lo"), 0);
    assert_int_equal(address_own(&list, "203.0.113.0/24"), RH_EINVALID);
    assert_non_null(strstr(rh_error_text(), "RHINET_INTERFACE=203.0.113.0/24"));
    assert_int_equal(address_own(&list, "127.0.0.0/99"), RH_EINVALID);
    assert_int_equal(address_own(&list, ""), 0);
}

static void test_ports(void **state)
{
    (void)state;
    static const char *const bad[] = {"x", "7-", "9-8", "0-9", "1-70000", "99999"};
    struct address_list list;
    assert_int_equal(address_own(&list, "lo"), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(address_listen(&list, "lo", bad[i]), RH_EINVALID);
    int fd = address_listen(&list, "lo", "");
    assert_true(fd >= 0);
    assert_true(list.port > 0);
    /* The same port again: it is taken, and the message says what to do. */
    char ports[16];
    snprintf(ports, sizeof(ports), "%u", list.port);
    assert_int_equal(address_listen(&list, "lo", ports), RH_EREFUSED);
    assert_non_null(strstr(rh_error_text(), "RHINET_PORTS"));
    close(fd);
}

/* ---- Orders --------------------------------------------------------------------------------- */

static const char *words[] = {"program", "an argument", "", "x=y;z\n", NULL};
static const char *variables[] = {"A=b", "RHINET_SPIN=1us", "EMPTY=", NULL};

struct sent {
    struct launch_options launch;
    struct job_map map;
    struct address_list coordinator;
    struct launch_hosts hosts;
    struct launch_master master;
};

static void make_orders(struct sent *sent)
{
    *sent = (struct sent){.launch = {.survive = true,
                                     .bind = LAUNCH_BIND_NONE,
                                     .nic = "shm",
                                     .argv = (char **)words,
                                     .hosts = &sent->hosts,
                                     .map = &sent->map,
                                     .coordinator = &sent->coordinator,
                                     .master = &sent->master},
                          .hosts = {.variables = (char **)variables},
                          .master = {.address = "10.0.0.9", .port = "20001"}};
    assert_int_equal(job_map_open(&sent->map, 5, 3), 0);
    sent->map.coordinator_node = 1;
    assert_int_equal(job_identity_make(&sent->map.job_id, sent->map.secret), 0);
    for (int rank = 0; rank < 5; rank++)
        sent->map.node_of[rank] = rank % 3;
    for (int node = 0; node < 3; node++)
        snprintf(sent->map.host[node], sizeof(sent->map.host[0]), "host-%d", node);
    assert_true(address_list_parse(&sent->coordinator, "4711 10.0.0.1 fd00::7"));
}

static int read_bytes(struct orders *orders, const char *bytes, size_t length)
{
    int fd = memfd_create("orders", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    lseek(fd, 0, SEEK_SET);
    int result = orders_read(orders, fd);
    char rest[8] = "";
    if (result == 0) /* what stands behind is left for rank 0 */
        assert_int_equal(read(fd, rest, sizeof(rest)), 4);
    close(fd);
    return result;
}

static void check_same(const struct orders *got, const struct sent *sent)
{
    char folder[PATH_MAX];
    const struct job_map *a = &got->map, *b = &sent->map;
    assert_int_equal(a->seat, 2);
    assert_int_equal(a->coordinator_node, b->coordinator_node);
    assert_true(a->job_id == b->job_id);
    assert_memory_equal(a->secret, b->secret, sizeof(a->secret));
    assert_memory_equal(a->node_of, b->node_of, 5 * sizeof(int));
    for (int node = 0; node < 3; node++)
        assert_string_equal(a->host[node], b->host[node]);
    assert_int_equal(got->launch.size, 5);
    assert_true(got->launch.survive);
    assert_false(got->launch.label);
    assert_int_equal(got->launch.bind, LAUNCH_BIND_NONE);
    assert_string_equal(got->launch.nic, "shm");
    assert_ptr_equal(got->launch.map, a);
    assert_ptr_equal(got->launch.coordinator, &got->coordinator);
    assert_string_equal(got->folder, getcwd(folder, sizeof(folder)));
    assert_int_equal(got->coordinator.port, 4711);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) - 1; i++)
        assert_string_equal(got->launch.argv[i], words[i]);
    assert_null(got->launch.argv[4]);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(got->variables[i], variables[i]);
    assert_null(got->variables[3]);
}

/* Orders as they are sent, with something that follows them. */
static char *make_bytes(struct sent *sent, size_t *length)
{
    char *bytes;
    make_orders(sent);
    assert_int_equal(orders_write(&sent->launch, 2, &bytes, length), 0);
    bytes = realloc(bytes, *length + 4);
    assert_non_null(bytes);
    memcpy(bytes + *length, "rest", 4);
    return bytes;
}

static void test_orders(void **state)
{
    (void)state;
    struct sent sent;
    struct orders got;
    size_t length;
    char *bytes = make_bytes(&sent, &length);
    assert_int_equal(read_bytes(&got, bytes, length + 4), 0);
    check_same(&got, &sent);
    orders_free(&got);
    free(bytes);
    job_map_close(&sent.map);
}

/* Whatever is cut or changed: an error, or orders that make sense; never more than that. */
static void test_broken_orders(void **state)
{
    (void)state;
    struct sent sent;
    struct orders got;
    size_t length;
    char *bytes = make_bytes(&sent, &length);
    for (size_t cut = 0; cut < length; cut++)
        assert_true(read_bytes(&got, bytes, cut) < 0);
    size_t body = (size_t)(strchr(bytes, '\n') - bytes) + 1;
    for (size_t at = body; at < length; at++) {
        for (unsigned mask = 1; mask < 256; mask *= 4) {
            bytes[at] ^= (char)mask;
            if (read_bytes(&got, bytes, length + 4) == 0)
                orders_free(&got);
            bytes[at] ^= (char)mask;
        }
    }
    free(bytes);
    job_map_close(&sent.map);
}

static void test_orders_of_another_version(void **state)
{
    (void)state;
    struct orders got;
    static const char text[] = "rhinet-orders 9.8.7 77 10\n0123456789";
    assert_int_equal(read_bytes(&got, text, strlen(text)), RH_EREFUSED);
    assert_non_null(strstr(rh_error_text(), "9.8.7 (mesh version 77)"));
    assert_non_null(strstr(rh_error_text(), RHINET_VERSION));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seats),         cmocka_unit_test(test_too_many_hosts),
        cmocka_unit_test(test_member_secret), cmocka_unit_test(test_ranks_text),
        cmocka_unit_test(test_address_lists), cmocka_unit_test(test_own_addresses),
        cmocka_unit_test(test_ports),         cmocka_unit_test(test_orders),
        cmocka_unit_test(test_broken_orders), cmocka_unit_test(test_orders_of_another_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
