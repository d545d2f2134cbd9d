/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control groups that this process is in, of either version: limits of a group hold for its
 * children too, so that all up to the root have to be looked at.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Where the kernel shows them; others are for tests. */
struct control_group_tree {
    const char *list; /* "4:memory:/path" */
    const char *root;
};
extern const struct control_group_tree control_group_tree;

struct control_group {
    const char *folder;
    bool is_v2;
};

/* Calls visit for the own group of that controller and each of its parents. */
typedef void (*control_group_visit)(void *context, const struct control_group *group);
void control_group_walk(const struct control_group_tree *tree, const char *controller,
                        control_group_visit visit, void *context);

/* The text of a file there; false if there is none. */
bool control_group_text(const struct control_group *group, const char *file, char *text,
                        size_t room);
