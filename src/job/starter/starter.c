/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which starter it is: by what it leaves in the environment.
 */
#include "job/starter/starter.h"

#include "base/error.h"

#include <dlfcn.h>
#include <stdlib.h>

/* The choices of RHINET_STARTER, in the order of the table. */
enum choice { CHOICE_AUTO, CHOICE_PMIX, CHOICE_PMI1, CHOICE_PMI2, CHOICE_ALONE };

static enum choice choose(const struct settings *settings)
{
    enum choice choice = (enum choice)setting_number(settings, SETTING_STARTER);
    if (choice != CHOICE_AUTO)
        return choice;
    if (getenv("PMIX_RANK") && getenv("PMIX_NAMESPACE"))
        return CHOICE_PMIX;
    return getenv("PMI_FD") ? CHOICE_PMI1 : CHOICE_ALONE;
}

void starter_release(struct starter *starter, bool is_leaving)
{
    if (!starter->ops || (starter->is_shared && !is_leaving))
        return;
    starter->ops->finalize(starter);
    starter->ops = NULL;
}

static int begin(struct starter *starter, enum choice choice)
{
    switch (choice) {
    case CHOICE_PMIX:
        return starter_pmix_open(starter);
    case CHOICE_PMI1:
        return starter_pmi_open(starter, 1);
    case CHOICE_PMI2:
        return starter_pmi_open(starter, 2);
    default:
        return 0;
    }
}

int starter_open(struct starter *starter, const struct settings *settings, bool *is_there)
{
    enum choice choice = choose(settings);
    *starter = (struct starter){.timeout_ns = (int64_t)setting_number(settings, SETTING_TIMEOUT)};
    starter->is_shared = dlsym(RTLD_DEFAULT, "MPI_Init") != NULL;
    *is_there = choice != CHOICE_ALONE;
    int result = begin(starter, choice);
    if (result < 0)
        starter->ops = NULL; /* it has ended itself */
    return result;
}
