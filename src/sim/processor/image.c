/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Firmware from an ELF file: its segments into the two memories, its symbols and lines for
 * messages. Nothing in the file is believed: every offset is checked against its length.
 */
#include "sim/processor/inside.h"

#include "base/descriptor.h"
#include "base/error.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST (16u << 20) /* debugging information included; what runs is 256 KB */

struct file {
    const uint8_t *bytes;
    size_t size;
    const char *name;
    Elf32_Ehdr header;
};

static int bad(const struct file *file, const char *what)
{
    return error_fail(-EINVAL, "%s is no firmware: %s", file->name, what);
}

static bool is_inside(const struct file *file, uint64_t at, uint64_t size)
{
    return at <= file->size && size <= file->size - at;
}

static struct processor_image *image_make(void)
{
    struct processor_image *image = calloc(1, sizeof(*image));
    if (!image)
        return NULL;
    image->code = calloc(1, PROCESSOR_SRAM_BYTES);
    image->data = calloc(1, PROCESSOR_SRAM_BYTES);
    if (image->code && image->data)
        return image;
    processor_image_close(image);
    return NULL;
}

void processor_image_close(struct processor_image *image)
{
    if (!image)
        return;
    free(image->code);
    free(image->data);
    free(image->symbols);
    free(image->lines);
    free(image->text);
    free(image);
}

int processor_image_words(struct processor_image **image, const uint32_t *words, size_t count)
{
    if (count > PROCESSOR_SRAM_BYTES / 4)
        return error_fail(-EINVAL, "%zu instructions do not fit into %u KB", count,
                          PROCESSOR_SRAM_BYTES / 1024);
    struct processor_image *made = image_make();
    if (!made)
        return error_fail(-ENOMEM, "no memory for firmware");
    memcpy(made->code, words, count * sizeof(words[0]));
    made->entry = PROCESSOR_CODE_BASE;
    *image = made;
    return 0;
}

static int header_check(struct file *file)
{
    Elf32_Ehdr *header = &file->header;
    if (file->size < sizeof(*header) || memcmp(file->bytes, ELFMAG, SELFMAG) != 0)
        return bad(file, "not an ELF file");
    memcpy(header, file->bytes, sizeof(*header));
    if (header->e_ident[EI_CLASS] != ELFCLASS32 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_MIPS)
        return bad(file, "not for a 32-bit MIPS with the low byte first (mipsel)");
    if (header->e_type != ET_EXEC)
        return bad(file, "not linked to fixed addresses; use firmware/firmware.ld");
    if (header->e_phentsize != sizeof(Elf32_Phdr) || header->e_phnum == 0 ||
        !is_inside(file, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf32_Phdr)))
        return bad(file, "its table of segments is damaged or empty");
    return 0;
}

static int segment_load(struct processor_image *image, const struct file *file,
                        const Elf32_Phdr *segment)
{
    uint32_t code = segment->p_vaddr - PROCESSOR_CODE_BASE;
    uint32_t data = segment->p_vaddr - PROCESSOR_DATA_BASE;
    bool is_code = code < PROCESSOR_SRAM_BYTES;
    uint32_t at = is_code ? code : data;
    if (segment->p_memsz == 0)
        return 0;
    if (!is_inside(file, segment->p_offset, segment->p_filesz) ||
        segment->p_filesz > segment->p_memsz)
        return bad(file, "a segment goes beyond the file's end");
    if (at >= PROCESSOR_SRAM_BYTES || segment->p_memsz > PROCESSOR_SRAM_BYTES - at)
        return error_fail(-EINVAL,
                          "%s is no firmware: a segment of %u bytes at 0x%08x is outside of "
                          "instructions (0x%08x) and data (0x%08x), 128 KB each",
                          file->name, segment->p_memsz, segment->p_vaddr, PROCESSOR_CODE_BASE,
                          PROCESSOR_DATA_BASE);
    uint8_t *memory = is_code ? (uint8_t *)image->code : image->data;
    memcpy(memory + at, file->bytes + segment->p_offset, segment->p_filesz);
    if (!is_code && at + segment->p_filesz > image->data_bytes)
        image->data_bytes = at + segment->p_filesz;
    return 0;
}

