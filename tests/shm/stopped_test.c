/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers that are held up just before the kernel copies attached memory for them:
 * stopped_test CASE SEED, on three ranks. The copy goes by this program's own process_vm_writev(),
 * which stops the process, or waits, before it does what it is called for.
 *
 *   push     ranks 1 and 2 are stopped while they push into two segments of rank 0; one is detached
 *            meanwhile, and is not written any more; the other one is
 *   pull     the same, but they read: who goes on after the detach is told that it is gone
 *   late     rank 1 is not stopped, and does not go on either: the segment stays closing
 *   receive  rank 1 is stopped while it pushes its part of a large message; the receive that has
 *            given up leaves its buffer alone
 */
#include "base/process.h"
#include "job/job.h"
#include "member.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define LENGTH  (1u << 20)
#define WAIT_NS RH_MILLISECONDS(60000)

enum { SID_GOING = 10, SID_STAYING = 11, SID_WORDS = 12 };
enum { TAG_PID = 1, TAG_LARGE, TAG_DONE };
enum hold { HOLD_NOT, HOLD_STOP, HOLD_UNTIL_LET, HOLD_UNTIL_OTHER_STOPS };

static struct member member;
static enum hold hold;
static uint64_t *words;          /* [0]: go on; [rank]: has come to an end */
static uint64_t *words_of_first; /* those of rank 0, from the middle of a call */
static pid_t pids[3];
static char memory[2][LENGTH];

static void wait_for_stop(pid_t pid)
{
    int64_t limit_ns = moment_now_ns() + WAIT_NS;
    while (!process_is_stopped(pid)) {
        if (moment_now_ns() > limit_ns)
            MEMBER_FAIL(&member, "process %d was not stopped", (int)pid);
        usleep(1000);
    }
}

static void wait_for_word(const uint64_t *word)
{
    int64_t limit_ns = moment_now_ns() + WAIT_NS;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) {
        if (moment_now_ns() > limit_ns)
            MEMBER_FAIL(&member, "word %td was not written", word - words);
        usleep(1000);
    }
}

static void hold_up(void)
{
    enum hold now = hold;
    hold = HOLD_NOT;
    if (now == HOLD_STOP)
        kill(getpid(), SIGSTOP);
    if (now == HOLD_UNTIL_LET) {
        __atomic_store_n(&words_of_first[1], 1, __ATOMIC_RELEASE);
        wait_for_word(&words[0]);
    }
    if (now == HOLD_UNTIL_OTHER_STOPS)
        wait_for_stop(pids[1]);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_count,
                          const struct iovec *remote, unsigned long remote_count,
                          unsigned long flags)
{
    hold_up();
    return syscall(SYS_process_vm_writev, pid, local, local_count, remote, remote_count, flags);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                         const struct iovec *remote, unsigned long remote_count,
                         unsigned long flags)
{
    hold_up();
    return syscall(SYS_process_vm_readv, pid, local, local_count, remote, remote_count, flags);
}

static void let_go_on(void)
{
    for (int rank = 1; rank < 3; rank++)
        kill(pids[rank], SIGCONT);
}

static void tell(int rank, int word)
{
    uint64_t one = 1;
    MEMBER_OK(&member,
              rh_push(member.job, rh_at(rank, SID_WORDS, (uint64_t)word * 8), &one, sizeof(one)));
}

static void check_filled(const char *part, char with)
{
    for (size_t i = 0; i < LENGTH; i++)
        if (part[i] != with)
            MEMBER_FAIL(&member, "byte %zu is %d, not %d", i, part[i], with);
}

/* ---- Push and pull -------------------------------------------------------------------------- */

/* Both others are stopped before their copy, then the segment of one is detached. */
static void detach_from_stopped(void)
{
    wait_for_stop(pids[1]);
    wait_for_stop(pids[2]);
    MEMBER_OK(&member, rh_segment_detach(member.job, SID_GOING));
    memset(memory[0], 'D', LENGTH);
    let_go_on();
    wait_for_word(&words[1]);
    wait_for_word(&words[2]);
    check_filled(memory[0], 'D');
    MEMBER_OK(&member, rh_segment_detach(member.job, SID_STAYING));
}

static void attach_both(void)
{
    MEMBER_OK(&member, rh_segment_attach(member.job, SID_GOING, memory[0], LENGTH));
    MEMBER_OK(&member, rh_segment_attach(member.job, SID_STAYING, memory[1], LENGTH));
}

static void wait_for_both(void)
{
    MEMBER_OK(&member, rh_segment_wait(member.job, 0, SID_STAYING, WAIT_NS));
    memset(memory[0], 'P', LENGTH);
}

static void test_push(void)
{
    rh_sid sid = member.rank == 1 ? SID_GOING : SID_STAYING;
    if (member.rank == 0) {
        attach_both();
        detach_from_stopped();
        check_filled(memory[1], 'P');
        return;
    }
    wait_for_both();
    hold = HOLD_STOP;
    MEMBER_CODE(&member, rh_push(member.job, rh_at(0, sid, 0), memory[0], LENGTH),
                member.rank == 1 ? RH_ESTALE : 0);
    tell(0, member.rank);
}

