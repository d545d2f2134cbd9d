/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rhinet for C++17: objects that close themselves, spans instead of pointers and lengths, errors as
 * exceptions. A header on the C library, nothing else; get() of an object is what C calls take.
 *
 *   rhinet::job job;
 *   rhinet::segment segment(job, 7, 4096);
 *   job.barrier();
 *   job.push({1, 7, 0}, values);            // std::vector, std::array, span of plain data
 *
 * Objects are moved, not copied, and must be gone before the job is: declare the job first. What
 * was begun and is not waited for (transfer, request) ends in its destructor, so its memory may go
 * right after it; memory that ends before it, a temporary, does not compile.
 */
#ifndef RHINET_RHINET_HPP
#define RHINET_RHINET_HPP

#include <rhinet/dsm.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace rhinet
{

#if __cplusplus >= 202002L
template <class T> using span = std::span<T>;
#else
/* As much of std::span as is needed here. */
template <class T> class span
{
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t count) noexcept : data_(data), count_(count) {}
    constexpr T *data() const noexcept
    {
        return data_;
    }
    constexpr std::size_t size() const noexcept
    {
        return count_;
    }
    constexpr std::size_t size_bytes() const noexcept
    {
        return count_ * sizeof(T);
    }
    constexpr bool empty() const noexcept
    {
        return count_ == 0;
    }
    constexpr T *begin() const noexcept
    {
        return data_;
    }
    constexpr T *end() const noexcept
    {
        return data_ + count_;
    }
    constexpr T &operator[](std::size_t index) const noexcept
    {
        return data_[index];
    }
    constexpr span subspan(std::size_t first, std::size_t count) const noexcept
    {
        return span(data_ + first, count);
    }

  private:
    T *data_ = nullptr;
    std::size_t count_ = 0;
};
#endif

/* ---- Errors and times ----------------------------------------------------------------------- */

/* what() is the library's sentence, code() as in rhinet/error.h, rank() -1 if it is about none. */
class error : public std::runtime_error
{
  public:
    /* For "try again" nothing was said: what the library said last is about something else. */
    explicit error(int code)
        : std::runtime_error(code == RH_EAGAIN || *rh_error_text() == '\0' ? rh_error_name(code)
                                                                           : rh_error_text()),
          code_(code), rank_(code == RH_EAGAIN ? -1 : rh_error_rank())
    {
    }
    int code() const noexcept
    {
        return code_;
    }
    int rank() const noexcept
    {
        return rank_;
    }

  private:
    int code_, rank_;
};

inline int check(int result)
{
    if (result < 0)
        throw error(result);
    return result;
}

using nanoseconds = std::chrono::nanoseconds;
inline constexpr nanoseconds default_timeout{RH_TIMEOUT_DEFAULT};
inline constexpr nanoseconds longest_timeout{RH_TIMEOUT_LONGEST};

using remote = rh_remote;

/* ---- Inside ---------------------------------------------------------------------------------- */

