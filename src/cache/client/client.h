/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file cache as the processes of a node see it: attach to the node's agent, open a file beside
 * its kernel descriptor, read.
 *
 * Made to live inside other people's programs (LD_PRELOAD, FUSE): no thread, no constructor, no
 * malloc, no lock, no descriptor that stays open, no change of errno or of signals. A client is a
 * few mappings that never change after attaching: any thread may use it at any time, fork() and
 * vfork() children go on with it, and after exec the new program attaches again. A signal may
 * interrupt any call at any place and the handler may call the same functions; only
 * cache_client_attach() and cache_client_detach() are for one thread at a time.
 *
 * Never wrong, only slower: a read that the cache cannot serve (no agent, no room, an error, the
 * file changed) is done with pread(2) on the real descriptor, counted, and has the result that the
 * kernel gives. The kernel's descriptor stays the truth about permissions, offsets and locks.
 *
 * What a file's contents are is decided at open, by (file system, inode, mtime, ctime, size): close
 * to open, as on NFS. Writers that are seen on any node of the job (cache_write_begin) are noticed
 * by the next read of everybody. See docs/cache.md.
 */
#pragma once

#include "cache/cache.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

struct cache_client;

/* Attach this process to its node's agent. name: what CACHE_SOCKET_VARIABLE holds, or NULL to look
 * it up (not in programs that gained rights at exec: those stay out). Takes some thirty system
 * calls and leaves five mappings. *client is NULL or the caller's until detached.
 * Returns 0; -ENOENT: no agent is named; -ECONNREFUSED: it is gone; -EPERM: it is another user's;
 * -EPROTO: it speaks another version; -ENOMEM, -ETIMEDOUT. After any of these: do without. */
int cache_client_attach(struct cache_client **client, const char *name);

/* Unmap. No other thread may be inside a call or use the client's files afterwards. Optional: a
 * process may as well just end. */
void cache_client_detach(struct cache_client *client);

/* Whether files below this absolute path (as written; not resolved) may be cached: a quick no for
 * programs that never touch such paths. No system call. cache_file_open() decides by the file, and
 * is right also for links and relative paths. A relative path is answered with true. */
bool cache_client_covers(const struct cache_client *client, const char *path);

/* Whether fd, of this status, is a file that may be cached, whatever name it was opened by: a link
 * or another mount may lead to it. fd -1: only the status is known, and where a part of its file
 * system is cached the answer is yes. No system call, or a readlink in such a part. */
bool cache_client_has(const struct cache_client *client, int fd, const struct stat *status);

/* Whether the agent lives. Without it every read goes to the kernel. No system call. */
bool cache_client_is_alive(const struct cache_client *client);

/* ---- Files ---------------------------------------------------------------------------------- */

/* A file that is open for reading; the caller's memory. Copying the struct is fine (dup, fork). The
 * fields are the client's business. All zero: a file that is not cached. */
struct cache_file {
    struct cache_client *client; /* NULL: not cached */
    uint64_t id[2];              /* of this content of this file; see key.h */
    uint64_t size;
    uint64_t device, inode;
    int64_t mtime_ns, ctime_ns;
    uint64_t seen;         /* atomic: the file's word in the table of writers when last checked */
    uint32_t watch;        /* which word that is */
    uint32_t stat_index;   /* where its hits are counted */
    uint32_t block_length; /* how it is divided: one object if small, else blocks */
    uint32_t is_off;       /* atomic: it has changed; the kernel serves the rest */
    /* Pattern of the reads, for read-ahead; atomic, and only a guess where threads collide. */
    uint64_t last_offset, last_end;
    int64_t stride;
    uint32_t run_length;
    uint32_t window; /* blocks to be asked for ahead */
    uint64_t ahead;  /* first block not asked for yet, in a run */
};

/* Look at what fd is, which is open for reading. 0: reads may come from the cache. Otherwise a
 * negative error and *file is all zero, which is as good as any: its reads go to the kernel.
 * -EOPNOTSUPP: not a regular file, or not below a cached path; -EAGAIN: empty, changed a moment
 * ago or open for writing somewhere in the job, and therefore not cached now; -ESHUTDOWN: no agent;
 * or fstat's. Costs one fstat, one more that asks the server if somebody of the job may have
 * written the file, and a readlink where only a part of a file system is cached. */
int cache_file_open(struct cache_client *client, struct cache_file *file, int fd);

