/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stacks, and switching from one to another. Private to the engine.
 *
 * On x86-64 a switch saves what the calling convention says a function must preserve, and no more:
 * some 20 times faster than swapcontext(3), which enters the kernel for the signal mask. Elsewhere
 * it is swapcontext. Address and thread sanitizer are told of every switch.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#if !defined(__x86_64__) || defined(CONTEXT_UCONTEXT)
#include <ucontext.h>
#define CONTEXT_IS_UCONTEXT 1
#else
#define CONTEXT_IS_UCONTEXT 0
#endif

struct stack {
    void *base; /* lowest address that may be used; the guard page lies below */
    size_t size;
};

/* Whole pages, with a guard page below them. -ENOMEM. */
int stack_create(struct stack *stack, size_t size);
void stack_destroy(struct stack *stack);

struct context {
#if CONTEXT_IS_UCONTEXT
    ucontext_t machine;
#else
    void *pointer; /* stack pointer; the registers lie above it */
#endif
    struct stack stack; /* base NULL: a thread's own */
    void *fake_stack;   /* address sanitizer's */
    void *tsan_fiber;   /* thread sanitizer's */
};

/* A context that will run body(argument) on this stack. body never returns. */
void context_make(struct context *context, const struct stack *stack, void (*body)(void *),
                  void *argument);
/* The context of the running thread, to switch away from. */
void context_adopt(struct context *context);
void context_destroy(struct context *context);

/* Goes on in `to`; returns when somebody switches back to `from`. is_end: `from` will never run
 * again. */
void context_switch(struct context *from, struct context *to, bool is_end);

/* To be called first of all by body, with the context that switched to it. */
void context_begin(struct context *from);
