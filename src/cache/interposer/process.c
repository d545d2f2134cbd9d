/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes: how the library begins and ends, and what becomes of the table in forks and execs.
 *
 * fork copies memory and descriptors alike, so the child's table is right; exec begins anew.
 * posix_spawn, system and popen work in the kernel's tables only and are left alone. What shares
 * memory without sharing descriptors, or the other way round, cannot have one table: a vfork child
 * is kept from it, and after a clone of that kind nothing is cached any more.
 */
#include "cache/interposer/calls.h"
#include "cache/interposer/next.h"
#include "cache/interposer/real.h"
#include "cache/interposer/rings.h"
#include "cache/interposer/scope.h"
#include "cache/interposer/standin.h"
#include "cache/interposer/table.h"
#include "cache/interposer/writers.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Beginning and end ----------------------------------------------------------------------- */

__attribute__((constructor(101))) static void begin(void)
{
    real_ensure();
    scope_begin();
    if (!atomic_load(&scope_is_on))
        return;
    pthread_atfork(process_fork_begins, writers_fork_ends, process_forked);
    open_inherited();
}

__attribute__((destructor)) static void end(void)
{
    writers_end();
}

ENTRY void _exit(int status)
{
    writers_end();
    real_ensure();
    real.exit_now(status);
}

void _Exit(int status) __attribute__((alias("_exit"), visibility("default")));

/* Parent and child share an offset that only the kernel can keep for both. */
void process_fork_begins(void)
{
    if (rings_are_here()) /* the child does not look again */
        standin_end();
    standin_realise_all(false);
    writers_fork_begins();
}

void process_forked(void)
{
    writers_forked();
    rings_forked();
    standin_forked();
}

/* ---- Children -------------------------------------------------------------------------------- */

ENTRY pid_t _Fork(void)
{
    real_ensure();
    process_fork_begins();
    pid_t pid = real.fork_only();
    if (pid == 0)
        process_forked();
    else
        writers_fork_ends();
    return pid;
}

/* The child returns through this frame first and ruins it, so the return address is kept in a
 * register, and nothing else is. The flag is the thread's: the parent waits until the child has
 * gone. */
#ifdef __x86_64__
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        "    endbr64\n"
        "    subq $8, %rsp\n"
        "    call vfork_begins\n"
        "    addq $8, %rsp\n"
        "    popq %rdi\n"
        "    movl $58, %eax\n"
        "    syscall\n"
        "    pushq %rdi\n"
        "    movq table_is_vfork_child@gottpoff(%rip), %rcx\n"
        "    xorl %edx, %edx\n"
        "    testl %eax, %eax\n"
        "    sete %dl\n"
        "    movl %edx, %fs:(%rcx)\n"
        "    cmpl $-4095, %eax\n"
        "    jae 1f\n"
        "    ret\n"
        "1:  movl %eax, %edi\n"
        "    jmp vfork_failed\n"
        ".size vfork, .-vfork\n");

void vfork_begins(void);
pid_t vfork_failed(int result);

/* The child may pass on any of them. */
__attribute__((used)) void vfork_begins(void)
{
    standin_realise_all(false);
}

__attribute__((used)) pid_t vfork_failed(int result)
{
    errno = -result;
    return -1;
}
#else
ENTRY pid_t vfork(void)
{
    return fork();
}
#endif

static bool splits_table(int flags)
{
    return !(flags & CLONE_VM) != !(flags & CLONE_FILES);
}

ENTRY int clone(int (*run)(void *), void *stack, int flags, void *argument, ...)
{
    void *more[3];
    va_list list;
    va_start(list, argument);
    for (int i = 0; i < 3; i++)
        more[i] = va_arg(list, void *);
    va_end(list);
    if (splits_table(flags))
        table_abandon();
    else if (!(flags & CLONE_FILES))
        standin_realise_all(false);
    real_ensure();
    return real.clone(run, stack, flags, argument, more[0], more[1], more[2]);
}

ENTRY int unshare(int flags)
{
    if (flags & CLONE_FILES)
        table_abandon();
    if (flags & (CLONE_NEWNS | CLONE_NEWUSER))
        scope_declares_no_more();
    return real.unshare(flags);
}

ENTRY int daemon(int keep_folder, int keep_output)
{
    real_ensure();
    int result = real.daemon(keep_folder, keep_output);
    for (int fd = STDIN_FILENO; !keep_output && fd <= STDERR_FILENO; fd++)
        table_forget(fd);
    scope_moved();
    return result;
}

/* ---- Other programs -------------------------------------------------------------------------- */

/* The new program finds the descriptors it inherits by itself (open_inherited). */
ENTRY int execve(const char *path, char *const *arguments, char *const *environment)
{
    standin_realise_for(path);
    standin_realise_all(true);
    writers_end();
    int result = real.execve(path, arguments, environment);
    writers_resume();
    return result;
}

ENTRY int execv(const char *path, char *const *arguments)
{
    return execve(path, arguments, environ);
}

ENTRY int execvpe(const char *file, char *const *arguments, char *const *environment)
{
    standin_realise_all(true);
    writers_end();
    real_ensure();
    int result = real.execvpe(file, arguments, environment);
    writers_resume();
    return result;
}

ENTRY int execvp(const char *file, char *const *arguments)
{
    return execvpe(file, arguments, environ);
}

ENTRY int fexecve(int fd, char *const *arguments, char *const *environment)
{
    standin_realise_at(fd);
    standin_realise_all(true);
    writers_end();
    real_ensure();
    int result = real.fexecve(fd, arguments, environment);
    writers_resume();
    return result;
}

ENTRY int execveat(int folder, const char *path, char *const *arguments, char *const *environment,
                   int flags)
{
    standin_realise_at(folder);
    standin_realise_for(path);
    standin_realise_all(true);
    writers_end();
    int result = NEXT(execveat)(folder, path, arguments, environment, flags);
    writers_resume();
    return result;
}

/* With the words one by one, up to a NULL. No memory is asked for: children of threads call
 * them. */
#define WORDS_MAX 1024

static bool gather_words(char **words, const char *first, va_list *list)
{
    words[0] = (char *)first;
    for (int i = 0; words[i];) {
        if (++i == WORDS_MAX) {
            errno = E2BIG;
            return false;
        }
        words[i] = va_arg(*list, char *);
    }
    return true;
}

ENTRY int execl(const char *path, const char *first, ...)
{
    char *words[WORDS_MAX];
    va_list list;
    va_start(list, first);
    bool fits = gather_words(words, first, &list);
    va_end(list);
    return fits ? execve(path, words, environ) : -1;
}

ENTRY int execlp(const char *file, const char *first, ...)
{
    char *words[WORDS_MAX];
    va_list list;
    va_start(list, first);
    bool fits = gather_words(words, first, &list);
    va_end(list);
    return fits ? execvpe(file, words, environ) : -1;
}

ENTRY int execle(const char *path, const char *first, ...)
{
    char *words[WORDS_MAX];
    va_list list;
    va_start(list, first);
    bool fits = gather_words(words, first, &list);
    char *const *environment = fits ? va_arg(list, char *const *) : NULL;
    va_end(list);
    return fits ? execve(path, words, environment) : -1;
}

/* ---- Folders --------------------------------------------------------------------------------- */

ENTRY int chdir(const char *path)
{
    int result = real.chdir(path);
    scope_moved();
    return result;
}

ENTRY int fchdir(int fd)
{
    int result = real.fchdir(fd);
    scope_moved();
    return result;
}
