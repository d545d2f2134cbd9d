/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See documents.h.
 */
#include "cli/report/documents.h"

#include "base/text.h"
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the page can show; each with its version. */
static const struct {
    const char *kind;
    uint64_t version;
} kinds[] = {{"check", 1},       {"job", 1},        {"repair", 1}, {"bench", 1}, {"cache stat", 1},
             {"cache trial", 1}, {"comparison", 1}, {"doctor", 1}, {"info", 1},  {"routing", 1},
             {"simulation", 1},  {"sim speed", 1},  {"thesis", 1}, {"top", 1},   {"sweep", 1},
             {"sensitivity", 1}, {"usage", 1}};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

struct source {
    const char *path;
    char *text;
    size_t length, at;
};

/* ---- The file ------------------------------------------------------------------------------- */

static unsigned line_at(const struct source *source, size_t at)
{
    unsigned line = 1;
    for (size_t i = 0; i < at && i < source->length; i++)
        line += source->text[i] == '\n';
    return line;
}

static int read_all(struct source *source, FILE *file)
{
    size_t room = DOCUMENTS_LENGTH_MAX + 1;
    source->text = malloc(room);
    if (!source->text) {
        cli_say("%s: no memory", source->path);
        return -1;
    }
    source->length = fread(source->text, 1, room, file);
    if (ferror(file)) {
        cli_say("%s: %s", source->path, strerror(errno));
        return -1;
    }
    if (source->length <= DOCUMENTS_LENGTH_MAX)
        return 0;
    cli_say("%s: more than %u MiB, which no page can show; give less, such as every tenth line",
            source->path, DOCUMENTS_LENGTH_MAX >> 20);
    return -1;
}

static int source_open(struct source *source, const char *path)
{
    *source = (struct source){.path = path};
    cli_progress("%s", path);
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!file) {
        cli_say("%s: %s", path, strerror(errno));
        return -1;
    }
    int result = read_all(source, file);
    if (file != stdin)
        fclose(file);
    return result;
}

/* ---- A document ----------------------------------------------------------------------------- */

static bool skip_space(struct source *source)
{
    while (source->at < source->length && memchr(" \t\r\n", source->text[source->at], 4))
        source->at++;
    return source->at < source->length;
}

static int refuse(const struct source *source, const char *said)
{
    cli_say("%s:%u: %s", source->path, line_at(source, source->at), said);
    return -1;
}

static int refuse_kind(const struct source *source, const char *format, size_t length)
{
    const char *names[KIND_COUNT];
    char kind[64], said[256];
    snprintf(kind, sizeof(kind), "%.*s", (int)length, format);
    for (char *c = kind; *c; c++)
        *c = (char)(isprint((unsigned char)*c) ? *c : '?'); /* it goes to a terminal */
    for (size_t i = 0; i < KIND_COUNT; i++)
        names[i] = kinds[i].kind;
    const char *nearest = text_nearest(kind, names, KIND_COUNT);
    snprintf(said, sizeof(said), "a report cannot show \"%s\"%s%s", kind,
             nearest ? "; the nearest that it can is " : "", nearest ? nearest : "");
    return refuse(source, said);
}

static int check_format(const struct source *source, const char *format)
{
    static const char mark[] = "rhinet ";
    const char *space = strrchr(format, ' ');
    char said[256];
    uint64_t version = 0;
    if (strncmp(format, mark, strlen(mark)) != 0 || space < format + strlen(mark))
        return refuse(source, "its \"format\" is none of this program's");
    const char *kind = format + strlen(mark);
    size_t length = (size_t)(space - kind);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strlen(kinds[i].kind) != length || strncmp(kinds[i].kind, kind, length) != 0)
            continue;
        if (strspn(space + 1, "0123456789") != strlen(space + 1) ||
            !text_to_u64(space + 1, &version))
            return refuse(source, "the version in its \"format\" is no number");
        if (version == kinds[i].version)
            return 0;
        snprintf(said, sizeof(said),
                 "\"%s\" is of version %d, and this program (%s) shows version %d; make the report "
                 "with the program that wrote the file",
                 kinds[i].kind, (int)version, RHINET_VERSION, (int)kinds[i].version);
        return refuse(source, said);
    }
    return refuse_kind(source, kind, length);
}

static int check_document(const struct source *source, const json_t *document)
{
    const char *format = json_string_value(json_object_get(document, "format"));
    if (format)
        return check_format(source, format);
    if (json_is_array(json_object_get(document, "traceEvents")))
        return 0; /* a time line */
    return refuse(source, "nothing says what this is (\"format\"): it was not written by --json of "
                          "this program, or by an older one; run the command again");
}

/* One document, or a list of them. */
static int check_documents(const struct source *source, const json_t *found)
{
    size_t index;
    const json_t *document;
    if (!json_is_array(found))
        return check_document(source, found);
    json_array_foreach(found, index, document)
    {
        if (check_document(source, document) < 0)
            return -1;
    }
    return 0;
}

static json_t *next_document(struct source *source)
{
    json_error_t error;
    json_t *document = json_loadb(source->text + source->at, source->length - source->at,
                                  JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
    if (!document) {
        size_t at = source->at + (error.position > 0 ? (size_t)error.position : 0);
        cli_say("%s:%u: no JSON: %s%s", source->path, line_at(source, at), error.text,
                json_error_code(&error) == json_error_premature_end_of_input || at >= source->length
                    ? "; the file is cut off: was its command interrupted?"
                    : "");
        return NULL;
    }
    if (check_documents(source, document) < 0) {
        json_decref(document);
        return NULL;
    }
    source->at += (size_t)error.position;
    return document;
}

static json_t *read_documents(struct source *source)
{
    json_t *documents = json_array();
    for (size_t told = 0; skip_space(source);) {
        if (source->at >= told) {
            cli_progress_part((char *)(uintptr_t)source->path,
                              (double)source->at / (double)source->length);
            told = source->at + source->length / 50;
        }
        json_t *document = next_document(source);
        if (!document) {
            json_decref(documents);
            return NULL;
        }
        if (json_is_array(document))
            json_array_extend(documents, document);
        else
            json_array_append(documents, document);
        json_decref(document);
    }
    if (json_array_size(documents) > 0)
        return documents;
    cli_say("%s: empty: there is no run in it", source->path);
    json_decref(documents);
    return NULL;
}

json_t *documents_read(const char *path)
{
    struct source source;
    json_t *documents = source_open(&source, path) == 0 ? read_documents(&source) : NULL;
    free(source.text);
    if (!documents)
        return NULL;
    json_t *run = json_object();
    json_t *name = json_string(path); /* if it is text */
    json_object_set_new(run, "file", name ? name : json_string("a file"));
    json_object_set_new(run, "documents", documents);
    return run;
}
