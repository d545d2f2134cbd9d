/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fault NIC at work, in a job of one: each kind of fault really happens, where it should, at
 * the stated rate, is counted, and happens again with the same seed.
 *
 * Longer than most files: a case for each kind of fault on each kind of operation.
 */
#include <math.h>
#include <rhinet/rma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SID    1
#define QUEUE  2
#define LENGTH 4096

/* A job of one with one segment and one queue. */
struct alone {
    struct rh_job *job;
    unsigned char *base;
    struct rh_queue *queue;
};

static void ok(int result)
{
    if (result != 0)
        fail_msg("%s: %s", rh_error_name(result), rh_error_text());
}

static struct alone begin(const char *faults)
{
    struct alone alone;
    struct rh_join_options options = {.struct_size = sizeof(options), .nic = "fault(shm)"};
    struct rh_queue_shape shape = {.slot_count = 4, .slot_length = 64};
    void *base = NULL;
    setenv("RHINET_FAULT", faults, 1);
    ok(rh_join(&alone.job, &options));
    ok(rh_segment_alloc(alone.job, SID, LENGTH, &base));
    alone.base = base;
    ok(rh_queue_create(alone.job, QUEUE, shape, &alone.queue));
    return alone;
}

static void end(struct alone *alone)
{
    ok(rh_queue_destroy(alone->queue));
    ok(rh_leave(alone->job));
}

static uint64_t fault_count(struct alone *alone)
{
    uint64_t count = 0;
    ok(rh_counter(alone->job, "fault", &count));
    return count;
}

static int push_word(struct alone *alone, uint64_t offset, uint64_t value)
{
    return rh_push(alone->job, rh_at(0, SID, offset), &value, 8);
}

