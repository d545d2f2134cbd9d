/* SPDX-License-Identifier: BSD-3-Clause
 *
 * To be preloaded: sem_wait begins late, whatever signals come meanwhile. So a signal falls between
 * a program's look at what it waits for and its wait.
 */
#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <time.h>

int sem_wait(sem_t *semaphore);

__attribute__((visibility("default"))) int sem_wait(sem_t *semaphore)
{
    int (*real)(sem_t *) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "sem_wait");
    struct timespec rest = {.tv_nsec = 500000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        ;
    return real(semaphore);
}
