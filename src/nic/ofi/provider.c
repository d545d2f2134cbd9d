/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of libfabric's providers to use: the one that the user names, else the first of our list
 * that works here. The reason is for people.
 */
#include "base/error.h"
#include "base/settings.h"
#include "nic/ofi/ofi_nic.h"

#include <stdio.h>
#include <string.h>

#define TRANSFERS 256 /* that a provider must be able to have under way */

/* In order of preference. Not in it: sockets and udp, which are slow and unmaintained, and shm,
 * since the NIC shm does that better. They can still be asked for. */
struct candidate {
    const char *name;
    const char *reason;
};

static const struct candidate candidates[] = {
    {"verbs;ofi_rxm", "RDMA adapters (InfiniBand, RoCE)"},
    {"cxi", "Slingshot adapters"},
    {"efa", "Elastic Fabric adapters"},
    {"psm3", "Intel Ethernet fabric adapters"},
    {"tcp;ofi_rxm", "no RDMA adapter was found, so TCP it is"},
    {"net", "TCP; tcp;ofi_rxm, which is preferred, did not work"},
};

static struct fi_info *hints_for(const char *provider, uint64_t order, int extra_mr_mode)
{
    struct fi_info *hints = ofi_library.dupinfo(NULL);
    if (!hints)
        return NULL;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = order;
    hints->rx_attr->msg_order = order;
    hints->tx_attr->size = TRANSFERS; /* libfabric's defaults cost 70 MiB a process */
    hints->rx_attr->size = OFI_RECEIVES;
    hints->domain_attr->threading = FI_THREAD_DOMAIN; /* one lock, ours */
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                  FI_MR_ENDPOINT | extra_mr_mode;
    hints->fabric_attr->prov_name = strdup(provider);
    return hints;
}

/* Providers that do the local registration themselves are asked to, and those that keep a message
 * behind a write to promise that. */
static int get_info(const char *provider, const char *address, struct fi_info **info)
{
    static const uint64_t orders[] = {FI_ORDER_SAS | FI_ORDER_SAW, FI_ORDER_SAS};
    int result = -FI_ENODATA;
    for (size_t i = 0; i < 4 && result < 0; i++) {
        struct fi_info *hints = hints_for(provider, orders[i % 2], i < 2 ? 0 : FI_MR_LOCAL);
        if (!hints)
            return -FI_ENOMEM;
        result = ofi_library.getinfo(OFI_API, address, NULL, address ? FI_SOURCE : 0, hints, info);
        ofi_library.freeinfo(hints);
    }
    return result;
}

static bool has_addresses(const char *provider)
{
    return strncmp(provider, "verbs", 5) == 0 || strncmp(provider, "tcp", 3) == 0 ||
           strncmp(provider, "net", 3) == 0 || strncmp(provider, "sockets", 7) == 0 ||
           strncmp(provider, "udp", 3) == 0;
}

bool ofi_provider_is_slow(const struct fi_info *info)
{
    const char *name = info->fabric_attr->prov_name;
    return has_addresses(name) && strncmp(name, "verbs", 5) != 0;
}

/* Where the job has one host, nobody outside needs to reach it. */
static const char *address_for(const char *provider, const char *address)
{
    if (!has_addresses(provider))
        return NULL;
    if (address[0])
        return address;
    return strncmp(provider, "verbs", 5) == 0 ? NULL : "127.0.0.1";
}

static int find_named(const char *wanted, const char *address, struct fi_info **info,
                      struct ofi_choice *choice)
{
    int result = get_info(wanted, address_for(wanted, address), info);
    if (result < 0) {
        snprintf(choice->reason, sizeof(choice->reason),
                 "RHINET_OFI_PROVIDER=%.60s does not work here (%s%s%.64s); `fi_info -t FI_EP_RDM` "
                 "lists what libfabric has",
                 wanted, ofi_library.strerror(-result), address[0] ? ", address " : "", address);
        return RH_EUNSUP;
    }
    snprintf(choice->reason, sizeof(choice->reason), "RHINET_OFI_PROVIDER says so");
    return 0;
}

static int find_best(const char *address, struct fi_info **info, struct ofi_choice *choice)
{
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        const char *name = candidates[i].name;
        if (get_info(name, address_for(name, address), info) == 0) {
            snprintf(choice->reason, sizeof(choice->reason), "%s", candidates[i].reason);
            return 0;
        }
    }
    snprintf(choice->reason, sizeof(choice->reason),
             "libfabric has no provider with reliable datagrams and RMA%s%s; see `fi_info -t "
             "FI_EP_RDM`, and whether the network is up",
             address[0] ? " at address " : "", address);
    return RH_EUNSUP;
}

static int find(const struct settings *settings, const char *address, struct fi_info **info,
                struct ofi_choice *choice)
{
    const char *wanted = setting_text(settings, SETTING_OFI_PROVIDER);
    choice->provider[0] = '\0';
    int result = ofi_library_load();
    if (result < 0) {
        snprintf(choice->reason, sizeof(choice->reason), "%s", rh_error_text());
        return result;
    }
    result = wanted[0] ? find_named(wanted, address, info, choice)
                       : find_best(address, info, choice);
    if (result == 0)
        snprintf(choice->provider, sizeof(choice->provider), "%s", (*info)->fabric_attr->prov_name);
    return result;
}

void ofi_choose(const struct settings *settings, struct ofi_choice *choice)
{
    struct fi_info *info = NULL;
    ofi_library_load(); /* before the handlers are kept, which that does itself */
    ofi_signals_keep();
    if (find(settings, "", &info, choice) == 0)
        ofi_library.freeinfo(info);
    ofi_signals_put_back();
}

int ofi_provider_find(const struct nic_job *job, struct fi_info **info)
{
    struct ofi_choice choice;
    const struct roster_node *node = roster_node_of(job->roster, job->rank);
    int result = find(job->settings, node->address, info, &choice);
    return result < 0 ? error_fail(result, "NIC ofi: %s", choice.reason) : 0;
}
