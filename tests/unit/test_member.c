/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A member whose task manager answers wrongly, late, or not at all: each call says what is wrong,
 * and no descriptor of what came stays behind. The answer to a member's n-th request can lie in the
 * socket before it asks: it is the one with number n.
 */
#include "base/clock.h"
#include "base/descriptor.h"
#include "job/member/parts.h"
#include "unit.h"

#include <fcntl.h>
#include <rhinet/error.h>
#include <rhinet/job.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SHORT_NS (50 * NS_PER_MS)
#define LONG_NS  (60 * NS_PER_S)

static void make_pair(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

/* With so many copies of one descriptor. */
static void answer(int socket, const struct reply *reply, int fd, int fd_count)
{
    struct reply copy = *reply;
    struct descriptor_message message = {
        .data = &copy, .length = sizeof(copy), .fd = {fd, fd}, .fd_count = fd_count};
    assert_int_equal(descriptor_send(socket, &message, 0), 0);
}

static struct reply good_reply(uint32_t number)
{
    return (struct reply){
        .version = PROTOCOL_VERSION, .number = number, .rank = 1, .size = 2, .job_id = 7};
}

static void assert_said(const char *word)
{
    if (!strstr(rh_error_text(), word))
        fail_msg("\"%s\" does not say \"%s\"", rh_error_text(), word);
}

/* ---- Joining -------------------------------------------------------------------------------- */

static int join(int fd)
{
    struct rh_job *job;
    struct rh_join_options options = {.struct_size = sizeof(options), .manager_fd = fd};
    return rh_join(&job, &options);
}

/* The member's end is closed by the failure, and so is all that came with the answer. */
static void check_hello(const struct reply *reply, int fd_count, int code, const char *said)
{
    int ends[2];
    size_t before = unit_descriptor_count();
    make_pair(ends);
    answer(ends[0], reply, ends[0], fd_count);
    assert_int_equal(join(ends[1]), code);
    assert_said(said);
    close(ends[0]);
    assert_int_equal(unit_descriptor_count(), before);
}

static void test_hello_makes_no_sense(void **state)
{
    (void)state;
    static const struct {
        int rank, size;
        const char *said;
    } places[] = {{0, 0, "rank 0 of 0"}, {-1, 2, "rank -1 of 2"}, {2, 2, "rank 2 of 2"}};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct reply reply = good_reply(1);
        reply.rank = places[i].rank;
        reply.size = places[i].size;
        check_hello(&reply, 2, RH_ECORRUPT, places[i].said);
    }
    struct reply reply = good_reply(1);
    check_hello(&reply, 0, RH_ECORRUPT, "sent 0 descriptors instead of 2");
    check_hello(&reply, 1, RH_ECORRUPT, "sent 1 descriptors instead of 2");
    check_hello(&reply, 2, RH_ECORRUPT, "not a job's memory");
}

static void test_hello_is_refused(void **state)
{
    (void)state;
    struct reply reply = good_reply(1);
    reply.code = RH_EREFUSED;
    snprintf(reply.text, sizeof(reply.text), "this job is full");
    check_hello(&reply, 0, RH_EREFUSED, "task manager: this job is full");
    check_hello(&reply, 2, RH_EREFUSED, "task manager: this job is full");
    memset(reply.text, 'x', sizeof(reply.text)); /* without an end */
    check_hello(&reply, 0, RH_EREFUSED, "task manager: xxx");
}

/* Whatever a manager of another version means by its fields, it is not what we mean. */
static void test_other_version(void **state)
{
    (void)state;
    struct reply reply = good_reply(99);
    reply.version = PROTOCOL_VERSION + 1;
    check_hello(&reply, 2, RH_EUNSUP, "another version");
    reply.code = RH_EREFUSED;
    snprintf(reply.text, sizeof(reply.text), "use rhinet 9");
    check_hello(&reply, 0, RH_EREFUSED, "use rhinet 9");
}