/* What fd is, beside the file that was opened. A number may be closed and used again where nobody
 * sees it, and a file may be written by those who tell nobody; this host's kernel knows both. Costs
 * one fstat, and one more that asks the server when somebody of the job has written. */
enum cache_file_state {
    CACHE_FILE_SAME,    /* it may be read from the cache */
    CACHE_FILE_CHANGED, /* the same file, to be read from the kernel: now, or from now on */
    CACHE_FILE_OTHER    /* another file, a pipe, nothing */
};
enum cache_file_state cache_file_check(struct cache_file *file, int fd);

/* As pread(2) on fd, but returns -errno instead of setting errno. Like the kernel on regular files
 * it gives all it is asked for up to the end of the file, which itself is always asked of the
 * kernel: a file that has grown is seen to grow. Begins with cache_file_check(); whatever that
 * finds, the bytes are those of fd. A hit makes no other system call. */
ssize_t cache_file_read(struct cache_file *file, int fd, void *buffer, size_t length, off_t offset);

/* The same, for a caller who has just found CACHE_FILE_SAME. */
ssize_t cache_file_read_checked(struct cache_file *file, int fd, void *buffer, size_t length,
                                off_t offset);

/* Both for several buffers, as preadv(2). */
ssize_t cache_file_readv(struct cache_file *file, int fd, const struct iovec *parts, int part_count,
                         off_t offset);
ssize_t cache_file_readv_checked(struct cache_file *file, int fd, const struct iovec *parts,
                                 int part_count, off_t offset);

/* Whether [offset, offset + length) of the file is served from this node's memory at this moment.
 * For deciding, not for relying on. No system call. */
bool cache_file_is_near(const struct cache_file *file, off_t offset, size_t length);

/* What the program says about coming reads: POSIX_FADV_WILLNEED (also readahead(2), and
 * MADV_WILLNEED) has the range fetched in the background, _SEQUENTIAL and _RANDOM set read-ahead;
 * others do nothing. Never blocks on data, never fails. Call the kernel's as well if it must be
 * known that fd is good. */
void cache_file_advise(struct cache_file *file, int fd, off_t offset, off_t length, int advice);

/* The file was mapped, and the kernel serves that: it is counted. */
void cache_file_mapped_past(const struct cache_file *file, uint64_t length);

/* Ask the server what fd is, so that this host's kernel knows. */
void cache_file_ask_server(int fd);

/* Done with it. Not calling it costs nothing but the slack in the statistics. */
void cache_file_close(struct cache_file *file);

/* ---- Writers -------------------------------------------------------------------------------- */

/* Someone is about to change a file (opened for writing, truncated, renamed), of which the status
 * is known, by fstat or by cache_writer(): from the return on no process of the job, on any node,
 * reads it from the cache, until as many ends have been told and the time has passed in which files
 * settle. So an end is told when the kernel has closed the file: who writes behind has written
 * then. If it is never told (killed, or lost track), the file stays uncached: slow, not wrong.
 * Cheap for files that are not covered.
 * 0, or a negative error: the others could not be told (-ESHUTDOWN: no agent, -ETIMEDOUT), -EXDEV:
 * not covered, nothing to do. */
int cache_write_begin(struct cache_client *client, const struct stat *status);
int cache_write_end(struct cache_client *client, const struct stat *status);

/* The end comes when this process has ended, whatever program it is by then: what it has open or
 * mapped may be written until the kernel closes it. */
int cache_write_last(struct cache_client *client, const struct stat *status);

/* Begin and end in one: whoever has the file open looks again at what it is. */
int cache_changed(struct cache_client *client, const struct stat *status);

/* As much of a status as the calls above look at. */
static inline struct stat cache_writer(uint64_t device, uint64_t inode)
{
    return (struct stat){.st_dev = device, .st_ino = inode, .st_mode = S_IFREG};
}

/* ---- Services ------------------------------------------------------------------------------- */

/* Of a service, by the name of its agent's socket. Errors as cache_client_attach(). */

/* Ask it to end, on all nodes. -EOPNOTSUPP: it is that of a program, and ends with it. */
int cache_service_stop(const char *name);

/* The descriptor of its control memory, the caller's, for reading what it has done. */
int cache_service_look(const char *name, int *control_fd);

/* ---- Counters ------------------------------------------------------------------------------- */

/* Sums at this moment. */
void cache_client_counters(const struct cache_client *client, uint64_t values[CACHE_COUNTER_COUNT]);
