/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See threads.h.
 */
#include "threads.h"

#include "job/manager/manager.h"

#include <poll.h>
#include <pthread.h>
#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct rank_thread {
    pthread_t thread;
    const struct threads_options *options;
    int manager_fd;
    int result;
};

struct server {
    pthread_t thread;
    struct manager *manager;
    int stop_fd;
};

static void *server_main(void *argument)
{
    struct server *server = argument;
    struct pollfd polled[2] = {
        {.fd = manager_poll_fd(server->manager), .events = POLLIN},
        {.fd = server->stop_fd, .events = POLLIN},
    };
    while (!(polled[1].revents & POLLIN)) {
        if (poll(polled, 2, -1) > 0 && (polled[0].revents & POLLIN))
            manager_serve(server->manager);
    }
    return NULL;
}

static void *rank_main(void *argument)
{
    struct rank_thread *self = argument;
    struct rh_job *job = NULL;
    struct rh_join_options options = {
        .struct_size = sizeof(options), .nic = self->options->nic, .manager_fd = self->manager_fd};
    self->result = rh_join(&job, &options);
    if (self->result < 0) {
        fprintf(stderr, "threads: join: %s\n", rh_error_text());
        return NULL;
    }
    self->result = self->options->rank_main(job, self->options->context);
    if (self->options->leaves_itself)
        return NULL;
    int left = rh_leave(job);
    if (self->result == 0)
        self->result = left;
    return NULL;
}

static int run_ranks(struct server *server, struct rank_thread *ranks, int size)
{
    int result = 0;
    for (int rank = 0; rank < size; rank++) {
        ranks[rank].manager_fd = manager_member_fd(server->manager, rank);
        manager_member_started(server->manager, rank, getpid()); /* the socket is now the rank's */
    }
    if (pthread_create(&server->thread, NULL, server_main, server) != 0)
        return RH_ENOSPACE;
    int started = 0;
    while (started < size &&
           pthread_create(&ranks[started].thread, NULL, rank_main, &ranks[started]) == 0)
        started++;
    if (started < size)
        result = RH_ENOSPACE;
    for (int rank = 0; rank < started; rank++) {
        pthread_join(ranks[rank].thread, NULL);
        if (result == 0)
            result = ranks[rank].result;
    }
    uint64_t one = 1;
    if (write(server->stop_fd, &one, sizeof(one)) != sizeof(one))
        abort(); /* an eventfd of ours takes a 1 */
    pthread_join(server->thread, NULL);
    return result;
}

int threads_run(const struct threads_options *options)
{
    struct server server = {.stop_fd = eventfd(0, EFD_CLOEXEC)};
    struct manager_options manager_options = {
        .size = options->size, .nic = options->nic, .command = "threads", .survive = true};
    struct rank_thread *ranks = calloc((size_t)options->size, sizeof(*ranks));
    int result = RH_ENOSPACE;
    if (server.stop_fd < 0 || !ranks)
        goto free_ranks;
    for (int rank = 0; rank < options->size; rank++)
        ranks[rank].options = options;
    result = manager_create(&server.manager, &manager_options);
    if (result < 0)
        goto free_ranks;
    result = run_ranks(&server, ranks, options->size);
    manager_destroy(server.manager);
free_ranks:
    free(ranks);
    if (server.stop_fd >= 0)
        close(server.stop_fd);
    return result;
}
