/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stacks for the work that a fault brings. A signal is delivered on the stack of the thread, which
 * may be a coroutine's, or on the program's alternative one, which is made for a handler that says
 * a word and leaves; a fetch over a network needs more than either may have. So the handler itself
 * does next to nothing there.
 *
 * A stack belongs to one fault at a time; so there are as many as threads have faulted at once.
 */
#include "dsm/page/faults_mechanism.h"

#include "base/rest.h"

#include <stdatomic.h>
#include <sys/mman.h>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

#define STACKS_MAX   64
#define STACK_LENGTH ((size_t)512 * 1024)
#define GUARD_LENGTH ((size_t)64 * 1024) /* a multiple of every page size */

struct stack {
    _Atomic bool is_taken;
    char *base; /* NULL: not made yet; of whoever has taken it */
};

static struct stack stacks[STACKS_MAX];

static bool make(struct stack *stack)
{
    if (stack->base)
        return true;
    char *memory = mmap(NULL, GUARD_LENGTH + STACK_LENGTH, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    mprotect(memory, GUARD_LENGTH, PROT_NONE); /* if not: an overflow is noticed later */
    stack->base = memory;
    return true;
}

/* acquire: pairs with give_back() */
static bool take(struct stack *stack)
{
    return !atomic_load_explicit(&stack->is_taken, memory_order_relaxed) &&
           !atomic_exchange_explicit(&stack->is_taken, true, memory_order_acquire);
}

static void give_back(struct stack *stack)
{
    atomic_store_explicit(&stack->is_taken, false, memory_order_release);
}

/* Whoever has one waits for nobody who waits for one: with all taken, one will be free soon. */
static struct stack *take_any(void)
{
    struct rest rest = {0};
    for (;; rest_once(&rest))
        for (size_t i = 0; i < STACKS_MAX; i++)
            if (take(&stacks[i]))
                return &stacks[i];
}

#if defined(__x86_64__)
static void call_on(char *top, void (*work)(void *), void *argument)
{
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "call *%[work]\n\t"
                     "movq %%rbx, %%rsp"
                     : "+D"(argument)
                     : [top] "r"(top), [work] "r"(work)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}
#elif defined(__aarch64__)
static void call_on(char *top, void (*work)(void *), void *argument)
{
    register void *first __asm__("x0") = argument;
    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %[top]\n\t"
                     "blr %[work]\n\t"
                     "mov sp, x19"
                     : "+r"(first)
                     : [top] "r"(top), [work] "r"(work)
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
                       "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x30", "v0", "v1", "v2",
                       "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
                       "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
                       "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
}
#else
struct errand {
    void (*work)(void *);
    void *argument;
};

static _Thread_local struct errand errand; /* makecontext() passes no pointers */

static void run_errand(void)
{
    errand.work(errand.argument);
}

static void call_on(char *top, void (*work)(void *), void *argument)
{
    ucontext_t here, there;
    getcontext(&there);
    there.uc_stack.ss_sp = top - STACK_LENGTH;
    there.uc_stack.ss_size = STACK_LENGTH;
    there.uc_link = &here;
    errand = (struct errand){.work = work, .argument = argument};
    makecontext(&there, run_errand, 0);
    swapcontext(&here, &there);
}
#endif

void faults_stack_call(void (*work)(void *), void *argument)
{
    struct stack *stack = take_any();
    if (make(stack))
        call_on(stack->base + GUARD_LENGTH + STACK_LENGTH, work, argument);
    else
        work(argument); /* on this stack, which may do */
    give_back(stack);
}

void faults_stack_free_all(void)
{
    for (size_t i = 0; i < STACKS_MAX; i++) {
        if (!take(&stacks[i]))
            continue;
        if (stacks[i].base)
            munmap(stacks[i].base, GUARD_LENGTH + STACK_LENGTH);
        stacks[i].base = NULL;
        give_back(&stacks[i]);
    }
}