static void test_no_answer(void **state)
{
    (void)state;
    int ends[2];
    setenv("RHINET_TIMEOUT", "50ms", 1);
    make_pair(ends);
    assert_int_equal(join(ends[1]), RH_ETIMEOUT);
    assert_said("RHINET_TIMEOUT");
    unsetenv("RHINET_TIMEOUT");
    close(ends[0]);
    make_pair(ends);
    close(ends[0]);
    assert_int_equal(join(ends[1]), RH_EREFUSED);
    assert_said("was the launcher killed?");
    make_pair(ends);
    assert_int_equal(send(ends[0], "short", 5, 0), 5);
    assert_int_equal(join(ends[1]), RH_EREFUSED);
    assert_said("Bad message");
    close(ends[0]);
}

static void test_no_manager_there(void **state)
{
    (void)state;
    int ends[2], null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(join(null_fd), RH_EREFUSED);
    assert_said("is not the launcher's connection (Socket operation on non-socket)");
    assert_int_equal(close(null_fd), 0); /* it stays its owner's */
    assert_int_equal(join(null_fd), RH_EREFUSED);
    assert_said("Bad file descriptor");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(join(ends[0]), RH_EREFUSED);
    assert_said("(other kind)");
    close(ends[0]);
    close(ends[1]);
}

static void test_no_sense_in_the_call(void **state)
{
    (void)state;
    struct rh_job *job;
    struct rh_join_options options = {.struct_size = sizeof(options) - 1};
    assert_int_equal(rh_join(&job, &options), RH_EINVALID);
    assert_int_equal(rh_join(NULL, NULL), RH_EINVALID);
    options = (struct rh_join_options){.struct_size = sizeof(options), .nic = "pigeon"};
    size_t before = unit_descriptor_count();
    assert_int_equal(rh_join(&job, &options), RH_EINVALID);
    assert_said("pigeon");
    assert_int_equal(unit_descriptor_count(), before);
    setenv("RHINET_TIMEOUT", "soon", 1);
    assert_int_equal(rh_join(&job, NULL), RH_EINVALID);
    assert_said("RHINET_TIMEOUT");
    unsetenv("RHINET_TIMEOUT");
}

/* ---- Asking --------------------------------------------------------------------------------- */

struct talk {
    struct rh_job job;
    int manager; /* its end of the line */
};

static int begin(void **state)
{
    struct talk *talk = calloc(1, sizeof(*talk));
    int ends[2];
    make_pair(ends);
    talk->manager = ends[0];
    talk->job.timeout_ns = LONG_NS;
    line_open(&talk->job.line, ends[1]);
    talk->job.broker = job_broker;
    talk->job.broker.context = &talk->job;
    *state = talk;
    return 0;
}

static int end(void **state)
{
    struct talk *talk = *state;
    line_close(&talk->job.line);
    close(talk->manager);
    free(talk);
    return 0;
}

static struct request next_request(struct talk *talk)
{
    struct request request = {0};
    struct descriptor_message message = {.data = &request, .length = sizeof(request)};
    assert_int_equal(descriptor_receive(talk->manager, &message, 0), 0);
    return request;
}

static void test_cards(void **state)
{
    struct talk *talk = *state;
    struct nic_broker *broker = &talk->job.broker;
    static uint8_t card[PROTOCOL_CARD_MAX + 1];
    size_t length = PROTOCOL_CARD_MAX;
    assert_int_equal(broker->card_put(broker->context, card, sizeof(card)), RH_EINVALID);
    assert_said("a card of 513 bytes is too long");
    struct reply reply = good_reply(1);
    reply.card_length = 3;
    memcpy(reply.card, "abc", 3);
    answer(talk->manager, &reply, -1, 0);
    assert_int_equal(broker->card_get(broker->context, 1, card, &length), 0);
    assert_int_equal(length, 3);
    assert_memory_equal(card, "abc", 3);
    assert_int_equal(next_request(talk).kind, REQUEST_CARD_GET); /* the first that was asked */
    reply.number = 2;
    answer(talk->manager, &reply, -1, 0);
    length = 2; /* less than it is */
    assert_int_equal(broker->card_get(broker->context, 1, card, &length), RH_ECORRUPT);
    reply.number = 3;
    reply.card_length = PROTOCOL_CARD_MAX + 1;
    answer(talk->manager, &reply, -1, 0);
    length = sizeof(card);
    assert_int_equal(broker->card_get(broker->context, 1, card, &length), RH_ECORRUPT);
    assert_said("a card of 513 bytes");
}

