/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See process.h. Nothing here fails: what cannot be read is unknown.
 */
#include "base/process.h"

#include "base/small_file.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* The letter that proc(5) explains, and whether the thread is the library's; 0 if it is gone. The
 * name may hold anything: it ends at the last ')'. */
static char thread_state(int folder, const char *number, bool *is_own)
{
    char path[64];
    char line[512];
    snprintf(path, sizeof(path), "%.20s/stat", number);
    if (!small_file_read(folder, path, line, sizeof(line)))
        return 0;
    const char *name = strchr(line, '(');
    const char *name_end = strrchr(line, ')');
    if (!name || !name_end || name_end[1] != ' ')
        return 0;
    *is_own = strncmp(name + 1, PROCESS_OWN_THREADS, strlen(PROCESS_OWN_THREADS)) == 0;
    return name_end[2];
}

static enum process_state state_of(char letter)
{
    switch (letter) {
    case 'R':
        return PROCESS_RUNNING;
    case 'T':
    case 't':
        return PROCESS_STOPPED;
    case 'Z':
    case 'X':
        return PROCESS_ENDED;
    default:
        return PROCESS_SLEEPING;
    }
}

static DIR *open_threads(int pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    return pid > 0 ? opendir(path) : NULL;
}

static void look_at_threads(int pid, struct process_look *look)
{
    DIR *folder = open_threads(pid);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        bool is_own = false;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        char letter = thread_state(dirfd(folder), entry->d_name, &is_own);
        if (letter == 0 || is_own)
            continue;
        look->thread_count++;
        if (look->state == PROCESS_UNKNOWN || letter == 'R')
            look->state = state_of(letter);
    }
    closedir(folder);
}

struct process_look process_look(int pid)
{
    struct process_look look = {.state = PROCESS_UNKNOWN};
    char path[64];
    if (pid <= 0)
        return look;
    look_at_threads(pid, &look);
    snprintf(path, sizeof(path), "/proc/%d/wchan", pid);
    if (look.state != PROCESS_SLEEPING ||
        !small_file_read(AT_FDCWD, path, look.where, sizeof(look.where)))
        look.where[0] = '\0';
    size_t length = 0;
    while (isalnum((unsigned char)look.where[length]) || look.where[length] == '_')
        length++;
    look.where[length] = '\0'; /* "." and what follows is the compiler's */
    if (strcmp(look.where, "0") == 0)
        look.where[0] = '\0';
    return look;
}

bool process_is_stopped(int pid)
{
    unsigned stopped = 0, others = 0;
    DIR *folder = open_threads(pid);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        bool is_own;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        char letter = thread_state(dirfd(folder), entry->d_name, &is_own);
        stopped += letter != 0 && state_of(letter) == PROCESS_STOPPED;
        others += letter == 0 || state_of(letter) != PROCESS_STOPPED;
    }
    if (folder)
        closedir(folder);
    return stopped > 0 && others == 0;
}
