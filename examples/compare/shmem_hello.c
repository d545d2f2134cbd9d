/* SPDX-License-Identifier: BSD-3-Clause
 *
 * examples/hello.c with OpenSHMEM.
 */
#include <shmem.h>
#include <stdio.h>

static struct mailbox {
    unsigned long has_mail;
    char text[56];
} mailbox;

int main(void)
{
    shmem_init();
    int rank = shmem_my_pe(), size = shmem_n_pes(), next = (rank + 1) % size;
    char text[sizeof(mailbox.text)];
    snprintf(text, sizeof(text), "greetings from rank %d", rank);
    shmem_putmem(mailbox.text, text, sizeof(text), next);
    shmem_fence();
    shmem_ulong_atomic_set(&mailbox.has_mail, 1, next);
    shmem_ulong_wait_until(&mailbox.has_mail, SHMEM_CMP_EQ, 1);
    printf("rank %d of %d: %s\n", rank, size, mailbox.text);
    shmem_finalize();
    return 0;
}
