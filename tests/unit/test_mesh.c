/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links between task managers, all in this process: who is heard, who is suspected, who is out.
 */
#include "job/mesh/state.h"
#include "unit.h"

#include <poll.h>
#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SEATS    4
#define FRAME    (MESH_OWNER + 1)
#define LIMIT_NS (10 * NS_PER_S)

static const uint8_t secret[32] = "a secret of thirty-two bytes...";

/* One manager, and what it was told. */
struct host {
    struct mesh *mesh;
    bool is_ready, is_cut, is_deaf;
    int lost[SEATS], left[SEATS], left_status[SEATS];
    unsigned frames[SEATS];
    uint32_t refused;
    char why[MESH_TEXT_MAX];
};
static struct host hosts[SEATS];

static void ready(void *context)
{
    struct host *host = context;
    host->is_ready = true;
}

static void frame(void *context, int seat, const struct mesh_frame *frame)
{
    struct host *host = context;
    host->frames[seat] += frame->kind == FRAME && frame->value[0] == seat;
}

static void left(void *context, int seat, int status)
{
    struct host *host = context;
    host->left[seat]++;
    host->left_status[seat] = status;
}

static void lost(void *context, int seat, const char *why)
{
    struct host *host = context;
    host->lost[seat]++;
    snprintf(host->why, sizeof(host->why), "%s", why);
}

static void cut(void *context, const char *why)
{
    struct host *host = context;
    host->is_cut = true;
    snprintf(host->why, sizeof(host->why), "%s", why);
}

static void refused(void *context, uint32_t count)
{
    struct host *host = context;
    host->refused = count;
}

static void paused(void *context, bool yes)
{
    (void)context;
    (void)yes;
}

static const char *name(void *context, int seat)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    (void)context;
    return names[seat];
}

static void make(int seat, int count, int64_t silence_ns)
{
    const struct mesh_options options = {
        .seat = seat,
        .seat_count = count,
        .job_id = 77,
        .secret = secret,
        .coordinator = seat == 0 ? NULL : mesh_own_addresses(hosts[0].mesh),
        .interface = "",
        .ports = "",
        .silence_ns = silence_ns,
        .start_ns = LIMIT_NS,
        .owner = {&hosts[seat], ready, frame, left, lost, cut, refused, paused, name},
    };
    assert_int_equal(mesh_create(&hosts[seat].mesh, &options), 0);
}

static void serve_all(void)
{
    struct pollfd ready_fds[SEATS];
    for (int seat = 0; seat < SEATS; seat++) {
        bool is_on = hosts[seat].mesh && !hosts[seat].is_deaf;
        ready_fds[seat] = (struct pollfd){.fd = is_on ? mesh_poll_fd(hosts[seat].mesh) : -1,
                                          .events = POLLIN};
    }
    poll(ready_fds, SEATS, 5);
    for (int seat = 0; seat < SEATS; seat++) {
        if (ready_fds[seat].revents)
            mesh_serve(hosts[seat].mesh);
    }
}

static void serve_for(int64_t time_ns)
{
    int64_t until_ns = clock_deadline_ns(time_ns);
    while (clock_now_ns() < until_ns)
        serve_all();
}

#define SERVE_UNTIL(condition)                                                                     \
    do {                                                                                           \
        int64_t give_up_ns = clock_deadline_ns(LIMIT_NS);                                          \
        while (!(condition) && clock_now_ns() < give_up_ns)                                        \
            serve_all();                                                                           \
        assert_true(condition);                                                                    \
    } while (0)

static void open_all(int count, int64_t silence_ns)
{
    memset(hosts, 0, sizeof(hosts));
    for (int seat = 0; seat < count; seat++)
        make(seat, count, silence_ns);
    for (int seat = 0; seat < count; seat++)
        SERVE_UNTIL(hosts[seat].is_ready);
}

static int close_all(void **state)
{
    (void)state;
    for (int seat = 0; seat < SEATS; seat++)
        mesh_destroy(hosts[seat].mesh);
    memset(hosts, 0, sizeof(hosts));
    return 0;
}

static void nobody_is_lost(int count)
{
    for (int seat = 0; seat < count; seat++) {
        if (hosts[seat].is_cut)
            fail_msg("seat %d is out: %s", seat, hosts[seat].why);
        for (int other = 0; other < count; other++) {
            if (hosts[seat].lost[other])
                fail_msg("seat %d lost %d: %s", seat, other, hosts[seat].why);
        }
    }
}

