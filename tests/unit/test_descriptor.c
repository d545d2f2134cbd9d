/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages with descriptors: those of the right shape arrive, all others are refused, and whatever
 * a peer sends, no descriptor of it stays behind.
 */
#include "base/descriptor.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FDS_MAX 253 /* what the kernel takes in one message */

static int make_pair(void **state)
{
    static int ends[2];
    *state = ends;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int close_pair(void **state)
{
    int *ends = *state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* Sends what descriptor_send() never would: fd_count copies of one descriptor. */
static void send_raw(int socket, const void *data, size_t length, int fd_count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(FDS_MAX * sizeof(int))] = {0};
    int fds[FDS_MAX];
    struct iovec part = {.iov_base = (void *)data, .iov_len = length};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    for (int i = 0; i < fd_count; i++)
        fds[i] = socket;
    if (fd_count > 0) {
        size_t bytes = (size_t)fd_count * sizeof(int);
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(item), fds, bytes);
    }
    assert_int_equal(sendmsg(socket, &header, 0), (ssize_t)length);
}

static void test_round_trip(void **state)
{
    int *ends = *state;
    for (int fd_count = 0; fd_count <= DESCRIPTORS_MAX; fd_count++) {
        char sent[] = "words", got[sizeof(sent)] = "";
        struct descriptor_message out = {
            .data = sent, .length = sizeof(sent), .fd_count = fd_count};
        struct descriptor_message in = {.data = got, .length = sizeof(got)};
        for (int i = 0; i < fd_count; i++)
            out.fd[i] = ends[0];
        size_t before = unit_descriptor_count();
        assert_int_equal(descriptor_send(ends[0], &out, 0), 0);
        assert_int_equal(descriptor_receive(ends[1], &in, 0), 0);
        assert_string_equal(got, "words");
        assert_int_equal(in.fd_count, fd_count);
        assert_int_equal(in.sender_pid, 0);
        for (int i = 0; i < in.fd_count; i++) {
            assert_int_equal(fcntl(in.fd[i], F_GETFD), FD_CLOEXEC);
            close(in.fd[i]);
        }
        assert_int_equal(unit_descriptor_count(), before);
    }
}

static void test_sender_is_known(void **state)
{
    int *ends = *state;
    int on = 1;
    char sent = 'x', got;
    struct descriptor_message out = {.data = &sent, .length = 1};
    struct descriptor_message in = {.data = &got, .length = 1};
    assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
    assert_int_equal(descriptor_send(ends[0], &out, 0), 0);
    assert_int_equal(descriptor_receive(ends[1], &in, 0), 0);
    assert_int_equal(in.sender_pid, getpid());
}

static void test_other_shapes_are_refused(void **state)
{
    int *ends = *state;
    static const struct {
        size_t length;
        int fd_count;
    } cases[] = {{7, 0}, {9, 0}, {1, 1}, {64, 2}, {7, FDS_MAX}, {8, FDS_MAX}, {9, FDS_MAX}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char data[64] = {0}, got[8];
        struct descriptor_message in = {.data = got, .length = sizeof(got)};
        size_t before = unit_descriptor_count();
        send_raw(ends[0], data, cases[i].length, cases[i].fd_count);
        assert_int_equal(descriptor_receive(ends[1], &in, 0), -EBADMSG);
        assert_int_equal(in.fd_count, 0);
        assert_int_equal(unit_descriptor_count(), before);
    }
}

/* Right length, but more descriptors than there is room for: none is left over. */
static void test_no_descriptor_stays(void **state)
{
    int *ends = *state;
    for (int fd_count = DESCRIPTORS_MAX + 1; fd_count < 40; fd_count++) {
        char data[8] = {0}, got[8];
        struct descriptor_message in = {.data = got, .length = sizeof(got)};
        size_t before = unit_descriptor_count();
        send_raw(ends[0], data, sizeof(data), fd_count);
        descriptor_receive(ends[1], &in, 0);
        assert_in_range(in.fd_count, 0, DESCRIPTORS_MAX);
        for (int i = 0; i < in.fd_count; i++)
            close(in.fd[i]);
        assert_int_equal(unit_descriptor_count(), before);
    }
}

static void test_nobody_there(void **state)
{
    int *ends = *state;
    char data[8] = {0};
    struct descriptor_message message = {.data = data, .length = sizeof(data)};
    assert_int_equal(descriptor_receive(ends[1], &message, MSG_DONTWAIT), -EAGAIN);
    shutdown(ends[0], SHUT_RDWR);
    assert_int_equal(descriptor_receive(ends[1], &message, 0), -ECONNRESET);
    assert_int_equal(descriptor_send(ends[1], &message, 0), -EPIPE); /* and no SIGPIPE */
    message.fd_count = 1;
    message.fd[0] = -1;
    assert_int_equal(descriptor_send(ends[1], &message, 0), -EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_sender_is_known, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_other_shapes_are_refused, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_no_descriptor_stays, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_nobody_there, make_pair, close_pair),
    };
    return cmocka_run_group_tests_name("descriptor", tests, NULL, NULL);
}