namespace detail
{

template <auto Close> struct closer {
    template <class T> void operator()(T *open) const noexcept
    {
        Close(open);
    }
};
template <class T, auto Close> using handle = std::unique_ptr<T, closer<Close>>;

template <class R>
using element = std::remove_reference_t<decltype(*std::data(std::declval<R &>()))>;

template <class R> struct is_span : std::false_type {
};
template <class T> struct is_span<span<T>> : std::true_type {
};

/* Memory that is only looked at, whatever contiguous container it is in. */
template <class R> span<const std::byte> bytes(const R &range)
{
    static_assert(std::is_trivially_copyable_v<std::remove_cv_t<element<const R>>>,
                  "only plain data has a meaning in another process");
    return {reinterpret_cast<const std::byte *>(std::data(range)),
            std::size(range) * sizeof(element<const R>)};
}

template <class R> span<std::byte> writable(R &&range)
{
    using type = element<R>;
    static_assert(!std::is_const_v<type>, "this memory is written");
    static_assert(std::is_trivially_copyable_v<type>,
                  "only plain data has a meaning in another process");
    static_assert(std::is_lvalue_reference_v<R> || is_span<std::remove_cv_t<R>>::value,
                  "what comes into a temporary is lost");
    return {reinterpret_cast<std::byte *>(std::data(range)), std::size(range) * sizeof(type)};
}

/* A container that ends with the statement is gone before what was begun with it. */
template <class R> constexpr void must_stay()
{
    static_assert(std::is_lvalue_reference_v<R> || is_span<std::remove_cv_t<R>>::value,
                  "a temporary would be gone before it is sent");
}

template <class T> constexpr rh_type type_of()
{
    using plain = std::remove_cv_t<T>;
    static_assert(std::is_arithmetic_v<plain> && !std::is_same_v<plain, bool> && sizeof(plain) <= 8,
                  "numbers of at most 8 bytes can be reduced");
    if constexpr (std::is_floating_point_v<plain>)
        return sizeof(plain) == sizeof(float) ? RH_FLOAT : RH_DOUBLE;
    constexpr int width = sizeof(plain) == 1   ? 0
                          : sizeof(plain) == 2 ? 1
                          : sizeof(plain) == 4 ? 2
                                               : 3;
    return static_cast<rh_type>(2 * width + (std::is_unsigned_v<plain> ? 1 : 0));
}

} // namespace detail

/* ---- Transfers that were begun --------------------------------------------------------------- */

class transfer
{
  public:
    transfer(transfer &&) noexcept = default;
    transfer &operator=(transfer &&other) noexcept
    {
        if (this != &other) {
            withdraw();
            job_ = other.job_;
            done_ = std::move(other.done_);
        }
        return *this;
    }
    ~transfer()
    {
        withdraw();
    }

    /* After RH_ETIMEOUT and RH_EDEAD it is under way still. */
    void wait(nanoseconds timeout = default_timeout)
    {
        if (done_)
            settle(rh_wait_done(job_, done_.get(), timeout.count()));
    }
    bool test()
    {
        int result = done_ ? rh_test_done(job_, done_.get()) : 0;
        if (result == RH_EAGAIN)
            return false;
        settle(result);
        return true;
    }
    /* When this returns the memory is the program's again. */
    void withdraw() noexcept
    {
        if (done_)
            rh_withdraw(job_, done_.get());
        done_.reset();
    }
    bool is_over() const noexcept
    {
        return !done_;
    }

  private:
    friend class job;
    transfer(rh_job *job, std::unique_ptr<rh_done> done) : job_(job), done_(std::move(done)) {}
    void settle(int result)
    {
        /* The flag decides: a death may be noticed while the transfer is under way. */
        if (done_ && __atomic_load_n(&done_->state, __ATOMIC_ACQUIRE) != 0)
            done_.reset();
        check(result);
    }

    rh_job *job_;
    std::unique_ptr<rh_done> done_; /* stays in place when this is moved */
};

/* ---- Job ------------------------------------------------------------------------------------- */

class job
{
  public:
    explicit job(const char *nic = nullptr)
    {
        rh_join_options options{};
        options.struct_size = sizeof(options);
        options.nic = nic;
        rh_job *joined = nullptr;
        check(rh_join(&joined, &options));
        job_.reset(joined);
    }

    rh_job *get() const noexcept
    {
        return job_.get();
    }
    int rank() const noexcept
    {
        return rh_rank(get());
    }
    int size() const noexcept
    {
        return rh_size(get());
    }
    int node(int rank) const
    {
        return check(rh_node(get(), rank));
    }
    nanoseconds clock() const noexcept
    {
        return nanoseconds(rh_clock_ns(get()));
    }
    void barrier()
    {
        check(rh_barrier_all(get()));
    }
    void flush(int rank = RH_ANY_RANK)
    {
        check(rh_flush(get(), rank));
    }
    void wait_segment(int rank, rh_sid sid, nanoseconds timeout = default_timeout)
    {
        check(rh_segment_wait(get(), rank, sid, timeout.count()));
    }

