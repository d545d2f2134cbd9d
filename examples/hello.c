/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The smallest job: every rank writes a greeting into the memory of the next rank.
 *
 *     rhinet run -n 3 hello
 */
#include "check.h"

#include <rhinet/rma.h>

#define MAILBOX 1 /* SID: the number under which each rank opens its memory to the others */

struct mailbox {
    uint64_t has_mail; /* the notice: written after the text */
    char text[56];
};

int main(void)
{
    struct rh_job *job;
    check(rh_join(&job, NULL));
    int rank = rh_rank(job), size = rh_size(job);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;

    void *memory; /* zeroed */
    check(rh_segment_alloc(job, MAILBOX, sizeof(struct mailbox), &memory));
    struct mailbox *mailbox = memory;

    /* Write the text, then the word, into the next rank's mailbox; it need not do anything. */
    char text[sizeof(mailbox->text)];
    snprintf(text, sizeof(text), "greetings from rank %d", rank);
    struct rh_notice notice = {rh_at(next, MAILBOX, offsetof(struct mailbox, has_mail)), 1};
    check(rh_segment_wait_all(job, MAILBOX, RH_TIMEOUT_DEFAULT));
    check(rh_push_notify(job, rh_at(next, MAILBOX, offsetof(struct mailbox, text)), text,
                         sizeof(text), &notice));

    /* Whoever sees the word sees the text. If the writer dies, this ends with an error. */
    check(rh_wait_for(job, &mailbox->has_mail, 1, before, "the greeting"));
    printf("rank %d of %d: %s\n", rank, size, mailbox->text);
    return rh_leave(job) < 0;
}
