/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wide characters from a stream of ours: the C library gives such streams bytes only, so fgetwc and
 * its kin are made here, of bytes. (fwscanf is not: it finds nothing on them.)
 */
#include "cache/interposer/calls.h"
#include "cache/interposer/real.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <wchar.h>

static wint_t get(FILE *stream)
{
    mbstate_t state = {0};
    for (int i = 0; i < MB_LEN_MAX; i++) {
        int byte = getc_unlocked(stream);
        if (byte == EOF)
            break;
        char text = (char)byte;
        wchar_t wide;
        size_t used = mbrtowc(&wide, &text, 1, &state);
        if (used == (size_t)-1)
            break;
        if (used != (size_t)-2)
            return (wint_t)wide;
    }
    if (!feof_unlocked(stream) || !mbsinit(&state)) {
        stream->_flags |= _IO_ERR_SEEN; /* as the C library does for what is no character */
        errno = EILSEQ;
    }
    return WEOF;
}

ENTRY wint_t fgetwc(FILE *stream)
{
    real_ensure();
    if (!stream_is_ours(stream))
        return real.fgetwc(stream);
    flockfile(stream);
    wint_t wide = get(stream);
    funlockfile(stream);
    return wide;
}

wint_t getwc(FILE *stream) __attribute__((alias("fgetwc"), visibility("default")));
wint_t fgetwc_unlocked(FILE *stream) __attribute__((alias("fgetwc"), visibility("default")));
wint_t getwc_unlocked(FILE *stream) __attribute__((alias("fgetwc"), visibility("default")));

static wchar_t *get_line(wchar_t *text, int room, FILE *stream)
{
    int length = 0;
    while (length < room - 1) {
        wint_t wide = get(stream);
        if (wide == WEOF)
            break;
        text[length++] = (wchar_t)wide;
        if (wide == L'\n')
            break;
    }
    if (length == 0 || ferror_unlocked(stream))
        return NULL;
    text[length] = L'\0';
    return text;
}

ENTRY wchar_t *fgetws(wchar_t *text, int room, FILE *stream)
{
    real_ensure();
    if (room < 2 || !stream_is_ours(stream))
        return real.fgetws(text, room, stream);
    flockfile(stream);
    wchar_t *line = get_line(text, room, stream);
    funlockfile(stream);
    return line;
}

wchar_t *fgetws_unlocked(wchar_t *text, int room, FILE *stream)
    __attribute__((alias("fgetws"), visibility("default")));

ENTRY wint_t ungetwc(wint_t wide, FILE *stream)
{
    real_ensure();
    if (wide == WEOF || !stream_is_ours(stream))
        return real.ungetwc(wide, stream);
    char bytes[MB_LEN_MAX];
    mbstate_t state = {0};
    size_t length = wcrtomb(bytes, (wchar_t)wide, &state);
    if (length == (size_t)-1)
        return WEOF;
    while (length > 0) {
        if (ungetc((unsigned char)bytes[--length], stream) == EOF)
            return WEOF;
    }
    return wide;
}

ENTRY int fwide(FILE *stream, int mode)
{
    real_ensure();
    return stream_is_ours(stream) ? mode : real.fwide(stream, mode);
}