    template <class R> void push(remote target, const R &source)
    {
        auto memory = detail::bytes(source);
        check(rh_push(get(), target, memory.data(), memory.size()));
    }
    template <class R> void push_notify(remote target, const R &source, remote word, uint64_t value)
    {
        auto memory = detail::bytes(source);
        rh_notice notice{word, value};
        check(rh_push_notify(get(), target, memory.data(), memory.size(), &notice));
    }
    template <class R> void pull(remote source, R &&target)
    {
        auto memory = detail::writable(std::forward<R>(target));
        check(rh_pull(get(), source, memory.data(), memory.size()));
    }
    template <class R> [[nodiscard]] transfer push_start(remote target, R &&source)
    {
        detail::must_stay<R>();
        auto memory = detail::bytes(source);
        auto done = std::make_unique<rh_done>();
        check(rh_push_start(get(), target, memory.data(), memory.size(), done.get()));
        return transfer(get(), std::move(done));
    }
    template <class R> [[nodiscard]] transfer pull_start(remote source, R &&target)
    {
        auto memory = detail::writable(std::forward<R>(target));
        auto done = std::make_unique<rh_done>();
        check(rh_pull_start(get(), source, memory.data(), memory.size(), done.get()));
        return transfer(get(), std::move(done));
    }

    uint64_t fetch_add(remote target, uint64_t operand)
    {
        return atomic(rh_fetch_add, target, operand);
    }
    uint64_t fetch_or(remote target, uint64_t operand)
    {
        return atomic(rh_fetch_or, target, operand);
    }
    uint64_t fetch_and(remote target, uint64_t operand)
    {
        return atomic(rh_fetch_and, target, operand);
    }
    uint64_t swap(remote target, uint64_t operand)
    {
        return atomic(rh_swap, target, operand);
    }
    uint64_t compare_swap(remote target, uint64_t expected, uint64_t desired)
    {
        uint64_t old;
        check(rh_compare_swap(get(), target, expected, desired, &old));
        return old;
    }

    template <class R> void append(int rank, rh_sid sid, const R &message)
    {
        auto memory = detail::bytes(message);
        check(rh_append(get(), rank, sid, memory.data(), memory.size()));
    }

  private:
    template <class F> uint64_t atomic(F function, remote target, uint64_t operand)
    {
        uint64_t old;
        check(function(get(), target, operand, &old));
        return old;
    }

    detail::handle<rh_job, rh_leave> job_;
};

/* ---- Segments and queues --------------------------------------------------------------------- */

class segment
{
  public:
    /* Allocate; zeroed. */
    segment(job &owner, rh_sid sid, std::size_t length, unsigned rights = RH_ALL)
        : segment(owner, sid, nullptr, length, rights)
    {
    }
    /* Attach memory of the program's own, which must stay until close() has returned: see there. */
    template <class T>
    segment(job &owner, rh_sid sid, span<T> memory, unsigned rights = RH_ALL)
        : segment(owner, sid, detail::writable(span<T>(memory)).data(), memory.size() * sizeof(T),
                  rights)
    {
    }
    segment(segment &&other) noexcept : job_(std::exchange(other.job_, nullptr)), made_(other.made_)
    {
    }
    segment &operator=(segment &&) = delete;
    ~segment()
    {
        if (job_)
            rh_segment_detach(job_, made_.sid);
    }

    /* Throws RH_ETIMEOUT while a peer that was stopped may still write into attached memory: leave
     * that alone, and close again. Allocated memory is gone. */
    void close()
    {
        if (job_)
            check(rh_segment_detach(job_, made_.sid));
        job_ = nullptr;
    }

    rh_sid sid() const noexcept
    {
        return made_.sid;
    }
    std::size_t size_bytes() const noexcept
    {
        return made_.length;
    }
    template <class T = std::byte> span<T> as() const noexcept
    {
        static_assert(std::is_trivially_copyable_v<T>, "others write here what they like");
        return {static_cast<T *>(made_.base), made_.length / sizeof(T)};
    }