/* They, and what is in them, are thrown away, however many and with whatever number. */
static void test_late_answers(void **state)
{
    struct talk *talk = *state;
    struct nic_broker *broker = &talk->job.broker;
    int fd = -1;
    talk->job.timeout_ns = SHORT_NS;
    for (int i = 0; i < 2; i++)
        assert_int_equal(broker->fetch(broker->context, 1, 5, &fd), RH_ETIMEOUT);
    talk->job.timeout_ns = LONG_NS;
    size_t before = unit_descriptor_count();
    static const uint32_t numbers[] = {77, 1, 0, 2, 3};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        struct reply reply = good_reply(numbers[i]);
        answer(talk->manager, &reply, talk->manager, 1);
    }
    assert_int_equal(broker->fetch(broker->context, 1, 5, &fd), 0);
    assert_int_equal(talk->job.line.answered, 3);
    close(fd);
    assert_int_equal(unit_descriptor_count(), before);
}

struct asker {
    struct talk *talk;
    int result, fd;
};

static void *ask(void *argument)
{
    struct asker *asker = argument;
    struct nic_broker *broker = &asker->talk->job.broker;
    asker->result = broker->withdraw(broker->context, 5);
    return NULL;
}

static void reply_to(struct talk *talk, uint32_t number)
{
    struct reply reply = good_reply(number);
    answer(talk->manager, &reply, -1, 0);
}

/* The second waits until the first has its answer, or for its own time. */
static void test_two_threads(void **state)
{
    struct talk *talk = *state;
    struct asker first = {.talk = talk, .result = 1}, second = first, short_wait = first;
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, ask, &first), 0);
    assert_int_equal(next_request(talk).number, 1); /* the line is the first one's now */
    talk->job.timeout_ns = SHORT_NS;
    ask(&short_wait);
    assert_int_equal(short_wait.result, RH_ETIMEOUT);
    talk->job.timeout_ns = LONG_NS;
    assert_int_equal(pthread_create(&threads[1], NULL, ask, &second), 0);
    usleep(20000); /* most likely it waits by now; right or wrong does not depend on it */
    reply_to(talk, 1);
    assert_int_equal(next_request(talk).number, 2);
    reply_to(talk, 2);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(first.result, 0);
    assert_int_equal(second.result, 0);
}

static void do_nothing(int number)
{
    (void)number;
}

static void test_signals_do_not_disturb(void **state)
{
    struct talk *talk = *state;
    struct asker asker = {.talk = talk, .result = 1};
    struct sigaction action = {.sa_handler = do_nothing}, before;
    pthread_t thread;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(pthread_create(&thread, NULL, ask, &asker), 0);
    assert_int_equal(next_request(talk).kind, REQUEST_WITHDRAW);
    for (int i = 0; i < 20; i++) {
        pthread_kill(thread, SIGUSR1);
        usleep(1000);
    }
    reply_to(talk, 1);
    pthread_join(thread, NULL);
    assert_int_equal(asker.result, 0);
    sigaction(SIGUSR1, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello_makes_no_sense),
        cmocka_unit_test(test_hello_is_refused),
        cmocka_unit_test(test_other_version),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_no_manager_there),
        cmocka_unit_test(test_no_sense_in_the_call),
        cmocka_unit_test_setup_teardown(test_cards, begin, end),
        cmocka_unit_test_setup_teardown(test_late_answers, begin, end),
        cmocka_unit_test_setup_teardown(test_two_threads, begin, end),
        cmocka_unit_test_setup_teardown(test_signals_do_not_disturb, begin, end),
    };
    return cmocka_run_group_tests_name("member", tests, NULL, NULL);
}