static uint64_t word_at(const struct alone *alone, uint64_t offset)
{
    uint64_t value;
    memcpy(&value, alone->base + offset, 8);
    return value;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Does `count` hold as the sum of that many draws at this rate? */
static void assert_rate(double count, double draws, double rate)
{
    assert_true(fabs(count - draws * rate) < 5 * sqrt(draws * rate * (1 - rate)) + 1);
}

static int receive_all(struct alone *alone)
{
    struct rh_arrival arrival;
    int count = 0;
    for (; rh_queue_next(alone->queue, &arrival, 0) == 0; count++)
        rh_queue_release(alone->queue);
    return count;
}

/* ---- Contract-keeping ------------------------------------------------------------------------ */

static void transparent(void **state)
{
    (void)state;
    struct alone alone = begin("");
    for (uint64_t i = 0; i < 1000; i++)
        ok(push_word(&alone, 8, i));
    assert_int_equal(word_at(&alone, 8), 999);
    assert_non_null(rh_remote_ptr(alone.job, rh_at(0, SID, 0), 8));
    assert_int_equal(fault_count(&alone), 0);
    end(&alone);
}

static void fails_the_nth(void **state)
{
    (void)state;
    struct alone alone = begin("fail=push@17:EIO");
    for (uint64_t i = 1; i <= 40; i++) {
        int result = push_word(&alone, 0, i);
        assert_int_equal(result, i == 17 ? -EIO : 0);
        assert_int_equal(word_at(&alone, 0), i == 17 ? 16 : i);
        if (i == 17) {
            assert_non_null(strstr(rh_error_text(), "RHINET_FAULT"));
            assert_int_equal(rh_error_rank(), 0);
        }
    }
    assert_int_equal(fault_count(&alone), 1);
    end(&alone);
}

static void fails_onward(void **state)
{
    (void)state;
    struct alone alone = begin("fail=push@5+:ENOSPC");
    for (uint64_t i = 1; i <= 10; i++)
        assert_int_equal(push_word(&alone, 0, i), i >= 5 ? RH_ENOSPACE : 0);
    assert_int_equal(fault_count(&alone), 6);
    end(&alone);
}

/* One of each operation; the bit of those that failed, in the order of `names`. */
static unsigned try_each(struct alone *alone)
{
    uint64_t value = 1, old;
    struct rh_page *page;
    struct rh_wait wait = {.word = (uint64_t *)(void *)alone->base, .when = RH_EQUAL, .from = 0};
    unsigned failed = 0;
    ok(rh_page_open(alone->job, rh_at(0, SID, 0), 8, &page));
    wait.value = word_at(alone, 0);
    failed |= rh_wait_word(alone->job, &wait) < 0 ? 64 : 0;
    failed |= rh_push(alone->job, rh_at(0, SID, 8), &value, 8) < 0 ? 1 : 0;
    failed |= rh_pull(alone->job, rh_at(0, SID, 8), &value, 8) < 0 ? 2 : 0;
    failed |= rh_store(page, 0, 1, 8) < 0 ? 4 : 0;
    failed |= rh_fetch_add(alone->job, rh_at(0, SID, 16), 1, &old) < 0 ? 8 : 0;
    failed |= rh_append(alone->job, 0, QUEUE, "x", 1) < 0 ? 16 : 0;
    failed |= rh_flush(alone->job, 0) < 0 ? 32 : 0;
    rh_page_close(page);
    return failed;
}

static void fails_only_the_chosen(void **state)
{
    (void)state;
    static const char *const names[] = {"push",   "pull",  "store", "atomic",
                                        "append", "flush", "wait"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char faults[64];
        snprintf(faults, sizeof(faults), "fail=%s@1", names[i]);
        struct alone alone = begin(faults);
        assert_int_equal(try_each(&alone), 1u << i);
        assert_int_equal(try_each(&alone), 0);
        assert_int_equal(fault_count(&alone), 1);
        end(&alone);
    }
    struct alone alone = begin("fail=any@1+");
    assert_int_equal(try_each(&alone), 127);
    assert_int_equal(fault_count(&alone), 7);
    end(&alone);
}

static void fails_at_the_rate(void **state)
{
    (void)state;
    struct alone alone = begin("seed=11,fail=any%0.01:ETIMEDOUT");
    uint64_t failed = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        int result = push_word(&alone, 0, i);
        assert_true(result == 0 || result == RH_ETIMEOUT);
        failed += result < 0;
    }
    assert_rate((double)failed, 100000, 0.01);
    assert_int_equal(fault_count(&alone), failed);
    end(&alone);
}

/* Nothing is written, and the initiator knows. */
static void drops(void **state)
{
    (void)state;
    struct alone alone = begin("drop=1");
    uint64_t value = 5, old = 77;
    struct rh_done done = {0};
    struct rh_page *page;
    assert_int_equal(push_word(&alone, 0, 5), RH_ETIMEOUT);
    assert_int_equal(rh_push_inline(alone.job, rh_at(0, SID, 0), &value, 8), RH_ETIMEOUT);
    ok(rh_push_start(alone.job, rh_at(0, SID, 0), &value, 8, &done));
    assert_int_equal(rh_wait_done(alone.job, &done, RH_TIMEOUT_DEFAULT), RH_ETIMEOUT);
    assert_int_equal(rh_pull(alone.job, rh_at(0, SID, 8), &value, 8), RH_ETIMEOUT);
    assert_int_equal(value, 5);
    assert_int_equal(rh_fetch_add(alone.job, rh_at(0, SID, 0), 1, &old), RH_ETIMEOUT);
    assert_int_equal(old, 77);
    ok(rh_page_open(alone.job, rh_at(0, SID, 0), 8, &page));
    assert_int_equal(rh_store(page, 0, 1, 8), RH_ETIMEOUT);
    rh_page_close(page);
    assert_int_equal(rh_append(alone.job, 0, QUEUE, "x", 1), RH_ETIMEOUT);
    assert_int_equal(receive_all(&alone), 0);
    for (size_t i = 0; i < LENGTH; i++)
        assert_int_equal(alone.base[i], 0);
    assert_int_equal(fault_count(&alone), 7);
    end(&alone);
}

