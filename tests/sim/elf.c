/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See mips.h.
 */
#include "mips.h"

#include <elf.h>
#include <string.h>

/* clang-format off */
/* DWARF 4: line 42 of some.c at ELF_CODE, 43 at the next instruction, nothing from the third on. */
static const uint8_t lines[] = {
    54, 0, 0, 0, 4, 0, 32, 0, 0, 0,                  /* length, version, length of the header */
    1, 1, 1, 0xfb, 14, 13,                           /* least, …, line base, range, operations */
    0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1,              /* arguments of the standard operations */
    0, 'a', '/', 's', 'o', 'm', 'e', '.', 'c', 0, 0, 0, 0, 0, /* directories, files */
    0, 5, 2, 0, 0x10, 1, 0,                          /* address */
    3, 41, 1, 75,                                    /* 41 lines on; row; 4 bytes and 1 line, row */
    2, 4, 0, 1, 1};                                  /* 4 bytes on; the end */
/* clang-format on */

/* In the file: header and segments, names (0x400), symbols (0x500), lines (0x580), sections
 * (0x600); data (0x1000), code (0x2000). */
size_t elf_make(uint8_t *file, const uint32_t *words, size_t count)
{
    static const char names[] = "\0start\0.symtab\0.strtab\0.debug_line";
    const Elf32_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_MIPS,
        .e_version = EV_CURRENT,
        .e_entry = ELF_CODE,
        .e_phoff = sizeof(header),
        .e_shoff = 0x600,
        .e_flags = 0x1001, /* o32, not reordered */
        .e_ehsize = sizeof(header),
        .e_phentsize = sizeof(Elf32_Phdr),
        .e_phnum = 2,
        .e_shentsize = sizeof(Elf32_Shdr),
        .e_shnum = 4,
        .e_shstrndx = 2};
    uint32_t size = (uint32_t)(count * sizeof(words[0]));
    const Elf32_Phdr segments[2] = {{.p_type = PT_LOAD,
                                     .p_offset = 0x1000,
                                     .p_vaddr = PROCESSOR_DATA_BASE,
                                     .p_paddr = PROCESSOR_DATA_BASE,
                                     .p_filesz = 0x1000,
                                     .p_memsz = 0x1000,
                                     .p_flags = PF_R | PF_W,
                                     .p_align = 0x1000},
                                    {.p_type = PT_LOAD,
                                     .p_offset = 0x2000,
                                     .p_vaddr = ELF_CODE,
                                     .p_paddr = ELF_CODE,
                                     .p_filesz = size,
                                     .p_memsz = size,
                                     .p_flags = PF_R | PF_X,
                                     .p_align = 0x1000}};
    const Elf32_Sym symbols[2] = {{0},
                                  {.st_name = 1,
                                   .st_value = ELF_CODE,
                                   .st_size = size,
                                   .st_info = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC),
                                   .st_shndx = SHN_ABS}};
    const Elf32_Shdr sections[4] = {
        {0},
        {.sh_name = 7,
         .sh_type = SHT_SYMTAB,
         .sh_offset = 0x500,
         .sh_size = sizeof(symbols),
         .sh_link = 2,
         .sh_info = 1,
         .sh_entsize = sizeof(Elf32_Sym)},
        {.sh_name = 15, .sh_type = SHT_STRTAB, .sh_offset = 0x400, .sh_size = sizeof(names)},
        {.sh_name = 23, .sh_type = SHT_PROGBITS, .sh_offset = 0x580, .sh_size = sizeof(lines)}};
    memset(file, 0, 0x2000);
    memcpy(file, &header, sizeof(header));
    memcpy(file + sizeof(header), segments, sizeof(segments));
    memcpy(file + 0x400, names, sizeof(names));
    memcpy(file + 0x500, symbols, sizeof(symbols));
    memcpy(file + 0x580, lines, sizeof(lines));
    memcpy(file + 0x600, sections, sizeof(sections));
    memcpy(file + 0x2000, words, size);
    return 0x2000 + size;
}
