/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What atomic operations do to memory, by type. Only one thread at a time does them, with the turn;
 * peers come with parcels.
 */
#include "provider/atomic_apply.h"

#include <stdint.h>
#include <string.h>

size_t atomic_size(enum fi_datatype type)
{
    static const uint8_t size[] = {
        [FI_INT8] = 1,   [FI_UINT8] = 1, [FI_INT16] = 2,  [FI_UINT16] = 2, [FI_INT32] = 4,
        [FI_UINT32] = 4, [FI_INT64] = 8, [FI_UINT64] = 8, [FI_FLOAT] = 4,  [FI_DOUBLE] = 8};
    return (unsigned)type < sizeof(size) ? size[type] : 0;
}

bool atomic_is_valid(enum fi_datatype type, enum fi_op operation, enum atomic_kind kind)
{
    bool is_real = type == FI_FLOAT || type == FI_DOUBLE;
    bool is_bitwise = operation == FI_BOR || operation == FI_BAND || operation == FI_BXOR ||
                      operation == FI_MSWAP;
    if (atomic_size(type) == 0 || (is_real && is_bitwise))
        return false;
    if (kind == ATOMIC_COMPARE)
        return operation >= FI_CSWAP && operation <= FI_MSWAP;
    if (operation == FI_ATOMIC_READ)
        return kind == ATOMIC_FETCH;
    return (unsigned)operation <= FI_ATOMIC_WRITE;
}

/* The result of one operation: t there before, o the operand, c the comparand. */
#define RESULT_COMMON(result, operation, t, o, c)                                                  \
    switch (operation) {                                                                           \
    case FI_MIN:                                                                                   \
        result = o < t ? o : t;                                                                    \
        break;                                                                                     \
    case FI_MAX:                                                                                   \
        result = o > t ? o : t;                                                                    \
        break;                                                                                     \
    case FI_LOR:                                                                                   \
        result = t || o;                                                                           \
        break;                                                                                     \
    case FI_LAND:                                                                                  \
        result = t && o;                                                                           \
        break;                                                                                     \
    case FI_LXOR:                                                                                  \
        result = !t != !o;                                                                         \
        break;                                                                                     \
    case FI_ATOMIC_WRITE:                                                                          \
        result = o;                                                                                \
        break;                                                                                     \
    case FI_CSWAP:                                                                                 \
        result = c == t ? o : t;                                                                   \
        break;                                                                                     \
    case FI_CSWAP_NE:                                                                              \
        result = c != t ? o : t;                                                                   \
        break;                                                                                     \
    case FI_CSWAP_LE:                                                                              \
        result = c <= t ? o : t;                                                                   \
        break;                                                                                     \
    case FI_CSWAP_LT:                                                                              \
        result = c < t ? o : t;                                                                    \
        break;                                                                                     \
    case FI_CSWAP_GE:                                                                              \
        result = c >= t ? o : t;                                                                   \
        break;                                                                                     \
    case FI_CSWAP_GT:                                                                              \
        result = c > t ? o : t;                                                                    \
        break;                                                                                     \
    default:                                                                                       \
        result = t;                                                                                \
    }

#define RESULT_REAL(result, operation, type, t, o, c)                                              \
    if (operation == FI_SUM)                                                                       \
        result = t + o;                                                                            \
    else if (operation == FI_PROD)                                                                 \
        result = t * o;                                                                            \
    else                                                                                           \
        RESULT_COMMON(result, operation, t, o, c)

/* Sums and products wrap: they are made of unsigned numbers. */
#define RESULT_WHOLE(result, operation, type, t, o, c)                                             \
    if (operation == FI_SUM)                                                                       \
        result = (type)((uint64_t)t + (uint64_t)o);                                                \
    else if (operation == FI_PROD)                                                                 \
        result = (type)((uint64_t)t * (uint64_t)o);                                                \
    else if (operation == FI_BOR)                                                                  \
        result = (type)(t | o);                                                                    \
    else if (operation == FI_BAND)                                                                 \
        result = (type)(t & o);                                                                    \
    else if (operation == FI_BXOR)                                                                 \
        result = (type)(t ^ o);                                                                    \
    else if (operation == FI_MSWAP)                                                                \
        result = (type)((o & c) | (t & ~c));                                                       \
    else                                                                                           \
        RESULT_COMMON(result, operation, t, o, c)

#define APPLY(name, type, RESULT)                                                                  \
    static void apply_##name(char *target, enum fi_op operation, const char *operand,              \
                             const char *comparand)                                                \
    {                                                                                              \
        type t, o = 0, c = 0, result;                                                              \
        memcpy(&t, target, sizeof(t));                                                             \
        if (operand)                                                                               \
            memcpy(&o, operand, sizeof(o));                                                        \
        if (comparand)                                                                             \
            memcpy(&c, comparand, sizeof(c));                                                      \
        RESULT(result, operation, type, t, o, c)                                                   \
        memcpy(target, &result, sizeof(result));                                                   \
    }

APPLY(i8, int8_t, RESULT_WHOLE)
APPLY(u8, uint8_t, RESULT_WHOLE)
APPLY(i16, int16_t, RESULT_WHOLE)
APPLY(u16, uint16_t, RESULT_WHOLE)
APPLY(i32, int32_t, RESULT_WHOLE)
APPLY(u32, uint32_t, RESULT_WHOLE)
APPLY(i64, int64_t, RESULT_WHOLE)
APPLY(u64, uint64_t, RESULT_WHOLE)
APPLY(float, float, RESULT_REAL)
APPLY(double, double, RESULT_REAL)

void atomic_apply(void *target, enum fi_datatype type, enum fi_op operation, size_t count,
                  const struct atomic_operands *operands)
{
    static void (*const apply[])(char *, enum fi_op, const char *, const char *) = {
        [FI_INT8] = apply_i8,      [FI_UINT8] = apply_u8,   [FI_INT16] = apply_i16,
        [FI_UINT16] = apply_u16,   [FI_INT32] = apply_i32,  [FI_UINT32] = apply_u32,
        [FI_INT64] = apply_i64,    [FI_UINT64] = apply_u64, [FI_FLOAT] = apply_float,
        [FI_DOUBLE] = apply_double};
    size_t size = atomic_size(type);
    if (operands->before)
        memcpy(operands->before, target, count * size);
    if (operation == FI_ATOMIC_READ)
        return;
    const char *operand = operands->operand, *comparand = operands->comparand;
    for (size_t i = 0; i < count; i++)
        apply[type]((char *)target + i * size, operation, operand ? operand + i * size : NULL,
                    comparand ? comparand + i * size : NULL);
}
