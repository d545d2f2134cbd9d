/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet run --nic ofi -n 2 ofi-stall`: rank 0 stops rank 1 for longer than its calls wait, lets
 * it go on, and looks at what became of them: memory that was given back is not written, nothing
 * happens twice, nothing stays stuck. Both ranks print "ok".
 *
 * Longer than most files: cases that share how a rank is stopped and let go.
 */
#include "job/job.h"
#include "nic/ofi/ofi_nic.h"

#include <pthread.h>
#include <rhinet/rma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SID_MEMORY       1 /* of rank 1: LENGTH bytes, the last words of which are counters */
#define SID_QUEUE        2
#define SID_WORDS        3 /* of both: how far the other one is */
#define SID_GOING        4 /* of rank 1: attached, and detached while it is written */
#define SID_FULL         5 /* queue of rank 1 that nobody receives from */
#define LENGTH           (8u << 20)
#define LONG_BYTES       (32u << 20)
#define PULLS            16
#define FULL_SLOTS       2
#define SHORT_TIMEOUT_NS RH_MILLISECONDS(500)
#define TIMES_MAX        10 /* a call takes one time-out, on a busy machine */
#define WAIT_NS          RH_MILLISECONDS(60000)
#define ARRIVE_NS        RH_MILLISECONDS(20000) /* for what has been sent */

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "FAIL line %d: %s; %s\n", __LINE__, #condition, rh_error_text());      \
            if (victim > 0)                                                                        \
                kill(victim, SIGCONT);                                                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* A call that must time out, and after one time-out only. */
#define MUST_TIME_OUT(call)                                                                        \
    do {                                                                                           \
        int64_t start_ns = now_ns();                                                               \
        MUST((call) == RH_ETIMEOUT);                                                               \
        MUST(now_ns() - start_ns < TIMES_MAX * job->timeout_ns);                                   \
    } while (0)

static struct rh_job *job;
static pid_t victim;
static uint64_t *words;
static char *buffer;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Only one that stands still is asked in haste: a busy one may need longer at any time. */
static void set_patience(int64_t timeout_ns)
{
    job->timeout_ns = timeout_ns;
    ofi_nic_of(job->nic)->timeout_ns = timeout_ns;
}

static void stop(void)
{
    char name[64], state = 'R';
    snprintf(name, sizeof(name), "/proc/%d/stat", (int)victim);
    MUST(kill(victim, SIGSTOP) == 0);
    while (state != 'T') {
        FILE *file = fopen(name, "r");
        MUST(file != NULL);
        MUST(fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
        fclose(file);
    }
    set_patience(SHORT_TIMEOUT_NS);
}

/* It goes on, and what was under way is over. */
static void go(void)
{
    set_patience(WAIT_NS);
    MUST(kill(victim, SIGCONT) == 0);
    MUST(rh_flush(job, 1) == 0);
}

/* What was asked of rank 1 before has been answered, too. */
static void drain_pulls(void)
{
    MUST(rh_pull(job, rh_at(1, SID_MEMORY, 0), buffer + LENGTH, LENGTH) == 0);
}

static void check_filled(const char *memory, size_t length, char value)
{
    for (size_t i = 0; i < length; i++)
        MUST(memory[i] == value);
}

static void meet(uint64_t number)
{
    int other = 1 - rh_rank(job);
    struct rh_wait wait = {.word = &words[0],
                           .when = RH_AT_LEAST,
                           .value = number,
                           .from = other,
                           .timeout_ns = WAIT_NS};
    MUST(rh_push(job, rh_at(other, SID_WORDS, 0), &number, sizeof(number)) == 0);
    MUST(rh_wait_word(job, &wait) == 0);
}

/* ---- Rank 0 --------------------------------------------------------------------------------- */

static void pull_leaves_memory_alone(void)
{
    stop();
    MUST_TIME_OUT(rh_pull(job, rh_at(1, SID_MEMORY, 0), buffer, LENGTH / 2));
    memset(buffer, 0x5a, LENGTH);
    go();
    drain_pulls();
    check_filled(buffer, LENGTH, 0x5a);
}

static void withdrawn_leaves_memory_alone(void)
{
    struct rh_done done[PULLS];
    uint64_t part = LENGTH / PULLS;
    stop();
    for (uint64_t i = 0; i < PULLS; i++)
        MUST(rh_pull_start(job, rh_at(1, SID_MEMORY, i * part), buffer + i * part, part,
                           &done[i]) == 0);
    MUST(rh_wait_done(job, &done[0], RH_MILLISECONDS(200)) == RH_ETIMEOUT);
    for (int i = 0; i < PULLS; i++)
        MUST(rh_withdraw(job, &done[i]) == RH_ECANCELED);
    memset(buffer, 0x5b, LENGTH);
    memset(done, 0x5c, sizeof(done));
    go();
    drain_pulls();
    check_filled(buffer, LENGTH, 0x5b);
    check_filled((char *)done, sizeof(done), 0x5c);
}

/* What arrives is what was there when the call was made. */
static void push_takes_its_source(void)
{
    memset(buffer, 0, LENGTH);
    MUST(rh_push(job, rh_at(1, SID_MEMORY, 0), buffer, LENGTH) == 0);
    memset(buffer, 'A', LENGTH);
    stop();
    MUST_TIME_OUT(rh_push(job, rh_at(1, SID_MEMORY, 0), buffer, LENGTH));
    memset(buffer, 'B', LENGTH);
    go();
    MUST(rh_pull(job, rh_at(1, SID_MEMORY, 0), buffer, LENGTH) == 0);
    for (size_t i = 0; i < LENGTH; i++)
        MUST(buffer[i] == 0 || buffer[i] == 'A');
}

static void atomics_happen_once(void)
{
    struct rh_remote word = rh_at(1, SID_MEMORY, LENGTH - 8);
    struct nic *nic = job->nic;
    uint64_t old = 0, zero = 0;
    MUST(rh_push(job, word, &zero, 8) == 0);
    stop();
    MUST_TIME_OUT(rh_fetch_add(job, word, 1, &old));
    /* With a ticket, gone on with so late that the request is sent again. */
    struct nic_ticket ticket = {0};
    struct nic_atomic_operands operands = {
        .operation = NIC_FETCH_ADD, .operand = 100, .ticket = &ticket};
    for (int i = 0; i < 3; i++) {
        MUST_TIME_OUT(nic->ops->atomic(nic, word, &operands, &old));
        MUST(ticket.is_open);
    }
    go();
    MUST(nic->ops->atomic(nic, word, &operands, &old) == 0);
    MUST(!ticket.is_open && old == 1);
    MUST(rh_fetch_add(job, word, 0, &old) == 0);
    MUST(old == 101);
}

/* More requests in doubt than are remembered: those that are given up do not stand in the way. */
static void doubts_do_not_pile_up(void)
{
    struct rh_remote word = rh_at(1, SID_MEMORY, LENGTH - 16);
    struct nic *nic = job->nic;
    struct nic_ticket ticket[OFI_WINDOW];
    struct nic_atomic_operands operands = {.operation = NIC_FETCH_ADD, .operand = 1};
    uint64_t old = 0, zero = 0;
    MUST(rh_push(job, word, &zero, 8) == 0);
    stop();
    for (int i = 0; i < OFI_WINDOW; i++) {
        ticket[i] = (struct nic_ticket){.deadline_ns = now_ns() + RH_MILLISECONDS(1)};
        operands.ticket = &ticket[i];
        MUST(nic->ops->atomic(nic, word, &operands, &old) == RH_ETIMEOUT && ticket[i].is_open);
    }
    MUST_TIME_OUT(rh_fetch_add(job, word, 1000, &old)); /* not sent: the window is full */
    go();
    for (uint64_t i = 0; i < OFI_WINDOW; i++) {
        operands.ticket = &ticket[i];
        ticket[i].deadline_ns = 0;
        MUST(nic->ops->atomic(nic, word, &operands, &old) == 0 && old == i);
    }
    for (uint64_t i = 0; i < 5 * OFI_WINDOW; i++) /* and numbers wrap */
        MUST(rh_fetch_add(job, word, 1, &old) == 0 && old == OFI_WINDOW + i);
}

/* Once the next claim of a slot is answered, so while the slot is being filled. */
static void *stop_at_claim(void *context)
{
    struct ofi_nic *ofi = ofi_nic_of(job->nic);
    const struct ofi_peer *peer = &ofi->peers[1];
    bool is_claimed = false;
    while (!is_claimed) {
        ofi_lock(ofi);
        is_claimed = peer->once_count != *(uint32_t *)context && peer->once_open == 0;
        ofi_unlock(ofi);
    }
    stop();
    return NULL;
}

static int append_and_stop(void)
{
    pthread_t thread;
    uint32_t once_count = ofi_nic_of(job->nic)->peers[1].once_count;
    set_patience(
        SHORT_TIMEOUT_NS); /* it is asked before it stops; whether it is in time does not matter */
    MUST(pthread_create(&thread, NULL, stop_at_claim, &once_count) == 0);
    int result = rh_append(job, 1, SID_QUEUE, buffer, LONG_BYTES);
    pthread_join(thread, NULL);
    return result;
}

/* The receiver stops before the first step, or in the middle: no slot of it stays behind. */
static void long_appends_leave_no_slot(uint64_t *sent)
{
    for (int round = 0; round < 3; round++) {
        memcpy(buffer, sent, 8);
        if (round == 0) {
            stop();
            MUST_TIME_OUT(rh_append(job, 1, SID_QUEUE, buffer, LONG_BYTES));
        } else {
            int result = append_and_stop();
            MUST(result == 0 || result == RH_ETIMEOUT);
        }
        go();
        ++*sent; /* whether it came is open, unless it was answered */
        memcpy(buffer, sent, 8);
        MUST(rh_append(job, 1, SID_QUEUE, buffer, 64) == 0);
        ++*sent;
    }
}

static void appends_happen_once(uint64_t *sent)
{
    struct nic *nic = job->nic;
    struct nic_ticket ticket = {0};
    stop();
    memcpy(buffer, sent, 8);
    for (int i = 0; i < 3; i++) {
        MUST_TIME_OUT(nic->ops->append_try(nic, rh_at(1, SID_QUEUE, 0), buffer, 64, &ticket));
        MUST(ticket.is_open);
    }
    go();
    MUST(nic->ops->append_try(nic, rh_at(1, SID_QUEUE, 0), buffer, 64, &ticket) == 0);
    ++*sent;
    memcpy(buffer, sent, 8);
    MUST(rh_append(job, 1, SID_QUEUE, buffer, 64) == 0);
    ++*sent;
}

/* A message for a segment of another generation is refused by its owner, whatever the sender
 * believes. */
static void other_generations_are_refused(void)
{
    struct ofi_nic *ofi = ofi_nic_of(job->nic);
    struct ofi_errand errand = ofi_errand(ofi, 1, "test");
    struct ofi_view *view = ofi_view_take(ofi, &errand, SID_MEMORY, true);
    struct ofi_atomic_body body = {.operation = NIC_SWAP, .operand = 7};
    struct ofi_message message;
    MUST(view != NULL);
    uint32_t generation = view->info.generation;
    ofi_unlock(ofi);
    for (uint32_t i = 0; i < 2; i++) {
        message.head = ofi_head(OFI_ATOMIC, SID_MEMORY, LENGTH - 24);
        message.head.generation = generation + i;
        memcpy(message.body, &body, sizeof(body));
        MUST(ofi_ask(ofi, &errand, &message, sizeof(message.head) + sizeof(body), NULL) ==
             (i == 0 ? 0 : RH_ESTALE));
    }
}

/* As ever after all that: data comes whole, not one byte behind its end, and full is full. */
static void goes_on_as_before(void)
{
    static const size_t lengths[] = {1, 64, 4097, LENGTH};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        memset(buffer, (int)('a' + i), lengths[i]);
        MUST(rh_push(job, rh_at(1, SID_MEMORY, 0), buffer, lengths[i]) == 0);
        memset(buffer, 0, LENGTH);
        MUST(rh_pull(job, rh_at(1, SID_MEMORY, 0), buffer, lengths[i]) == 0);
        check_filled(buffer, lengths[i], (char)('a' + i));
        MUST(rh_pull(job, rh_at(1, SID_MEMORY, LENGTH + 1 - lengths[i]), buffer, lengths[i]) ==
             RH_EBOUNDS);
    }
    MUST(rh_segment_wait(job, 1, SID_FULL, WAIT_NS) == 0);
    for (int i = 0; i <= FULL_SLOTS; i++) {
        struct nic_ticket ticket = {0};
        struct rh_remote queue = rh_at(1, SID_FULL, 0);
        MUST(job->nic->ops->append_try(job->nic, queue, buffer, 64, &ticket) ==
             (i < FULL_SLOTS ? 0 : RH_EAGAIN));
    }
}

/* Write into memory that its owner is about to take back. */
static void push_until_it_is_gone(void)
{
    int result = 0;
    memset(buffer, 'C', LENGTH);
    MUST(rh_segment_wait(job, 1, SID_GOING, WAIT_NS) == 0);
    meet(2);
    while (result == 0)
        result = rh_push(job, rh_at(1, SID_GOING, 0), buffer, LENGTH);
    MUST(result == RH_ESTALE);
}

static void drive(void)
{
    uint64_t sent = 0, pid;
    buffer = malloc(LONG_BYTES);
    MUST(buffer != NULL);
    meet(1);
    MUST(rh_pull(job, rh_at(1, SID_WORDS, 8), &pid, sizeof(pid)) == 0);
    victim = (pid_t)pid;
    MUST(rh_segment_wait(job, 1, SID_MEMORY, WAIT_NS) == 0); /* and so they are looked up */
    MUST(rh_segment_wait(job, 1, SID_QUEUE, WAIT_NS) == 0);
    pull_leaves_memory_alone();
    withdrawn_leaves_memory_alone();
    push_takes_its_source();
    atomics_happen_once();
    doubts_do_not_pile_up();
    appends_happen_once(&sent);
    long_appends_leave_no_slot(&sent);
    other_generations_are_refused();
    goes_on_as_before();
    push_until_it_is_gone();
    MUST(rh_push(job, rh_at(1, SID_WORDS, 16), &sent, sizeof(sent)) == 0);
    meet(3);
    meet(4); /* slots of one who has left would be passed over */
}

/* ---- Rank 1 --------------------------------------------------------------------------------- */

/* Those of even numbers have been answered. */
static void receive_all(struct rh_queue *queue)
{
    uint64_t next = 0, sent = words[2], number;
    struct rh_arrival arrival;
    while (next < sent) {
        MUST(rh_queue_next(queue, &arrival, ARRIVE_NS) == 0);
        memcpy(&number, arrival.data, 8);
        /* in order, none twice, and only the long ones may be missing, which come every second time
         * after the first two */
        MUST(number >= next && (number == next || (number == next + 1 && next >= 2)));
        MUST(arrival.length == 64 || (arrival.length == LONG_BYTES && number % 2 == 0));
        next = number + 1;
        rh_queue_release(queue);
    }
    MUST(rh_queue_next(queue, &arrival, 0) == RH_EAGAIN);
}

static void detach_while_written(void)
{
    static char going[LENGTH];
    MUST(rh_segment_attach(job, SID_GOING, going, LENGTH) == 0);
    meet(2);
    usleep(30000);
    MUST(rh_segment_detach(job, SID_GOING) == 0);
    memset(going, 'D', LENGTH);
    usleep(200000);
    check_filled(going, LENGTH, 'D');
}

static void suffer(void)
{
    void *memory;
    struct rh_queue *queue, *full;
    struct rh_queue_shape shape = {.slot_count = 16, .slot_length = LONG_BYTES};
    words[1] = (uint64_t)getpid();
    MUST(rh_segment_alloc(job, SID_MEMORY, LENGTH, &memory) == 0);
    MUST(rh_queue_create(job, SID_QUEUE, shape, &queue) == 0);
    shape = (struct rh_queue_shape){.slot_count = FULL_SLOTS, .slot_length = 64};
    MUST(rh_queue_create(job, SID_FULL, shape, &full) == 0);
    meet(1);
    detach_while_written();
    meet(3);
    receive_all(queue);
    meet(4);
    MUST(rh_queue_destroy(queue) == 0 && rh_queue_destroy(full) == 0);
}

int main(void)
{
    if (rh_join(&job, NULL) < 0)
        return 2;
    MUST(rh_size(job) == 2);
    MUST(rh_segment_alloc(job, SID_WORDS, 64, (void **)&words) == 0);
    MUST(rh_segment_wait(job, 1 - rh_rank(job), SID_WORDS, WAIT_NS) == 0);
    if (rh_rank(job) == 0)
        drive();
    else
        suffer();
    printf("ok %d\n", rh_rank(job));
    return rh_leave(job) < 0;
}
