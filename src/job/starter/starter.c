/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which starter it is: by what it leaves in the environment.
 */
#include "job/starter/starter.h"

#include <dlfcn.h>
#include <stdlib.h>

static enum starter_choice choose(enum starter_choice choice)
{
    if (choice != STARTER_AUTO)
        return choice;
    if (getenv("PMIX_RANK") && getenv("PMIX_NAMESPACE"))
        return STARTER_PMIX;
    return getenv("PMI_FD") ? STARTER_PMI1 : STARTER_ALONE;
}

void starter_release(struct starter *starter, bool is_leaving)
{
    if (!starter->ops || (starter->is_shared && !is_leaving))
        return;
    starter->ops->finalize(starter);
    starter->ops = NULL;
}

static int begin(struct starter *starter, enum starter_choice choice)
{
    switch (choice) {
    case STARTER_PMIX:
        return starter_pmix_open(starter);
    case STARTER_PMI1:
        return starter_pmi_open(starter, 1);
    case STARTER_PMI2:
        return starter_pmi_open(starter, 2);
    default:
        return 0;
    }
}

int starter_open(struct starter *starter, enum starter_choice choice, int64_t timeout_ns,
                 bool *is_there)
{
    choice = choose(choice);
    *starter = (struct starter){.timeout_ns = timeout_ns};
    starter->is_shared = dlsym(RTLD_DEFAULT, "MPI_Init") != NULL;
    *is_there = choice != STARTER_ALONE;
    int result = begin(starter, choice);
    if (result < 0)
        starter->ops = NULL; /* it has ended itself */
    return result;
}
