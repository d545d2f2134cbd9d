/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions: one loop per type and operator. Whole numbers wrap around.
 */
#include "msg/set/set.h"

#define ADD(a, b)      ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define LESSER(a, b)   ((b) < (a) ? (b) : (a))
#define GREATER(a, b)  ((b) > (a) ? (b) : (a))
#define BOTH(a, b)     ((a) & (b))
#define EITHER(a, b)   ((a) | (b))
#define ONE_OF(a, b)   ((a) ^ (b))

/* `wide` is the type to compute in: unsigned and wide enough, so that nothing overflows undefined.
 * */
#define LOOP(name, type, wide, operation)                                                          \
    static void name(void *sum, const void *more, size_t count)                                    \
    {                                                                                              \
        type *restrict to = sum;                                                                   \
        const type *restrict from = more;                                                          \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = (type)operation((wide)to[i], (wide)from[i]);                                   \
    }

#define ARITHMETIC(name, type, wide)                                                               \
    LOOP(name##_sum, type, wide, ADD)                                                              \
    LOOP(name##_product, type, wide, MULTIPLY)                                                     \
    LOOP(name##_min, type, type, LESSER)                                                           \
    LOOP(name##_max, type, type, GREATER)

#define BITS(name, type)                                                                           \
    LOOP(name##_and, type, type, BOTH)                                                             \
    LOOP(name##_or, type, type, EITHER)                                                            \
    LOOP(name##_xor, type, type, ONE_OF)

#define WHOLE(name, type, wide)                                                                    \
    ARITHMETIC(name, type, wide)                                                                   \
    BITS(name, type)

WHOLE(int8, int8_t, unsigned)
WHOLE(uint8, uint8_t, unsigned)
WHOLE(int16, int16_t, unsigned)
WHOLE(uint16, uint16_t, unsigned)
WHOLE(int32, int32_t, uint32_t)
WHOLE(uint32, uint32_t, uint32_t)
WHOLE(int64, int64_t, uint64_t)
WHOLE(uint64, uint64_t, uint64_t)
ARITHMETIC(float, float, float)
ARITHMETIC(double, double, double)

typedef void reduce_loop(void *sum, const void *more, size_t count);

#define TYPE_COUNT     (RH_DOUBLE + 1)
#define OPERATOR_COUNT (RH_XOR + 1)

#define ARITHMETIC_ROW(name)                                                                       \
    [RH_SUM] = name##_sum, [RH_PRODUCT] = name##_product, [RH_MIN] = name##_min,                   \
    [RH_MAX] = name##_max
#define WHOLE_ROW(name)                                                                            \
    ARITHMETIC_ROW(name), [RH_AND] = name##_and, [RH_OR] = name##_or, [RH_XOR] = name##_xor

static const struct {
    size_t width;
    reduce_loop *loop[OPERATOR_COUNT];
} types[TYPE_COUNT] = {
    [RH_INT8] = {1, {WHOLE_ROW(int8)}},        [RH_UINT8] = {1, {WHOLE_ROW(uint8)}},
    [RH_INT16] = {2, {WHOLE_ROW(int16)}},      [RH_UINT16] = {2, {WHOLE_ROW(uint16)}},
    [RH_INT32] = {4, {WHOLE_ROW(int32)}},      [RH_UINT32] = {4, {WHOLE_ROW(uint32)}},
    [RH_INT64] = {8, {WHOLE_ROW(int64)}},      [RH_UINT64] = {8, {WHOLE_ROW(uint64)}},
    [RH_FLOAT] = {4, {ARITHMETIC_ROW(float)}}, [RH_DOUBLE] = {8, {ARITHMETIC_ROW(double)}},
};

size_t reduce_width(enum rh_type type, enum rh_operator operator_)
{
    if ((unsigned)type >= TYPE_COUNT || (unsigned)operator_ >= OPERATOR_COUNT)
        return 0;
    return types[type].loop[operator_] ? types[type].width : 0;
}

void reduce_fold(const struct rh_reduction *reduction, void *sum, const void *more, size_t count)
{
    types[reduction->type].loop[reduction->operator_](sum, more, count);
}