    /* Wait until a word of this segment is as said; `from` is the rank that will write it. */
    void wait(std::size_t offset, rh_when when, uint64_t value, int from = RH_ANY_RANK,
              nanoseconds timeout = default_timeout) const
    {
        if (made_.length < 8 || offset > made_.length - 8)
            throw std::out_of_range("rhinet: a word outside its segment");
        rh_wait wait{};
        wait.word = reinterpret_cast<const uint64_t *>(static_cast<char *>(made_.base) + offset);
        wait.when = when;
        wait.value = value;
        wait.from = from;
        wait.timeout_ns = timeout.count();
        check(rh_wait_word(job_, &wait));
    }

  private:
    segment(job &owner, rh_sid sid, void *base, std::size_t length, unsigned rights)
    {
        made_.struct_size = sizeof(made_);
        made_.sid = sid;
        made_.base = base;
        made_.length = length;
        made_.rights = rights;
        check(rh_segment_create(owner.get(), &made_));
        job_ = owner.get();
    }

    rh_job *job_ = nullptr;
    rh_segment made_{};
};

struct arrival {
    int source;
    std::vector<std::byte> data;
};

class queue
{
  public:
    queue(job &owner, rh_sid sid, uint32_t slot_count, uint32_t slot_length)
    {
        rh_queue *made = nullptr;
        check(rh_queue_create(owner.get(), sid, {slot_count, slot_length}, &made));
        queue_.reset(made);
    }
    rh_queue *get() const noexcept
    {
        return queue_.get();
    }
    arrival receive(nanoseconds timeout = default_timeout)
    {
        rh_arrival oldest;
        check(rh_queue_next(get(), &oldest, timeout.count()));
        auto first = static_cast<const std::byte *>(oldest.data);
        arrival taken{oldest.source, {first, first + oldest.length}};
        rh_queue_release(get());
        return taken;
    }

  private:
    detail::handle<rh_queue, rh_queue_destroy> queue_;
};

/* ---- Messages -------------------------------------------------------------------------------- */

using status = rh_status;

/* A send or receive that was begun. */
class request
{
  public:
    request(request &&other) noexcept : request_(std::exchange(other.request_, nullptr)) {}
    request &operator=(request &&other) noexcept
    {
        if (this != &other) {
            end();
            request_ = std::exchange(other.request_, nullptr);
        }
        return *this;
    }
    /* Takes it back; if it is too late for that, waits: its memory is in use until then. A peer's
     * death ends that, too. */
    ~request()
    {
        end();
    }

    /* RH_ETIMEOUT, and RH_EAGAIN with timeout 0: it is under way still, and still this object's. */
    status wait(nanoseconds timeout = default_timeout)
    {
        return finish(rh_wait_request(need(), &status_, timeout.count()));
    }
    std::optional<status> test()
    {
        int result = rh_test_request(need(), &status_);
        if (result == RH_EAGAIN)
            return std::nullopt;
        return finish(result);
    }
    /* False: too late; wait for it. */
    bool cancel()
    {
        int result = rh_cancel(need());
        if (result == 0)
            request_ = nullptr;
        return result == 0;
    }
    bool is_over() const noexcept
    {
        return !request_;
    }

  private:
    friend class mailbox;
    explicit request(rh_request *begun) : request_(begun) {}
    rh_request *need() const
    {
        if (!request_)
            throw std::logic_error("rhinet: the request is over");
        return request_;
    }
    status finish(int result)
    {
        if (result != RH_EAGAIN && result != RH_ETIMEOUT)
            request_ = nullptr;
        check(result);
        return status_;
    }
    void end() noexcept
    {
        rh_request *mine = std::exchange(request_, nullptr);
        if (!mine || rh_cancel(mine) == 0)
            return;
        int result;
        do
            result = rh_wait_request(mine, nullptr, RH_TIMEOUT_LONGEST);
        while (result == RH_ETIMEOUT || result == RH_EAGAIN);
    }