static void test_everyone_hears_everyone(void **state)
{
    (void)state;
    open_all(3, NS_PER_S);
    for (int seat = 0; seat < 3; seat++) {
        struct mesh_frame hello = {.kind = FRAME, .value = {seat}};
        mesh_send_all(hosts[seat].mesh, &hello);
    }
    for (int seat = 0; seat < 3; seat++) {
        for (int other = 0; other < 3; other++)
            SERVE_UNTIL(seat == other || hosts[seat].frames[other] == 1);
        assert_int_equal(mesh_present_count(hosts[seat].mesh), 3);
    }
    mesh_leave(hosts[2].mesh, 9);
    SERVE_UNTIL(hosts[0].left[2] == 1 && hosts[1].left[2] == 1);
    assert_int_equal(hosts[1].left_status[2], 9);
    assert_int_equal(mesh_present_count(hosts[0].mesh), 2);
    mesh_leave(hosts[0].mesh, 0); /* without the coordinator there is no job */
    SERVE_UNTIL(hosts[1].is_cut);
    assert_non_null(strstr(hosts[1].why, "the first launcher has ended"));
    nobody_is_lost(1);
}

static void test_the_silent_is_lost(void **state)
{
    (void)state;
    open_all(3, NS_PER_S);
    hosts[2].is_deaf = true;
    serve_for(NS_PER_S);
    nobody_is_lost(2); /* not before the time-out */
    SERVE_UNTIL(hosts[0].lost[2] == 1 && hosts[1].lost[2] == 1);
    assert_non_null(strstr(hosts[1].why, "it does not answer (nothing heard for 1."));
    hosts[2].is_deaf = false;
    SERVE_UNTIL(hosts[2].is_cut); /* it is told when it comes back */
    serve_for(NS_PER_S);
    assert_int_equal(hosts[0].lost[2], 1);
    assert_int_equal(hosts[0].lost[1], 0);
}

/* All were stopped together, and come back one after the other. */
static void test_own_absence_is_nobodys_silence(void **state)
{
    (void)state;
    open_all(3, 300 * NS_PER_MS);
    serve_for(100 * NS_PER_MS);
    usleep(900 * 1000);
    hosts[1].is_deaf = hosts[2].is_deaf = true;
    for (int i = 0; i < 3; i++)
        serve_all();
    nobody_is_lost(3);
    hosts[1].is_deaf = hosts[2].is_deaf = false;
    serve_for(NS_PER_S);
    nobody_is_lost(3);
}

/* Nothing comes over a link any more, as while TCP waits after an outage. */
static void block(int seat, int other)
{
    epoll_ctl(hosts[seat].mesh->poll_fd, EPOLL_CTL_DEL, hosts[seat].mesh->seats[other].link->fd,
              NULL);
}

static void test_a_stuck_link_is_probed(void **state)
{
    (void)state;
    static const int pairs[][2] = {{0, 1}, {0, 2}, {1, 2}};
    open_all(3, NS_PER_S);
    for (int i = 0; i < 3; i++) {
        block(pairs[i][0], pairs[i][1]);
        block(pairs[i][1], pairs[i][0]);
    }
    serve_for(3 * NS_PER_S);
    nobody_is_lost(3);
    assert_int_equal(hosts[0].refused + hosts[1].refused, 0);
    hosts[2].is_deaf = true; /* but a probe that nobody answers proves nothing */
    SERVE_UNTIL(hosts[0].lost[2] == 1);
}

/* With a suspicion pending, and links that are gone. */
static void test_the_coordinator_leaves(void **state)
{
    (void)state;
    open_all(3, 100 * NS_PER_MS);
    coordinator_suspected(hosts[0].mesh, 1, 2);
    coordinator_suspected(hosts[0].mesh, 2, 1);
    mesh_leave(hosts[0].mesh, 0);
    assert_int_equal(hosts[0].lost[1] + hosts[0].lost[2], 0);
}

static void test_a_suspicion_that_is_not_repeated(void **state)
{
    (void)state;
    open_all(3, 500 * NS_PER_MS);
    coordinator_suspected(hosts[0].mesh, 2, 1);
    serve_for(NS_PER_S);
    nobody_is_lost(3);
    assert_int_equal(hosts[0].mesh->suspicions.count, 0);
    coordinator_suspected(hosts[1].mesh, 2, 0); /* only the coordinator is told such things */
    coordinator_suspected(hosts[0].mesh, 2, 2);
    assert_int_equal(hosts[0].mesh->suspicions.count, 0);
    coordinator_suspected(hosts[0].mesh, 2, 0);
    SERVE_UNTIL(hosts[0].lost[2] == 1 && hosts[1].lost[2] == 1 && hosts[2].is_cut);
}

static void test_a_suspicion_that_goes_on(void **state)
{
    (void)state;
    open_all(4, NS_PER_S);
    int64_t until_ns = clock_deadline_ns(LIMIT_NS);
    while (!hosts[0].lost[1] && clock_now_ns() < until_ns) {
        coordinator_suspected(hosts[0].mesh, 2, 1);
        coordinator_suspected(hosts[0].mesh, 3, 1);
        serve_all();
    }
    assert_int_equal(hosts[0].lost[1], 1);
    assert_int_equal(hosts[0].lost[2] + hosts[0].lost[3], 0);
    SERVE_UNTIL(hosts[1].is_cut && hosts[2].lost[1] == 1 && hosts[3].lost[1] == 1);
}

