/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank sees of virtual time: clocks that agree, sleeps that last as long as they should, and
 * a loop that waits for the clock and ends. Prints what it saw, which is the same each time. The
 * test starts it with `rhinet run --nic martini --clock virtual`. "calls": it only calls rhinet;
 * "threads": by another thread.
 */
#include <rhinet/msg.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SLACK_NS 10000 /* for the looks themselves */

static int64_t of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int failures;

static void passed(const char *what, int64_t since_ns, int64_t wanted_ns)
{
    int64_t took_ns = of(CLOCK_MONOTONIC) - since_ns;
    printf("%s: %lld ns\n", what, (long long)took_ns);
    if (took_ns < wanted_ns || took_ns > wanted_ns + SLACK_NS)
        failures++;
}

static void sleeps(void)
{
    int64_t start = of(CLOCK_MONOTONIC);
    sleep(3600);
    passed("sleep", start, 3600000000000);
    start = of(CLOCK_MONOTONIC);
    usleep(2500);
    passed("usleep", start, 2500000);
    start = of(CLOCK_MONOTONIC);
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 7}, NULL);
    passed("nanosleep", start, 1000000007);
    start = of(CLOCK_MONOTONIC);
    clock_nanosleep(CLOCK_REALTIME, 0, &(struct timespec){.tv_nsec = 123456}, NULL);
    passed("clock_nanosleep", start, 123456);
    start = of(CLOCK_MONOTONIC);
    struct timespec until = {.tv_sec = start / 1000000000 + 5};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    passed("until", start, until.tv_sec * 1000000000LL - start);
}

static void clocks(void)
{
    struct timeval day;
    gettimeofday(&day, NULL);
    int64_t real = of(CLOCK_REALTIME),
            apart = real - day.tv_sec * 1000000000LL - day.tv_usec * 1000LL;
    if (apart < 0 || apart > SLACK_NS || time(NULL) != real / 1000000000)
        failures++;
    time_t second = (time_t)(real / 1000000000);
    printf("date: %s", asctime(gmtime(&second)));
    int64_t start = of(CLOCK_MONOTONIC);
    int looks = 0;
    while (of(CLOCK_MONOTONIC) - start < 50000)
        looks++;
    printf("looks in 50 us: %d\n", looks);
}

/* Calls with nothing between them. */
static int calls(struct rh_job *job)
{
    rh_barrier_all(job);
    for (int i = 0; i < 1000; i++)
        rh_barrier_all(job);
    return rh_leave(job) < 0;
}

static void *look(void *job)
{
    printf("a thread's clock: %s\n", rh_clock_ns(job) < INT64_MAX ? "yes" : "no");
    return NULL;
}

/* Another thread than the one that has joined calls rhinet, too. */
static int threads(struct rh_job *job)
{
    pthread_t thread;
    rh_barrier_all(job);
    pthread_create(&thread, NULL, look, job);
    pthread_join(thread, NULL);
    return rh_leave(job) < 0;
}

int main(int count, char **arguments)
{
    struct rh_job *job;
    int64_t real = of(CLOCK_REALTIME);
    if (rh_join(&job, NULL) < 0)
        return 2;
    if (count > 1 && strcmp(arguments[1], "calls") == 0)
        return calls(job);
    if (count > 1 && strcmp(arguments[1], "threads") == 0)
        return threads(job);
    if (rh_rank(job) == 1)
        sleep(10); /* the others wait for it in virtual time */
    int64_t before = of(CLOCK_MONOTONIC);
    rh_barrier_all(job);
    if (rh_rank(job) == 0) {
        printf("machine's clock before: %s\n", real > 1500000000LL * 1000000000 ? "yes" : "no");
        printf("waited for rank 1: %s\n", of(CLOCK_MONOTONIC) - before > 9000000000 ? "yes" : "no");
        sleeps();
        clocks();
        printf("%d failed\n", failures);
    }
    rh_leave(job);
    return failures > 0;
}