    rh_request *request_;
    status status_{};
};

/* Held while it lives. */
class lock
{
  public:
    lock(rh_msg *msg, uint32_t number, nanoseconds timeout = default_timeout)
        : number_(number), owner_died_(check(rh_lock(msg, number, timeout.count())) > 0), msg_(msg)
    {
    }
    lock(lock &&other) noexcept
        : number_(other.number_), owner_died_(other.owner_died_),
          msg_(std::exchange(other.msg_, nullptr))
    {
    }
    lock &operator=(lock &&) = delete;
    ~lock()
    {
        if (msg_)
            rh_unlock(msg_, number_);
    }
    /* The last holder died holding it: check what it protects. */
    bool owner_died() const noexcept
    {
        return owner_died_;
    }

  private:
    uint32_t number_;
    bool owner_died_;
    rh_msg *msg_;
};

class mailbox
{
  public:
    explicit mailbox(job &owner)
    {
        rh_msg *opened = nullptr;
        check(rh_msg_open(&opened, owner.get()));
        msg_.reset(opened);
    }
    rh_msg *get() const noexcept
    {
        return msg_.get();
    }

    template <class R> void send(int rank, int tag, const R &message)
    {
        auto memory = detail::bytes(message);
        check(rh_send(get(), rank, tag, memory.data(), memory.size()));
    }
    template <class R> status recv(int rank, int tag, R &&target)
    {
        auto memory = detail::writable(std::forward<R>(target));
        status received{};
        check(rh_recv(get(), rank, tag, memory.data(), memory.size(), &received));
        return received;
    }
    template <class R> [[nodiscard]] request isend(int rank, int tag, R &&message)
    {
        detail::must_stay<R>();
        auto memory = detail::bytes(message);
        rh_request *begun = nullptr;
        check(rh_isend(get(), rank, tag, memory.data(), memory.size(), &begun));
        return request(begun);
    }
    template <class R> [[nodiscard]] request irecv(int rank, int tag, R &&target)
    {
        auto memory = detail::writable(std::forward<R>(target));
        rh_request *begun = nullptr;
        check(rh_irecv(get(), rank, tag, memory.data(), memory.size(), &begun));
        return request(begun);
    }
    status probe(int rank, int tag, nanoseconds timeout = default_timeout)
    {
        status found{};
        check(rh_probe(get(), rank, tag, &found, timeout.count()));
        return found;
    }
    [[nodiscard]] rhinet::lock lock(uint32_t number, nanoseconds timeout = default_timeout)
    {
        return rhinet::lock(get(), number, timeout);
    }

  private:
    detail::handle<rh_msg, rh_msg_close> msg_;
};

/* All ranks, acting together; lengths are the same at all of them. */
class group
{
  public:
    explicit group(mailbox &box) : unwinding_(std::uncaught_exceptions())
    {
        check(rh_set_create(box.get(), nullptr, &set_));
    }
    group(group &&other) noexcept
        : set_(std::exchange(other.set_, nullptr)), unwinding_(other.unwinding_)
    {
    }
    group &operator=(group &&) = delete;
    /* Waits for the others, except after an exception: they learn from the job's end. */
    ~group()
    {
        if (set_ && std::uncaught_exceptions() <= unwinding_)
            rh_set_destroy(set_);
    }
    rh_set *get() const noexcept
    {
        return set_;
    }
    int rank() const noexcept
    {
        return rh_set_rank(set_);
    }
    int size() const noexcept
    {
        return rh_set_size(set_);
    }

