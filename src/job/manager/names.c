/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names that members have given themselves, so that others of this host find them. A name is one
 * member's, until that drops it or is gone.
 */
#include "base/array.h"
#include "job/manager/state.h"

#include <rhinet/error.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 4096 /* of one member */

static bool name_is(const struct member_name *name, const struct request *request)
{
    return name->length == request->length &&
           memcmp(name->text, request->card, request->length) == 0;
}

static struct member_name *find_of(const struct member *member, const struct request *request)
{
    for (size_t i = 0; i < member->name_count; i++) {
        if (name_is(&member->names[i], request))
            return &member->names[i];
    }
    return NULL;
}

static struct member_name *find(const struct manager *manager, const struct request *request,
                                int *rank)
{
    struct member_name *found = NULL;
    int used = roster_used(manager->memory.roster);
    for (*rank = 0; *rank < used; ++*rank) {
        found = find_of(&manager->members[*rank], request);
        if (found)
            break;
    }
    return found;
}

static bool is_valid(const struct request *request, struct answer *answer)
{
    if (request->length > 0 && request->length <= PROTOCOL_NAME_MAX)
        return true;
    manager_refuse(answer, RH_EINVALID, "a name of %llu bytes; 1 to %d are allowed",
                   (unsigned long long)request->length, PROTOCOL_NAME_MAX);
    return false;
}

void manager_name_put(struct manager *manager, int rank, const struct request *request,
                      struct answer *answer)
{
    struct member *member = &manager->members[rank];
    int owner;
    if (!is_valid(request, answer))
        return;
    struct member_name *name = find(manager, request, &owner);
    if (name && owner != rank) {
        manager_refuse(answer, RH_EREFUSED, "rank %d is called \"%.*s\" already", owner,
                       (int)request->length, (const char *)request->card);
        return;
    }
    if (!name && (member->name_count >= NAMES_MAX ||
                  !array_grow(&member->names, &member->name_room, member->name_count + 1))) {
        manager_refuse(answer, RH_ENOSPACE,
                       "the task manager has no room for more than %zu names of a rank",
                       member->name_count);
        return;
    }
    if (!name)
        name = &member->names[member->name_count++];
    name->number = request->sid;
    name->length = (uint8_t)request->length;
    memcpy(name->text, request->card, request->length);
}

void manager_name_drop(struct manager *manager, int rank, const struct request *request,
                       struct answer *answer)
{
    struct member *member = &manager->members[rank];
    struct member_name *name = is_valid(request, answer) ? find_of(member, request) : NULL;
    if (name)
        *name = member->names[--member->name_count];
}

void manager_name_get(struct manager *manager, int caller, const struct request *request,
                      struct answer *answer)
{
    int owner;
    if (!is_valid(request, answer))
        return;
    struct member_name *name = find(manager, request, &owner);
    if (!name) {
        manager_refuse(answer, RH_EAGAIN, "nobody on this host is called \"%.*s\" just now",
                       (int)request->length, (const char *)request->card);
        return;
    }
    manager_met(manager, caller, owner);
    answer->reply.rank = owner;
    answer->reply.size = (int32_t)name->number;
}

void manager_names_drop(struct member *member)
{
    free(member->names);
    member->names = NULL;
    member->name_count = member->name_room = 0;
}