static void test_a_link_that_breaks(void **state)
{
    (void)state;
    open_all(4, NS_PER_S);
    shutdown(hosts[1].mesh->seats[3].link->fd, SHUT_RDWR);
    SERVE_UNTIL(hosts[0].lost[3] == 1 && hosts[3].is_cut);
    assert_non_null(strstr(hosts[0].why, "it and host b do not hear each other"));
    shutdown(hosts[2].mesh->seats[0].link->fd, SHUT_RDWR);
    SERVE_UNTIL(hosts[2].is_cut && hosts[1].lost[2] == 1);
    assert_int_equal(hosts[0].lost[1], 0);
}

/* Whom the coordinator would give up, one after the other, as a sum of 1 << seat. */
static unsigned given_up(unsigned pairs, int *rounds)
{
    struct mesh mesh = {.seat_count = 5};
    struct suspicion list[20];
    unsigned out = 0;
    int matters;
    mesh.suspicions.one = list;
    *rounds = 0;
    for (;;) {
        mesh.suspicions.count = 0;
        int bit = 0;
        for (int a = 1; a < 5; a++) {
            for (int b = a + 1; b < 5; b++, bit++) {
                if (!(pairs >> bit & 1) || out >> a & 1 || out >> b & 1)
                    continue;
                list[mesh.suspicions.count++] = (struct suspicion){a, b, 0, 0};
                if (bit % 2) /* and some suspect each other */
                    list[mesh.suspicions.count++] = (struct suspicion){b, a, 0, 0};
            }
        }
        int worst = suspicion_worst(&mesh, &matters);
        if (worst < 0)
            return out;
        assert_true(matters > 0);
        assert_int_equal(out >> worst & 1, 0);
        out |= 1u << worst;
        ++*rounds;
    }
}

/* The fewest that must go so that all who stay hear each other. */
static int fewest(unsigned pairs)
{
    int best = 4;
    for (unsigned out = 0; out < 32; out += 2) {
        bool is_enough = true;
        int bit = 0;
        for (int a = 1; a < 5; a++) {
            for (int b = a + 1; b < 5; b++, bit++)
                is_enough = is_enough && (!(pairs >> bit & 1) || out >> a & 1 || out >> b & 1);
        }
        int count = __builtin_popcount(out);
        best = is_enough && count < best ? count : best;
    }
    return best;
}

static void test_as_few_as_possible_go(void **state)
{
    (void)state;
    int rounds;
    for (unsigned pairs = 0; pairs < 64; pairs++) {
        given_up(pairs, &rounds);
        if (rounds != fewest(pairs))
            fail_msg("%u: %d go where %d would do", pairs, rounds, fewest(pairs));
    }
    assert_int_equal(given_up(1, &rounds), 1 << 2);     /* 1 and 2: the higher */
    assert_int_equal(given_up(1 | 2, &rounds), 1 << 1); /* 1 against 2 and 3 */
}

static void test_strangers(void **state)
{
    (void)state;
    open_all(2, NS_PER_S);
    const struct address_list *at = mesh_own_addresses(hosts[0].mesh);
    struct mesh_hello hello = {
        .magic = MESH_MAGIC, .version = MESH_VERSION, .seat = 1, .job_id = 77};
    snprintf(hello.library, sizeof(hello.library), "%s", RHINET_VERSION);
    uint8_t proof[PROOF_BYTES] = "I know nothing";
    for (uint32_t purpose = MESH_LINK; purpose <= MESH_PROBE + 1; purpose++) {
        int fd = address_connect(at->text[0], at->port);
        assert_true(fd >= 0);
        serve_for(50 * NS_PER_MS);
        hello.purpose = purpose;
        assert_int_equal(send(fd, &hello, sizeof(hello), MSG_NOSIGNAL), sizeof(hello));
        assert_int_equal(send(fd, proof, sizeof(proof), MSG_NOSIGNAL), sizeof(proof));
        SERVE_UNTIL(hosts[0].refused == purpose + 1);
        close(fd);
    }
    nobody_is_lost(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_everyone_hears_everyone, close_all),
        cmocka_unit_test_teardown(test_the_silent_is_lost, close_all),
        cmocka_unit_test_teardown(test_own_absence_is_nobodys_silence, close_all),
        cmocka_unit_test_teardown(test_a_stuck_link_is_probed, close_all),
        cmocka_unit_test_teardown(test_the_coordinator_leaves, close_all),
        cmocka_unit_test_teardown(test_a_suspicion_that_is_not_repeated, close_all),
        cmocka_unit_test_teardown(test_a_suspicion_that_goes_on, close_all),
        cmocka_unit_test_teardown(test_a_link_that_breaks, close_all),
        cmocka_unit_test(test_as_few_as_possible_go),
        cmocka_unit_test_teardown(test_strangers, close_all),
    };
    return cmocka_run_group_tests_name("mesh", tests, NULL, NULL);
}
