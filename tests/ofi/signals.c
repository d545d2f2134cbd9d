/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet run --nic ofi -n 2 ofi-signals`: joining leaves every signal as the program had it, also
 * those that it had left alone, whatever libraries libfabric loads. With "crash" the last rank ends
 * by SIGSEGV, which must be what the launcher reports.
 */
#include <rhinet/job.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void own_handler(int number)
{
    (void)number;
}

int main(int argc, char **argv)
{
    struct sigaction before[NSIG], now;
    struct sigaction own = {.sa_handler = own_handler, .sa_flags = SA_RESTART};
    struct rh_job *job;
    int changed = 0;
    sigaction(SIGTERM, &own, NULL);
    sigaction(SIGUSR1, &own, NULL);
    for (int number = 1; number < NSIG; number++)
        sigaction(number, NULL, &before[number]);
    if (rh_join(&job, NULL) < 0)
        return 2;
    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &now) == 0 && now.sa_handler != before[number].sa_handler) {
            printf("FAIL signal %d has another handler after rh_join()\n", number);
            changed++;
        }
    }
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "crash") == 0 && rh_rank(job) == rh_size(job) - 1)
        raise(SIGSEGV);
    if (changed == 0)
        printf("ok %d\n", rh_rank(job));
    return rh_leave(job) < 0 || changed > 0;
}