/* A notice that belongs to a dropped push is dropped with it. */
static void drops_the_notice(void **state)
{
    (void)state;
    struct alone alone = begin("drop=push@1");
    struct rh_notice notice = {.word = rh_at(0, SID, 8), .value = 9};
    uint64_t value = 5;
    assert_int_equal(rh_push_notify(alone.job, rh_at(0, SID, 0), &value, 8, &notice), RH_ETIMEOUT);
    assert_int_equal(word_at(&alone, 0), 0);
    assert_int_equal(word_at(&alone, 8), 0);
    ok(rh_push_notify(alone.job, rh_at(0, SID, 0), &value, 8, &notice));
    assert_int_equal(word_at(&alone, 8), 9);
    end(&alone);
}

static void delays(void **state)
{
    (void)state;
    struct alone alone = begin("delay=push@3:60ms");
    for (int i = 1; i <= 4; i++) {
        int64_t start_ns = now_ns();
        ok(push_word(&alone, 0, 1));
        if (i == 3)
            assert_true(now_ns() - start_ns >= 60000000);
    }
    assert_int_equal(fault_count(&alone), 1);
    end(&alone);
    alone = begin("seed=2,delay=0.3:1us");
    for (int i = 0; i < 2000; i++)
        ok(push_word(&alone, 0, 1));
    assert_rate((double)fault_count(&alone), 2000, 0.3);
    end(&alone);
}

/* Eight inline pushes onto one word: any may be the last, until the flush. */
static void reorders(void **state)
{
    (void)state;
    struct alone alone = begin("seed=5,reorder=1");
    int overtaken = 0, late = 0;
    for (uint64_t round = 0; round < 200; round++) {
        for (uint64_t i = 1; i <= 8; i++) {
            uint64_t value = round * 100 + i;
            ok(rh_push_inline(alone.job, rh_at(0, SID, 0), &value, 8));
            ok(rh_push_inline(alone.job, rh_at(0, SID, 64 + i * 8), &value, 8));
        }
        late += word_at(&alone, 64 + 64) != round * 100 + 8;
        ok(rh_flush(alone.job, 0));
        overtaken += word_at(&alone, 0) != round * 100 + 8;
        for (uint64_t i = 1; i <= 8; i++) /* after the flush all are there */
            assert_int_equal(word_at(&alone, 64 + i * 8), round * 100 + i);
    }
    assert_true(overtaken > 100); /* the last of eight stays last about every eighth time */
    assert_true(late > 100);
    assert_int_equal(fault_count(&alone), 200 * 16);
    end(&alone);
}

static void reorders_with_done_flags(void **state)
{
    (void)state;
    struct alone alone = begin("seed=6,reorder=push%1");
    struct rh_done done[4] = {0};
    uint64_t values[4] = {1, 2, 3, 4};
    struct rh_notice notice = {.word = rh_at(0, SID, 512), .value = 1};
    for (uint64_t i = 0; i < 4; i++) {
        ok(rh_push_start(alone.job, rh_at(0, SID, i * 8), &values[i], 8, &done[i]));
        assert_int_equal(done[i].state, 0);
    }
    for (size_t i = 0; i < 4; i++)
        ok(rh_wait_done(alone.job, &done[i], RH_TIMEOUT_DEFAULT));
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(word_at(&alone, i * 8), i + 1);
    /* a blocking push is never held, and what it overtakes has arrived when it returns */
    ok(rh_push_start(alone.job, rh_at(0, SID, 64), &values[3], 8, &done[0]));
    ok(rh_push_notify(alone.job, rh_at(0, SID, 72), &values[2], 8, &notice));
    assert_int_equal(word_at(&alone, 64), 4);
    assert_int_equal(done[0].state, 1);
    end(&alone);
}

