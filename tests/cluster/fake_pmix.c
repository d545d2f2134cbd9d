/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libpmix that plays a launcher, for one process of a job.
 *
 *   FAKE_FAILS=STEP   Init, Put, Commit, Fence, size, or the key that is got: it fails
 *   FAKE_SIZE=TEXT    the job's size; no number: it is brought as a text
 *   FAKE_KEY=TEXT     what all ranks have put ('-' is '_' here); #: it is a number
 */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pmix_status_t step(const char *name)
{
    const char *fails = getenv("FAKE_FAILS");
    return fails && strcmp(fails, name) == 0 ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

pmix_status_t PMIx_Init(pmix_proc_t *self, pmix_info_t info[], size_t count)
{
    (void)info;
    (void)count;
    memset(self, 0, sizeof(*self));
    snprintf(self->nspace, sizeof(self->nspace), "fake");
    self->rank = (pmix_rank_t)strtoul(getenv("PMIX_RANK"), NULL, 10);
    return step("Init");
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char *key, pmix_value_t *value)
{
    (void)scope;
    (void)key;
    (void)value;
    return step("Put");
}

pmix_status_t PMIx_Commit(void)
{
    return step("Commit");
}

pmix_status_t PMIx_Fence(const pmix_proc_t peers[], size_t peer_count, const pmix_info_t info[],
                         size_t count)
{
    (void)peers;
    (void)peer_count;
    (void)info;
    (void)count;
    return step("Fence");
}

static const char *find(const char *key)
{
    char name[64];
    snprintf(name, sizeof(name), "FAKE_%s", key);
    for (char *at = name; *at; at++)
        *at = *at == '-' ? '_' : *at;
    return getenv(name);
}

pmix_status_t PMIx_Get(const pmix_proc_t *peer, const char *key, const pmix_info_t info[],
                       size_t count, pmix_value_t **value)
{
    (void)info;
    (void)count;
    bool is_size = peer->rank == PMIX_RANK_WILDCARD;
    const char *text = is_size ? getenv("FAKE_SIZE") : find(key);
    pmix_status_t status = step(is_size ? "size" : key);
    if (status != PMIX_SUCCESS || !text)
        return status != PMIX_SUCCESS ? status : PMIX_ERR_NOT_FOUND;
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *value = calloc(1, sizeof(**value));
    (*value)->type = (is_size && *end == '\0') || text[0] == '#' ? PMIX_UINT32 : PMIX_STRING;
    if ((*value)->type == PMIX_UINT32)
        (*value)->data.uint32 = (uint32_t)number;
    else
        (*value)->data.string = strdup(text);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t count)
{
    (void)info;
    (void)count;
    fputs("finalized\n", stderr);
    return PMIX_SUCCESS;
}

const char *PMIx_Error_string(pmix_status_t status)
{
    static char text[32];
    snprintf(text, sizeof(text), "fake error %d", status);
    return text;
}