static void test_pull(void)
{
    rh_sid sid = member.rank == 1 ? SID_GOING : SID_STAYING;
    if (member.rank == 0) {
        memset(memory[1], 'Q', LENGTH);
        attach_both();
        detach_from_stopped();
        return;
    }
    wait_for_both();
    hold = HOLD_STOP;
    MEMBER_CODE(&member, rh_pull(member.job, rh_at(0, sid, 0), memory[0], LENGTH),
                member.rank == 1 ? RH_ESTALE : 0);
    check_filled(memory[0], member.rank == 1 ? 'P' : 'Q');
    tell(0, member.rank);
}

/* ---- Late ----------------------------------------------------------------------------------- */

static void test_late(void)
{
    if (member.rank == 0) {
        MEMBER_OK(&member, rh_segment_attach(member.job, SID_GOING, memory[0], LENGTH));
        wait_for_word(&words[1]);
        wait_for_word(&words[2]); /* it has seen the segment, which nobody finds from now on */
        __atomic_store_n(&words[2], 0, __ATOMIC_RELAXED);
        MEMBER_CODE(&member, rh_segment_detach(member.job, SID_GOING), RH_ETIMEOUT);
        MEMBER_CHECK(&member, rh_error_rank() == 1 && strstr(rh_error_text(), "detach again"));
        MEMBER_CODE(&member, rh_segment_attach(member.job, SID_GOING, memory[1], LENGTH),
                    RH_EEXIST);
        tell(2, 0);
        wait_for_word(&words[2]);
        tell(1, 0);
        MEMBER_OK(&member, rh_segment_detach(member.job, SID_GOING));
        check_filled(memory[0], 'P'); /* it was as good as its word: still in reach */
        MEMBER_CODE(&member, rh_segment_detach(member.job, SID_GOING), RH_ENOSEG);
        MEMBER_OK(&member, rh_segment_attach(member.job, SID_GOING, memory[1], LENGTH));
        return;
    }
    MEMBER_OK(&member, rh_segment_wait(member.job, 0, SID_GOING, WAIT_NS));
    memset(memory[0], 'P', LENGTH);
    if (member.rank == 1) {
        struct nic_view view;
        struct nic *nic = member.job->nic;
        MEMBER_OK(&member, nic->ops->view(nic, rh_at(0, SID_WORDS, 0), 24, RH_WRITE, &view));
        words_of_first = view.pointer;
        hold = HOLD_UNTIL_LET;
        MEMBER_OK(&member, rh_push(member.job, rh_at(0, SID_GOING, 0), memory[0], LENGTH));
        return;
    }
    tell(0, 2);
    wait_for_word(&words[0]);
    MEMBER_CODE(&member, rh_push(member.job, rh_at(0, SID_GOING, 0), memory[0], 8), RH_ESTALE);
    tell(0, 2);
}

/* ---- Receive -------------------------------------------------------------------------------- */

static void test_receive(void)
{
    char done = 0;
    if (member.rank == 0) {
        hold = HOLD_UNTIL_OTHER_STOPS;
        MEMBER_CODE(&member, rh_recv(member.msg, 1, TAG_LARGE, memory[0], LENGTH, NULL),
                    RH_ETIMEOUT);
        memset(memory[0], 'D', LENGTH);
        let_go_on();
        wait_for_word(&words[1]);
        check_filled(memory[0], 'D');
        MEMBER_OK(&member, rh_recv(member.msg, 1, TAG_DONE, &done, sizeof(done), NULL));
    } else if (member.rank == 1) {
        memset(memory[0], 'P', LENGTH);
        hold = HOLD_STOP;
        int result = rh_send(member.msg, 0, TAG_LARGE, memory[0], LENGTH);
        MEMBER_CHECK(&member, hold == HOLD_NOT && (result == 0 || result == RH_ETIMEOUT));
        tell(0, 1);
        MEMBER_OK(&member, rh_send(member.msg, 0, TAG_DONE, &done, sizeof(done)));
    }
}

/* ---- All ------------------------------------------------------------------------------------ */

static void exchange_pids(void)
{
    pids[member.rank] = getpid();
    for (int rank = 0; rank < member.size; rank++)
        if (rank != member.rank)
            MEMBER_OK(&member,
                      rh_send(member.msg, rank, TAG_PID, &pids[member.rank], sizeof(pids[0])));
    for (int rank = 0; rank < member.size; rank++)
        if (rank != member.rank)
            MEMBER_OK(&member,
                      rh_recv(member.msg, rank, TAG_PID, &pids[rank], sizeof(pids[0]), NULL));
}

static int part(struct rh_job *job, const char *name, uint64_t seed)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"push", test_push}, {"pull", test_pull}, {"late", test_late}, {"receive", test_receive}};
    member.job = job;
    member_start(&member, seed);
    MEMBER_OK(&member, rh_segment_alloc(member.job, SID_WORDS, 24, (void **)&words));
    for (int rank = 0; rank < member.size; rank++)
        MEMBER_OK(&member, rh_segment_wait(member.job, rank, SID_WORDS, WAIT_NS));
    exchange_pids();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(name, cases[i].name) == 0)
            cases[i].run();
    member_end(&member);
    return 0;
}

int main(int count, char **arguments)
{
    return member_main(count, arguments, part);
}
