/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stacks and context switches; see context.h.
 */
#include "sim/engine/context.h"

#include "base/assert.h"
#include "base/error.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

int stack_create(struct stack *stack, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size = (size + page - 1) / page * page;
    char *memory = mmap(NULL, size + page, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return error_fail(
            -ENOMEM,
            "no room for a fiber's stack of %zu bytes; fewer fibers, or a larger vm.max_map_count",
            size);
    if (mprotect(memory + page, size, PROT_READ | PROT_WRITE) < 0) {
        munmap(memory, size + page);
        return error_fail(-ENOMEM, "no room for a fiber's stack of %zu bytes", size);
    }
    stack->base = memory + page;
    stack->size = size;
    return 0;
}

/* What a fiber that did not end has left on its stack is none of the next one's, whose memory may
 * come to lie there. */
static void stack_clean(const struct stack *stack)
{
#ifdef WITH_ASAN
    __asan_unpoison_memory_region(stack->base, stack->size);
#else
#endif
}

void stack_destroy(struct stack *stack)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (stack->base)
        stack_clean(stack);
    if (stack->base)
        munmap((char *)stack->base - page, stack->size + page);
    stack->base = NULL;
}

#if CONTEXT_IS_UCONTEXT

/* makecontext passes ints only: the pointers travel in halves. */
static void machine_enter(unsigned body_high, unsigned body_low, unsigned argument_high,
                          unsigned argument_low)
{
    void (*body)(void *) = (void (*)(void *))((uintptr_t)body_high << 32 | body_low);
    body((void *)((uintptr_t)argument_high << 32 | argument_low));
    ASSERT(!"body never returns");
}

static void machine_make(struct context *context, void (*body)(void *), void *argument)
{
    uint64_t code = (uintptr_t)body, data = (uintptr_t)argument;
    getcontext(&context->machine);
    context->machine.uc_stack.ss_sp = context->stack.base;
    context->machine.uc_stack.ss_size = context->stack.size;
    context->machine.uc_link = NULL;
    makecontext(&context->machine, (void (*)(void))machine_enter, 4, (unsigned)(code >> 32),
                (unsigned)code, (unsigned)(data >> 32), (unsigned)data);
}

static void machine_switch(struct context *from, struct context *to)
{
    swapcontext(&from->machine, &to->machine);
}

#else

/* void machine_jump(void **from, void *to): the System V convention lets a call destroy all but
 * rbx, rbp, r12 to r15, the stack pointer, and the control words of the two floating-point
 * units. */
void machine_jump(void **from, void *to);
void machine_start(void);

__asm__(".text\n"
        ".p2align 4\n"
        ".globl machine_jump\n"
        ".hidden machine_jump\n"
        ".type machine_jump, @function\n"
        "machine_jump:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size machine_jump, .-machine_jump\n"
        /* The first jump into a new stack returns to here: r12 is the body, r13 its argument. */
        ".p2align 4\n"
        ".globl machine_start\n"
        ".hidden machine_start\n"
        ".type machine_start, @function\n"
        "machine_start:\n"
        "    movq %r13, %rdi\n"
        "    xorl %ebp, %ebp\n" /* ends the chain of frames, for debuggers */
        "    callq *%r12\n"
        "    ud2\n"
        ".size machine_start, .-machine_start\n");

struct machine_frame {
    uint32_t sse_control;
    uint16_t x87_control, unused;
    uint64_t r15, r14, r13, r12, rbx, rbp;
    void (*start)(void);
    uint64_t end[2]; /* empty; begins at a multiple of 16, as the stack must at a call */
};

static void machine_make(struct context *context, void (*body)(void *), void *argument)
{
    char *top = (char *)context->stack.base + context->stack.size;
    struct machine_frame *frame = (struct machine_frame *)(void *)(top - sizeof(*frame));
    *frame = (struct machine_frame){.r12 = (uintptr_t)body, .r13 = (uintptr_t)argument};
    frame->start = machine_start;
    __asm__("stmxcsr %0" : "=m"(frame->sse_control));
    __asm__("fnstcw %0" : "=m"(frame->x87_control));
    _Static_assert(offsetof(struct machine_frame, end) % 16 == 0, "the stack must be aligned");
    _Static_assert(sizeof(*frame) % 16 == 0, "the stack must be aligned");
    context->pointer = frame;
}

static void machine_switch(struct context *from, struct context *to)
{
    machine_jump(&from->pointer, to->pointer);
}

#endif

void context_make(struct context *context, const struct stack *stack, void (*body)(void *),
                  void *argument)
{
    context->stack = *stack;
    context->fake_stack = NULL;
    context->tsan_fiber = NULL;
#ifdef WITH_TSAN
    context->tsan_fiber = __tsan_create_fiber(0);
#endif
    machine_make(context, body, argument);
}

void context_adopt(struct context *context)
{
    context->fake_stack = NULL;
#ifdef WITH_TSAN
    context->tsan_fiber = __tsan_get_current_fiber();
#endif
}

void context_destroy(struct context *context)
{
#ifdef WITH_TSAN
    __tsan_destroy_fiber(context->tsan_fiber);
#endif
    context->tsan_fiber = NULL;
}

void context_switch(struct context *from, struct context *to, bool is_end)
{
#ifdef WITH_ASAN
    /* A thread's own stack became known when it was switched away from: see context_begin(). */
    __sanitizer_start_switch_fiber(is_end ? NULL : &from->fake_stack, to->stack.base,
                                   to->stack.size);
#endif
#ifdef WITH_TSAN
    __tsan_switch_to_fiber(to->tsan_fiber, 0);
#endif
    machine_switch(from, to);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

void context_begin(struct context *from)
{
#ifdef WITH_ASAN
    const void *base;
    size_t size;
    __sanitizer_finish_switch_fiber(NULL, &base, &size);
    from->stack = (struct stack){(void *)base, size};
#endif
}
