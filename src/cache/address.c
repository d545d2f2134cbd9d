/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See address.h. Part of other people's programs: system calls by number, no malloc.
 */
#include "cache/address.h"

#include "cache/raw.h"

#include <string.h>
#include <sys/utsname.h>

bool cache_name_expand(const char *name, char *text, size_t room)
{
    struct utsname host = {.nodename = ""};
    size_t used = 0;
    for (; *name; name++) {
        const char *part = name;
        size_t length = 1;
        if (name[0] == '%' && name[1] == 'h') {
            if (host.nodename[0] == '\0')
                (void)RAW(SYS_uname, &host);
            part = host.nodename;
            length = strnlen(part, sizeof(host.nodename));
            name++;
        }
        if (used + length >= room)
            return false;
        memcpy(text + used, part, length);
        used += length;
    }
    text[used] = '\0';
    return true;
}

bool cache_name_address(const char *name, struct sockaddr_un *address, socklen_t *length)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t begin = name[0] != '/'; /* after a 0: abstract */
    if (begin == 0) {
        if (!cache_name_expand(name, address->sun_path, sizeof(address->sun_path)))
            return false;
        *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address->sun_path) +
                              1);
        return true;
    }
    size_t used = strlen(name);
    if (used == 0 || used > sizeof(address->sun_path) - 1)
        return false;
    memcpy(address->sun_path + 1, name, used);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + used);
    return true;
}
