/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labelled output: each rank writes into pipes, and whole lines come out behind "[rank] ". What
 * comes from another host has its labels already, and only has its lines kept whole.
 *
 * Nothing here blocks, whoever reads our output: lines wait in a bounded sink, a full sink stops
 * the reading of the pipes, and so the ranks wait in their own writes, as they would without us. A
 * line that is longer than LINE_MAX_BYTES is broken into several, so that memory is bounded too.
 */
#include "base/descriptor.h"
#include "job/launch/parts.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES 65536
#define READ_BYTES     8192
#define LABEL_BYTES    16 /* "[2147483647] " and a newline */
/* What one read can turn into: every byte of it a line, and a long line that was begun before. */
#define ROOM_BYTES (READ_BYTES * (1 + LABEL_BYTES) + LINE_MAX_BYTES)
#define SINK_BYTES (4 * ROOM_BYTES)

struct sink {
    int fd;
    bool is_file;   /* then a write never waits for a reader */
    bool is_broken; /* nobody reads it any more */
    size_t start, used;
    char *data; /* SINK_BYTES */
};

struct stream {
    int fd; /* -1: finished, or not begun */
    int rank;
    int slot; /* which pollfd, -1: none */
    struct sink *sink;
    size_t used;
    char *data; /* LINE_MAX_BYTES: the line so far */
};

struct launch_output {
    int stream_count;
    bool is_ending;
    struct sink out, err;
    struct stream streams[]; /* stdout and stderr of the first process, of the second, … */
};

static int sink_open(struct sink *sink, int fd)
{
    struct stat status;
    sink->fd = fd;
    sink->is_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    sink->data = malloc(SINK_BYTES);
    return sink->data ? 0 : -ENOMEM;
}