    void barrier(nanoseconds timeout = default_timeout)
    {
        check(rh_barrier(set_, timeout.count()));
    }
    template <class R> void broadcast(int root, R &&buffer)
    {
        auto memory = detail::writable(std::forward<R>(buffer));
        check(rh_broadcast(set_, root, memory.data(), memory.size()));
    }
    /* In place. */
    template <class R> void allreduce(R &&buffer, rh_operator operation = RH_SUM)
    {
        auto memory = detail::writable(std::forward<R>(buffer));
        rh_reduction reduction{detail::type_of<detail::element<R>>(), operation, std::size(buffer)};
        check(rh_allreduce(set_, memory.data(), memory.data(), &reduction));
    }
    /* Everybody's source, one after the other. */
    template <class T> std::vector<T> allgather(const std::vector<T> &source)
    {
        auto memory = detail::bytes(source);
        std::vector<T> target(source.size() * static_cast<std::size_t>(size()));
        check(rh_allgather(set_, memory.data(), target.data(), memory.size()));
        return target;
    }
    /* Part i of the source goes to member i. */
    template <class T> std::vector<T> alltoall(const std::vector<T> &source)
    {
        auto members = static_cast<std::size_t>(size());
        if (source.size() % members != 0)
            throw std::invalid_argument("rhinet: not as many equal parts as there are members");
        std::vector<T> target(source.size());
        check(rh_alltoall(set_, detail::bytes(source).data(), target.data(),
                          source.size() / members * sizeof(T)));
        return target;
    }

  private:
    rh_set *set_ = nullptr;
    int unwinding_;
};

/* ---- Shared memory --------------------------------------------------------------------------- */

class dsm
{
  public:
    /* box: the program's mailbox, if it has one. */
    explicit dsm(job &owner, uint64_t heap_length = 0, uint32_t variable_count = 0,
                 mailbox *box = nullptr)
    {
        rh_dsm_options options{};
        options.struct_size = sizeof(options);
        options.heap_length = heap_length;
        options.variable_count = variable_count;
        options.msg = box ? box->get() : nullptr;
        rh_dsm *opened = nullptr;
        check(rh_dsm_open(&opened, owner.get(), &options));
        dsm_.reset(opened);
    }
    rh_dsm *get() const noexcept
    {
        return dsm_.get();
    }

    /* The same object at all ranks that ask for this name. */
    template <class T> span<T> alloc_named(uint32_t name, std::size_t count)
    {
        static_assert(std::is_trivially_copyable_v<T>, "shared memory is plain data");
        uint64_t offset;
        check(rh_dsm_alloc_named(get(), name, count * sizeof(T), &offset));
        return {static_cast<T *>(rh_dsm_ptr(get(), offset)), count};
    }
    template <class T> void bind(rh_dsm_variable variable, span<T> object)
    {
        rh_dsm_region region{rh_dsm_offset(get(), object.data()), object.size() * sizeof(T), 1, 0};
        check(rh_dsm_bind(get(), variable, &region, 1));
    }
    void barrier(nanoseconds timeout = default_timeout)
    {
        check(rh_dsm_barrier(get(), nullptr, 0, timeout.count()));
    }

    /* A variable, held while it lives. */
    class hold
    {
      public:
        hold(dsm &memory, rh_dsm_variable variable, rh_dsm_access access,
             nanoseconds timeout = default_timeout)
            : variable_(variable)
        {
            check(rh_dsm_acquire(memory.get(), variable, access, timeout.count()));
            dsm_ = memory.get();
        }
        hold(hold &&other) noexcept
            : dsm_(std::exchange(other.dsm_, nullptr)), variable_(other.variable_)
        {
        }
        hold &operator=(hold &&) = delete;
        ~hold()
        {
            if (dsm_)
                rh_dsm_release(dsm_, variable_);
        }

      private:
        rh_dsm *dsm_ = nullptr;
        rh_dsm_variable variable_;
    };
    [[nodiscard]] hold read(rh_dsm_variable variable)
    {
        return {*this, variable, RH_DSM_READ};
    }
    [[nodiscard]] hold write(rh_dsm_variable variable)
    {
        return {*this, variable, RH_DSM_WRITE};
    }

  private:
    detail::handle<rh_dsm, rh_dsm_close> dsm_;
};

} // namespace rhinet

#endif