static int segments_load(struct processor_image *image, const struct file *file)
{
    for (uint32_t i = 0; i < file->header.e_phnum; i++) {
        Elf32_Phdr segment;
        memcpy(&segment, file->bytes + file->header.e_phoff + i * sizeof(segment), sizeof(segment));
        int result = segment.p_type == PT_LOAD ? segment_load(image, file, &segment) : 0;
        if (result < 0)
            return result;
    }
    uint32_t at = file->header.e_entry - PROCESSOR_CODE_BASE;
    if (at >= PROCESSOR_SRAM_BYTES || at % 4 != 0)
        return bad(file, "it begins where no instructions are");
    image->entry = file->header.e_entry;
    return 0;
}

/* Section i, if the file has it whole. */
static bool section_find(const struct file *file, uint32_t i, Elf32_Shdr *section)
{
    const Elf32_Ehdr *header = &file->header;
    if (header->e_shentsize != sizeof(*section) || i >= header->e_shnum ||
        !is_inside(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(*section)))
        return false;
    memcpy(section, file->bytes + header->e_shoff + i * sizeof(*section), sizeof(*section));
    return section->sh_type == SHT_NOBITS || is_inside(file, section->sh_offset, section->sh_size);
}

/* A name in a section of names; NULL: it does not end in it. */
static const char *name_at(const struct processor_image *image, const Elf32_Shdr *names,
                           uint32_t at)
{
    if (at >= names->sh_size)
        return NULL;
    const char *name = image->text + names->sh_offset + at;
    return memchr(name, 0, names->sh_size - at) ? name : NULL;
}