/* Errors are still known at once. */
static void reorders_nothing_forbidden(void **state)
{
    (void)state;
    struct alone alone = begin("reorder=1");
    struct rh_done done = {.state = 55};
    assert_int_equal(rh_push_inline(alone.job, rh_at(0, SID, LENGTH), "x", 1), RH_EBOUNDS);
    assert_int_equal(rh_push_start(alone.job, rh_at(0, 99, 0), "x", 1, &done), RH_ENOSEG);
    assert_int_equal(done.state, 55);
    ok(rh_flush(alone.job, RH_ANY_RANK));
    end(&alone);
}

static void kills(void **state)
{
    (void)state;
    int line[2], status = 0;
    assert_int_equal(pipe(line), 0);
    pid_t child = fork();
    if (child == 0) {
        struct alone alone = begin("kill=push@300");
        for (uint64_t i = 1; i <= 1000; i++) {
            if (write(line[1], &i, sizeof(i)) != sizeof(i) || push_word(&alone, 0, i) < 0)
                _exit(2);
        }
        _exit(3);
    }
    close(line[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    uint64_t last = 0, number;
    while (read(line[0], &number, sizeof(number)) == sizeof(number))
        last = number;
    assert_int_equal(last, 300);
    close(line[0]);
}

/* ---- Contract-breaking ----------------------------------------------------------------------- */

static void loses(void **state)
{
    (void)state;
    struct alone alone = begin("lose=1");
    uint64_t value = 5;
    struct rh_done done = {0};
    ok(push_word(&alone, 0, 5));
    ok(rh_push_start(alone.job, rh_at(0, SID, 0), &value, 8, &done));
    ok(rh_wait_done(alone.job, &done, RH_TIMEOUT_DEFAULT));
    ok(rh_append(alone.job, 0, QUEUE, "x", 1));
    assert_int_equal(receive_all(&alone), 0);
    assert_int_equal(word_at(&alone, 0), 0);
    assert_int_equal(fault_count(&alone), 3);
    end(&alone);
    alone = begin("seed=8,lose=push%0.2");
    uint64_t lost = 0;
    for (uint64_t i = 1; i <= 20000; i++) {
        ok(push_word(&alone, 0, i));
        lost += word_at(&alone, 0) != i;
    }
    assert_rate((double)lost, 20000, 0.2);
    assert_int_equal(fault_count(&alone), lost);
    end(&alone);
}

static void repeats(void **state)
{
    (void)state;
    struct alone alone = begin("repeat=1");
    uint64_t old = 77;
    ok(rh_fetch_add(alone.job, rh_at(0, SID, 0), 10, &old));
    assert_int_equal(old, 0);
    assert_int_equal(word_at(&alone, 0), 20);
    ok(rh_append(alone.job, 0, QUEUE, "again", 5));
    assert_int_equal(receive_all(&alone), 2);
    ok(push_word(&alone, 8, 3));
    assert_int_equal(word_at(&alone, 8), 3);
    assert_int_equal(fault_count(&alone), 3);
    end(&alone);
}

static int bits_different(const unsigned char *a, const unsigned char *b, size_t length)
{
    int count = 0;
    for (size_t i = 0; i < length; i++)
        count += __builtin_popcount(a[i] ^ b[i]);
    return count;
}

static void corrupts(void **state)
{
    (void)state;
    struct alone alone = begin("corrupt=1");
    unsigned char source[200], target[200], kept[200];
    struct rh_done done = {0};
    struct rh_arrival arrival;
    struct rh_page *page;
    memset(source, 0x5a, sizeof(source));
    memcpy(kept, source, sizeof(kept));
    for (int i = 0; i < 100; i++) {
        ok(rh_push(alone.job, rh_at(0, SID, 0), source, sizeof(source)));
        assert_int_equal(bits_different(alone.base, source, sizeof(source)), 1);
        assert_memory_equal(source, kept, sizeof(source));
    }
    ok(rh_push_start(alone.job, rh_at(0, SID, 256), source, 200, &done));
    ok(rh_wait_done(alone.job, &done, RH_TIMEOUT_DEFAULT));
    assert_int_equal(bits_different(alone.base + 256, source, 200), 1);
    ok(rh_pull(alone.job, rh_at(0, SID, 0), target, 200));
    assert_int_equal(bits_different(alone.base, target, 200), 1);
    ok(rh_append(alone.job, 0, QUEUE, source, 64));
    ok(rh_queue_next(alone.queue, &arrival, 0));
    assert_int_equal(bits_different(arrival.data, source, 64), 1);
    rh_queue_release(alone.queue);
    ok(rh_page_open(alone.job, rh_at(0, SID, 512), 8, &page));
    ok(rh_store(page, 0, 0, 2));
    assert_int_equal(__builtin_popcountll(word_at(&alone, 512) & 0xffff), 1);
    rh_page_close(page);
    ok(rh_push(alone.job, rh_at(0, SID, 0), source, 0)); /* nothing to corrupt: not counted */
    assert_int_equal(fault_count(&alone), 104);
    end(&alone);
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* A run of mixed operations, as the string of what each returned. */
static void record_run(const char *faults, char *record, size_t count)
{
    struct alone alone = begin(faults);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = i;
        int result = 0;
        if (i % 3 == 0)
            result = push_word(&alone, 0, i);
        else if (i % 3 == 1)
            result = rh_pull(alone.job, rh_at(0, SID, 0), &value, 8);
        else
            result = rh_fetch_add(alone.job, rh_at(0, SID, 8), 1, NULL);
        record[i] = result == 0 ? '.' : result == RH_ETIMEOUT ? 't' : 'f';
    }
    end(&alone);
}

static void repeats_itself(void **state)
{
    (void)state;
    static char first[3001], again[3001], other[3001];
    record_run("seed=21,drop=0.1,fail=pull%0.2", first, 3000);
    record_run("seed=21,drop=0.1,fail=pull%0.2", again, 3000);
    record_run("seed=22,drop=0.1,fail=pull%0.2", other, 3000);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    assert_non_null(strchr(first, 't'));
    assert_non_null(strchr(first, 'f'));
}

static void other_ranks_only(void **state)
{
    (void)state;
    struct alone alone = begin("rank=1,fail=1");
    ok(push_word(&alone, 0, 1));
    assert_int_equal(fault_count(&alone), 0);
    end(&alone);
}

static int join_code(const char *nic, const char *faults)
{
    struct rh_job *job = NULL;
    struct rh_join_options options = {.struct_size = sizeof(options), .nic = nic};
    setenv("RHINET_FAULT", faults, 1);
    int result = rh_join(&job, &options);
    if (result == 0)
        rh_leave(job);
    return result;
}

static void bad_settings(void **state)
{
    (void)state;
    assert_int_equal(join_code("fault(shm)", "seed=1,dorp=0.1"), RH_EINVALID);
    assert_non_null(strstr(rh_error_text(), "dorp=0.1"));
    assert_int_equal(join_code("fault", ""), RH_EINVALID);
    assert_non_null(strstr(rh_error_text(), "fault(shm)"));
    assert_int_equal(join_code("fault(nothing)", ""), RH_EINVALID);
    assert_int_equal(join_code("fault(fault(shm))", "delay=0.1:1us"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transparent),
        cmocka_unit_test(fails_the_nth),
        cmocka_unit_test(fails_onward),
        cmocka_unit_test(fails_only_the_chosen),
        cmocka_unit_test(fails_at_the_rate),
        cmocka_unit_test(drops),
        cmocka_unit_test(drops_the_notice),
        cmocka_unit_test(delays),
        cmocka_unit_test(reorders),
        cmocka_unit_test(reorders_with_done_flags),
        cmocka_unit_test(reorders_nothing_forbidden),
        cmocka_unit_test(kills),
        cmocka_unit_test(loses),
        cmocka_unit_test(repeats),
        cmocka_unit_test(corrupts),
        cmocka_unit_test(repeats_itself),
        cmocka_unit_test(other_ranks_only),
        cmocka_unit_test(bad_settings),
    };
    unsetenv("RHINET_MANAGER_FD");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
