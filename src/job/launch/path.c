/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which file a program's name means. Looked up once for all ranks and before any is started, so
 * that a mistyped name starts nothing.
 */
#include "job/launch/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_USUAL "/usr/local/bin:/usr/bin:/bin" /* as a shell without PATH */

static int check_executable(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    return eaccess(path, X_OK) == 0 ? 0 : -errno;
}

static int copy_path(char *path, size_t path_size, const char *folder, int folder_length,
                     const char *program)
{
    const char *slash = folder_length > 0 ? "/" : "";
    int length = snprintf(path, path_size, "%.*s%s%s", folder_length, folder, slash, program);
    return length < 0 || (size_t)length >= path_size ? -ENAMETOOLONG : 0;
}

int launch_path_find(const char *program, char *path, size_t path_size)
{
    if (program[0] == '\0')
        return -ENOENT;
    if (strchr(program, '/')) {
        int result = copy_path(path, path_size, "", 0, program);
        return result ? result : check_executable(path);
    }
    const char *folders = getenv("PATH");
    if (!folders)
        folders = PATH_USUAL;
    int refused = -ENOENT; /* what to say if a file was there but none could be executed */
    for (;;) {
        int length = (int)strcspn(folders, ":");
        int result = copy_path(path, path_size, folders, length, program);
        if (result == 0)
            result = check_executable(path);
        if (result == 0)
            return 0;
        if (result == -EACCES && access(path, F_OK) == 0) /* not merely a closed folder */
            refused = result;
        if (folders[length] == '\0')
            return refused;
        folders += length + 1;
    }
}

int launch_path_refuse(const char *who, const char *program, int error)
{
    const char *reason = strerror(-error);
    if (error == -ENOENT && !strchr(program, '/'))
        reason = "no such program in PATH; write ./NAME for one in this folder";
    else if (error == -ENOENT && access(program, F_OK) == 0)
        reason = "the interpreter or loader that it names does not exist";
    else if (error == -EACCES)
        reason = "it is not executable for this user (see chmod +x)";
    else if (error == -ENOEXEC)
        reason = "it is no program for this machine, and has no #! line";
    fprintf(stderr, "%s: cannot execute \"%s\": %s\n", who, program, reason);
    return error == -ENOENT || error == -ENOTDIR ? LAUNCH_STATUS_NOT_FOUND
                                                 : LAUNCH_STATUS_NOT_EXECUTABLE;
}
