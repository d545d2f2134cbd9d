/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See small_file.h.
 */
#include "base/small_file.h"

#include <fcntl.h>
#include <unistd.h>

bool small_file_read(int folder, const char *path, char *text, size_t room)
{
    text[0] = '\0';
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, room - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}