static bool is_same_file(int fd_a, int fd_b)
{
    struct stat a, b;
    return fstat(fd_a, &a) == 0 && fstat(fd_b, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int launch_output_create(struct launch_output **output, int count)
{
    size_t stream_count = 2 * (size_t)count;
    struct launch_output *made = calloc(1, sizeof(*made) + stream_count * sizeof(struct stream));
    if (!made)
        return -ENOMEM;
    made->stream_count = (int)stream_count;
    int result = sink_open(&made->out, STDOUT_FILENO);
    if (result == 0)
        result = sink_open(&made->err, STDERR_FILENO);
    /* With 2>&1 both share one sink: two would cut into each other's lines. */
    bool is_shared = is_same_file(STDOUT_FILENO, STDERR_FILENO);
    for (int i = 0; i < made->stream_count; i++) {
        made->streams[i].fd = -1;
        made->streams[i].sink = i % 2 == 0 || is_shared ? &made->out : &made->err;
    }
    if (result == 0)
        *output = made;
    else
        launch_output_destroy(made);
    return result;
}

static void stream_close(struct stream *stream)
{
    descriptor_close(&stream->fd);
    free(stream->data);
    stream->data = NULL;
    stream->used = 0;
}

void launch_output_destroy(struct launch_output *output)
{
    if (!output)
        return;
    for (int i = 0; i < output->stream_count; i++)
        stream_close(&output->streams[i]);
    free(output->out.data);
    free(output->err.data);
    free(output);
}

static int stream_open(struct stream *stream, int *child_fd)
{
    int fds[2];
    stream->data = malloc(LINE_MAX_BYTES);
    if (!stream->data)
        return -ENOMEM;
    if (pipe2(fds, O_CLOEXEC) != 0) {
        int error = -errno;
        stream_close(stream);
        return error;
    }
    fcntl(fds[0], F_SETFL, O_NONBLOCK); /* our end only: each end has its own flags */
    stream->fd = fds[0];
    *child_fd = fds[1];
    return 0;
}

int launch_output_open(struct launch_output *output, int which, int rank, int child_fds[2])
{
    ASSERT(2 * which + 1 < output->stream_count);
    struct stream *stream = &output->streams[2 * which];
    stream[0].rank = stream[1].rank = rank;
    int result = stream_open(&stream[0], &child_fds[0]);
    if (result)
        return result;
    result = stream_open(&stream[1], &child_fds[1]);
    if (result) {
        stream_close(&stream[0]);
        close(child_fds[0]);
    }
    return result;
}

/* ---- Sinks ---------------------------------------------------------------------------------- */

static size_t sink_room(const struct sink *sink)
{
    return SINK_BYTES - sink->used;
}

static void sink_add(struct sink *sink, const char *data, size_t length)
{
    if (sink->is_broken || length > sink_room(sink))
        return;
    if (sink->start + sink->used + length > SINK_BYTES) {
        memmove(sink->data, sink->data + sink->start, sink->used);
        sink->start = 0;
    }
    ASSERT(sink->start + sink->used + length <= SINK_BYTES);
    memcpy(sink->data + sink->start + sink->used, data, length);
    sink->used += length;
}

static void sink_break(struct launch_output *output, struct sink *sink)
{
    if (errno != EPIPE && sink == &output->out)
        fprintf(stderr, "rhinet run: cannot write the output: %s\n", strerror(errno));
    sink->is_broken = true;
    sink->used = 0;
    for (int i = 0; i < output->stream_count; i++) {
        if (output->streams[i].sink == sink)
            stream_close(&output->streams[i]); /* so that the ranks learn of it as SIGPIPE */
    }
}

static bool sink_is_writable(const struct sink *sink)
{
    struct pollfd fd = {.fd = sink->fd, .events = POLLOUT};
    return sink->is_file || poll(&fd, 1, 0) == 1;
}

/* The descriptor is not ours alone, so it stays blocking; but after POLLOUT a write of PIPE_BUF
 * bytes does not block. */
static void sink_flush(struct launch_output *output, struct sink *sink)
{
    while (sink->used > 0 && sink_is_writable(sink)) {
        size_t length = sink->used;
        if (!sink->is_file && length > PIPE_BUF)
            length = PIPE_BUF;
        ssize_t written = write(sink->fd, sink->data + sink->start, length);
        if (written < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (written < 0) {
            sink_break(output, sink);
            return;
        }
        sink->start += (size_t)written;
        sink->used -= (size_t)written;
    }
    if (sink->used == 0)
        sink->start = 0;
}

void launch_output_say(struct launch_output *output, const char *line, size_t length)
{
    struct sink *sink = output->streams[1].sink;
    sink_add(sink, line, length);
    sink_flush(output, sink);
}

/* ---- Streams -------------------------------------------------------------------------------- */

static void emit_line(const struct stream *stream, const char *line, size_t length)
{
    char label[LABEL_BYTES];
    if (stream->rank >= 0) {
        int label_length = snprintf(label, sizeof(label), "[%d] ", stream->rank);
        sink_add(stream->sink, label, (size_t)label_length);
    }
    sink_add(stream->sink, line, length);
    sink_add(stream->sink, "\n", 1);
}

static void emit_lines(struct stream *stream, size_t fresh)
{
    char *line = stream->data;
    char *end = stream->data + stream->used;
    char *search = end - fresh; /* there is no newline before that */
    char *newline;
    while ((newline = memchr(search, '\n', (size_t)(end - search)))) {
        emit_line(stream, line, (size_t)(newline - line));
        line = search = newline + 1;
    }
    stream->used = (size_t)(end - line);
    if (stream->used == LINE_MAX_BYTES) {
        emit_line(stream, line, stream->used);
        stream->used = 0;
    }
    memmove(stream->data, line, stream->used);
}

static void stream_finish(struct stream *stream)
{
    if (stream->used > 0)
        emit_line(stream, stream->data, stream->used);
    stream_close(stream);
}

static void stream_read(struct stream *stream, bool is_ending)
{
    size_t length = LINE_MAX_BYTES - stream->used;
    if (length > READ_BYTES)
        length = READ_BYTES;
    ssize_t fresh = read(stream->fd, stream->data + stream->used, length);
    if (fresh > 0) {
        stream->used += (size_t)fresh;
        emit_lines(stream, (size_t)fresh);
    } else if (fresh == 0 || is_ending || (errno != EAGAIN && errno != EINTR)) {
        stream_finish(stream);
    }
}

int launch_output_poll_max(int count)
{
    return 2 * count + 2;
}

static int sink_poll(struct sink *sink, struct pollfd *fds, int count)
{
    if (sink->used == 0)
        return count;
    fds[count] = (struct pollfd){.fd = sink->fd, .events = POLLOUT};
    return count + 1;
}

int launch_output_poll(struct launch_output *output, struct pollfd *fds)
{
    int count = sink_poll(&output->out, fds, 0);
    count = sink_poll(&output->err, fds, count);
    for (int i = 0; i < output->stream_count; i++) {
        struct stream *stream = &output->streams[i];
        stream->slot = -1;
        if (stream->fd < 0 || sink_room(stream->sink) < ROOM_BYTES)
            continue;
        stream->slot = count;
        fds[count++] = (struct pollfd){.fd = stream->fd, .events = POLLIN};
    }
    return count;
}

void launch_output_serve(struct launch_output *output, const struct pollfd *fds)
{
    for (int i = 0; i < output->stream_count; i++) {
        struct stream *stream = &output->streams[i];
        if (stream->fd < 0 || stream->slot < 0 || sink_room(stream->sink) < ROOM_BYTES)
            continue;
        if (fds[stream->slot].revents || output->is_ending)
            stream_read(stream, output->is_ending);
    }
    sink_flush(output, &output->out);
    sink_flush(output, &output->err);
}

void launch_output_end(struct launch_output *output)
{
    output->is_ending = true;
}

bool launch_output_is_done(const struct launch_output *output)
{
    for (int i = 0; i < output->stream_count; i++) {
        if (output->streams[i].fd >= 0)
            return false;
    }
    return output->out.used == 0 && output->err.used == 0;
}