static int symbol_order(const void *a, const void *b)
{
    const struct processor_symbol *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int symbols_read(struct processor_image *image, const struct file *file,
                        const Elf32_Shdr *section)
{
    Elf32_Shdr names;
    uint32_t count = section->sh_size / (uint32_t)sizeof(Elf32_Sym);
    if (count == 0 || image->symbols || !section_find(file, section->sh_link, &names) ||
        names.sh_type != SHT_STRTAB)
        return 0;
    image->symbols = calloc(count, sizeof(*image->symbols));
    if (!image->symbols)
        return error_fail(-ENOMEM, "no memory for the %u symbols of %s", count, file->name);
    for (uint32_t i = 0; i < count; i++) {
        Elf32_Sym symbol;
        memcpy(&symbol, file->bytes + section->sh_offset + i * sizeof(symbol), sizeof(symbol));
        const char *name = name_at(image, &names, symbol.st_name);
        uint32_t type = ELF32_ST_TYPE(symbol.st_info);
        bool is_place = type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE;
        if (name && name[0] && is_place && symbol.st_shndx != SHN_UNDEF)
            image->symbols[image->symbol_count++] = (struct processor_symbol){symbol.st_value,
                                                                              symbol.st_size, name};
    }
    qsort(image->symbols, image->symbol_count, sizeof(*image->symbols), symbol_order);
    return 0;
}

/* What messages need. A file without it, or with damage in it, runs as well. */
static int names_read(struct processor_image *image, const struct file *file)
{
    Elf32_Shdr section, names;
    struct processor_section lines = {0}, strings = {0};
    bool has_names = section_find(file, file->header.e_shstrndx, &names);
    for (uint32_t i = 0; i < file->header.e_shnum; i++) {
        if (!section_find(file, i, &section) || section.sh_type == SHT_NOBITS)
            continue;
        const char *name = has_names ? name_at(image, &names, section.sh_name) : NULL;
        struct processor_section found = {(const uint8_t *)image->text + section.sh_offset,
                                          section.sh_size};
        if (name && strcmp(name, ".debug_line") == 0)
            lines = found;
        else if (name && strcmp(name, ".debug_line_str") == 0)
            strings = found;
        int result = section.sh_type == SHT_SYMTAB ? symbols_read(image, file, &section) : 0;
        if (result < 0)
            return result;
    }
    return lines.size ? processor_lines_read(image, lines, strings) : 0;
}

int processor_image_parse(struct processor_image **image, const void *bytes, size_t size,
                          const char *name)
{
    struct file file = {.bytes = bytes, .size = size, .name = name};
    int result = header_check(&file);
    if (result < 0)
        return result;
    struct processor_image *made = image_make();
    if (made)
        made->text = malloc(size);
    if (!made || !made->text) {
        processor_image_close(made);
        return error_fail(-ENOMEM, "no memory for %s", name);
    }
    memcpy(made->text, bytes, size);
    result = segments_load(made, &file);
    if (result == 0)
        result = names_read(made, &file);
    if (result < 0) {
        processor_image_close(made);
        return result;
    }
    *image = made;
    return 0;
}

static int file_read(int descriptor, const char *path, uint8_t **bytes, size_t *size)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0)
        return error_fail(-errno, "cannot look at %s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode) || about.st_size > FILE_MOST)
        return error_fail(-EINVAL, "%s is no firmware: not a file of at most %u MB", path,
                          FILE_MOST >> 20);
    *bytes = malloc((size_t)about.st_size + 1);
    if (!*bytes)
        return error_fail(-ENOMEM, "no memory for %s", path);
    for (*size = 0; *size < (size_t)about.st_size;) {
        ssize_t got = read(descriptor, *bytes + *size, (size_t)about.st_size - *size);
        if (got < 0 && errno != EINTR)
            return error_fail(-errno, "cannot read %s: %s", path, strerror(errno));
        if (got == 0)
            break; /* it has become shorter */
        *size += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

int processor_image_open(struct processor_image **image, const char *path)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return error_fail(-errno, "cannot open %s: %s", path, strerror(errno));
    int result = file_read(descriptor, path, &bytes, &size);
    if (result == 0)
        result = processor_image_parse(image, bytes, size, path);
    free(bytes);
    descriptor_close(&descriptor);
    return result;
}

uint32_t processor_image_symbol(const struct processor_image *image, const char *name)
{
    for (size_t i = 0; i < image->symbol_count; i++) {
        if (strcmp(image->symbols[i].name, name) == 0)
            return image->symbols[i].start;
    }
    return 0;
}

/* The function that the address is in; else the last label before it, as assembly has them. */
static const struct processor_symbol *symbol_of(const struct processor_image *image,
                                                uint32_t address)
{
    const struct processor_symbol *label = NULL;
    for (size_t i = 0; i < image->symbol_count && image->symbols[i].start <= address; i++) {
        const struct processor_symbol *symbol = &image->symbols[i];
        if (address - symbol->start < symbol->size)
            return symbol;
        if (symbol->size == 0)
            label = symbol;
    }
    return label;
}

static const struct processor_line *line_of(const struct processor_image *image, uint32_t address)
{
    const struct processor_line *found = NULL;
    for (size_t i = 0; i < image->line_count && image->lines[i].start <= address; i++)
        found = &image->lines[i];
    return found && found->line ? found : NULL;
}

void processor_image_place(const struct processor_image *image, uint32_t address, char *text,
                           size_t size)
{
    const struct processor_symbol *symbol = symbol_of(image, address);
    const struct processor_line *line = line_of(image, address);
    if (symbol && line)
        snprintf(text, size, "%s (%s:%u)", symbol->name, line->file, line->line);
    else if (symbol)
        snprintf(text, size, "%s+0x%x", symbol->name, address - symbol->start);
    else
        snprintf(text, size, "0x%08x", address);
}
