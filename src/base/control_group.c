/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See control_group.h.
 */
#include "base/control_group.h"

#include "base/small_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

const struct control_group_tree control_group_tree = {
    .list = "/proc/self/cgroup",
    .root = "/sys/fs/cgroup",
};

struct walk {
    const struct control_group_tree *tree;
    const char *controller;
    control_group_visit visit;
    void *context;
};

/* The group, and all its parents. */
static void climb(const struct walk *walk, const char *path, bool is_v2)
{
    char folder[400];
    int root_length = is_v2 ? snprintf(folder, sizeof(folder), "%s", walk->tree->root)
                            : snprintf(folder, sizeof(folder), "%s/%s", walk->tree->root,
                                       walk->controller);
    snprintf(folder + root_length, sizeof(folder) - (size_t)root_length, "%s", path);
    struct control_group group = {.folder = folder, .is_v2 = is_v2};
    for (;;) {
        walk->visit(walk->context, &group);
        char *slash = strrchr(folder, '/');
        if (!slash || slash < folder + root_length)
            return;
        *slash = '\0';
    }
}

/* "cpu,cpuacct" has "cpu". */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (; list; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '\0'))
            return true;
    }
    return false;
}

void control_group_walk(const struct control_group_tree *tree, const char *controller,
                        control_group_visit visit, void *context)
{
    struct walk walk = {tree, controller, visit, context};
    char groups[4096];
    small_file_read(AT_FDCWD, tree->list, groups, sizeof(groups));
    char *rest;
    for (char *line = strtok_r(groups, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        if (controllers[1] == '\0')
            climb(&walk, path, true);
        else if (has_word(controllers + 1, controller))
            climb(&walk, path, false);
    }
}

bool control_group_text(const struct control_group *group, const char *file, char *text,
                        size_t room)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", group->folder, file);
    return small_file_read(AT_FDCWD, path, text, room);
}
