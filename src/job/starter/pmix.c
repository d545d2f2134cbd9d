/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMIx, as Open MPI's mpirun, PRRTE's prun and Slurm's srun --mpi=pmix offer it. The library is
 * loaded only when one of them has started us, so that other programs neither need nor pay for it.
 */
#include "base/clock.h"
#include "base/error.h"
#include "job/starter/starter.h"

#ifdef HAVE_PMIX
#include <dlfcn.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pmix {
    void *library;
    pmix_proc_t self;
    pmix_status_t (*init)(pmix_proc_t *, pmix_info_t *, size_t);
    pmix_status_t (*put)(pmix_scope_t, const char *, pmix_value_t *);
    pmix_status_t (*commit)(void);
    pmix_status_t (*fence)(const pmix_proc_t *, size_t, const pmix_info_t *, size_t);
    pmix_status_t (*get)(const pmix_proc_t *, const char *, const pmix_info_t *, size_t,
                         pmix_value_t **);
    pmix_status_t (*finalize)(const pmix_info_t *, size_t);
    const char *(*error_string)(pmix_status_t);
};

static int failed(const struct pmix *pmix, const char *what, pmix_status_t status)
{
    return error_fail(
        RH_EREFUSED,
        "the launcher does not answer: PMIx_%s: %s; RHINET_STARTER=alone runs without it", what,
        pmix->error_string(status));
}

static void set_info(pmix_info_t *info, const char *key)
{
    memset(info, 0, sizeof(*info));
    snprintf(info->key, sizeof(info->key), "%s", key);
}

static int pmix_put(struct starter *starter, const char *key, const char *value)
{
    struct pmix *pmix = starter->context;
    pmix_value_t boxed;
    memset(&boxed, 0, sizeof(boxed));
    boxed.type = PMIX_STRING;
    boxed.data.string = (char *)value; /* is copied */
    pmix_status_t status = pmix->put(PMIX_GLOBAL, key, &boxed);
    return status == PMIX_SUCCESS ? 0 : failed(pmix, "Put", status);
}

static int pmix_fence(struct starter *starter)
{
    struct pmix *pmix = starter->context;
    pmix_info_t info[2];
    pmix_status_t status = pmix->commit();
    if (status != PMIX_SUCCESS)
        return failed(pmix, "Commit", status);
    set_info(&info[0], PMIX_COLLECT_DATA);
    info[0].value.type = PMIX_BOOL;
    info[0].value.data.flag = true;
    set_info(&info[1], PMIX_TIMEOUT);
    info[1].value.type = PMIX_INT;
    info[1].value.data.integer = (int)(starter->timeout_ns / NS_PER_S) + 1;
    status = pmix->fence(NULL, 0, info, 2);
    return status == PMIX_SUCCESS ? 0 : failed(pmix, "Fence", status);
}

static void value_free(pmix_value_t *value)
{
    if (value->type == PMIX_STRING)
        free(value->data.string);
    free(value);
}

static int pmix_get(struct starter *starter, int rank, const char *key,
                    char value[STARTER_VALUE_MAX])
{
    struct pmix *pmix = starter->context;
    pmix_proc_t peer = pmix->self;
    pmix_value_t *boxed = NULL;
    peer.rank = (pmix_rank_t)rank;
    pmix_status_t status = pmix->get(&peer, key, NULL, 0, &boxed);
    if (status != PMIX_SUCCESS)
        return failed(pmix, "Get", status);
    bool is_text = boxed->type == PMIX_STRING && strlen(boxed->data.string) < STARTER_VALUE_MAX;
    if (is_text)
        memcpy(value, boxed->data.string, strlen(boxed->data.string) + 1);
    value_free(boxed);
    return is_text ? 0 : error_set(RH_ECORRUPT, rank, "PMIx brings a strange %s", key);
}

static void pmix_finalize(struct starter *starter)
{
    struct pmix *pmix = starter->context;
    pmix->finalize(NULL, 0); /* counts: MPI's own is another one */
    free(pmix);              /* the library stays: it may have left threads and handlers */
}

static const struct starter_ops ops = {.name = "PMIx",
                                       .put = pmix_put,
                                       .fence = pmix_fence,
                                       .get = pmix_get,
                                       .finalize = pmix_finalize};

static bool load(struct pmix *pmix)
{
    pmix->library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!pmix->library)
        return false;
    const struct {
        void *function;
        const char *name;
    } wanted[] = {{&pmix->init, "PMIx_Init"},
                  {&pmix->put, "PMIx_Put"},
                  {&pmix->commit, "PMIx_Commit"},
                  {&pmix->fence, "PMIx_Fence"},
                  {&pmix->get, "PMIx_Get"},
                  {&pmix->finalize, "PMIx_Finalize"},
                  {&pmix->error_string, "PMIx_Error_string"}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *symbol = dlsym(pmix->library, wanted[i].name);
        if (!symbol)
            return false;
        memcpy(wanted[i].function, &symbol, sizeof(symbol));
    }
    return true;
}

static int ask_size(struct pmix *pmix, int rank, int *size)
{
    pmix_proc_t all = pmix->self;
    pmix_value_t *boxed = NULL;
    all.rank = PMIX_RANK_WILDCARD;
    pmix_status_t status = pmix->get(&all, PMIX_JOB_SIZE, NULL, 0, &boxed);
    if (status != PMIX_SUCCESS)
        return failed(pmix, "Get of the job's size", status);
    *size = boxed->type == PMIX_UINT32 ? (int)boxed->data.uint32 : 0;
    value_free(boxed);
    if (*size < 1)
        return error_fail(RH_ECORRUPT, "PMIx brings a strange job size");
    return rank >= 0 && rank < *size
               ? 0
               : error_fail(RH_ECORRUPT, "PMIx says rank %d of %d", rank, *size);
}

int starter_pmix_open(struct starter *starter)
{
    struct pmix *pmix = calloc(1, sizeof(*pmix));
    if (!pmix)
        return error_no_memory("PMIx");
    if (!load(pmix)) {
        const char *why = dlerror();
        free(pmix);
        return error_fail(RH_EUNSUP,
                          "started by a PMIx launcher, but libpmix.so.2 cannot be loaded: %s",
                          why ? why : "a function is missing");
    }
    pmix_status_t status = pmix->init(&pmix->self, NULL, 0);
    int result = status == PMIX_SUCCESS ? 0 : failed(pmix, "Init", status);
    if (result < 0) {
        free(pmix);
        return result;
    }
    starter->ops = &ops;
    starter->context = pmix;
    starter->rank = (int)pmix->self.rank;
    result = ask_size(pmix, starter->rank, &starter->size);
    if (result < 0)
        pmix_finalize(starter);
    return result;
}

#else

int starter_pmix_open(struct starter *starter)
{
    return error_fail(
        RH_EUNSUP, "started by a PMIx launcher, but this rhinet was built without libpmix; install "
                   "libpmix-dev and build it again, or use `rhinet run`");
}

#endif
