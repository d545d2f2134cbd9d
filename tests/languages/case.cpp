// SPDX-License-Identifier: BSD-3-Clause
// What a rank does through rhinet.hpp; prints one line when all of it was right. language_test.py
// defines MISTAKE for what must not compile.
#include <rhinet/rhinet.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "case.cpp:%d: %s\n", __LINE__, #condition);                       \
            std::_Exit(1);                                                                         \
        }                                                                                          \
    } while (0)

template <class F> int code_of(F call)
{
    try {
        call();
    } catch (const rhinet::error &error) {
        EXPECT(std::strlen(error.what()) > 0);
        return error.code();
    }
    return 0;
}

static void remote_memory(rhinet::job &job)
{
    int right = (job.rank() + 1) % job.size(), left = (job.rank() + job.size() - 1) % job.size();
    rhinet::segment data(job, 1, 1024), words(job, 2, 64);
    job.barrier();
    std::vector<double> values{1.5, 2.5, double(job.rank())};
    job.push_notify({right, 1, 0}, values, {right, 2, 0}, 1);
    words.wait(0, RH_EQUAL, 1, left);
    EXPECT(data.as<double>()[2] == left);
    std::array<double, 3> back{};
    job.pull({right, 1, 0}, back);
    EXPECT(back[2] == job.rank() && back[0] == 1.5);
    {
        auto push = job.push_start({right, 1, 512}, values);
        auto moved = std::move(push);
        moved.wait();
        EXPECT(moved.is_over());
        auto dropped = job.pull_start({right, 1, 512}, back); // its destructor takes it back
    }
    EXPECT(code_of([&] { (void)job.push_start({right, 99, 0}, values); }) == RH_ENOSEG);
    EXPECT(code_of([&] { job.push({right, 1, 1020}, values); }) == RH_EBOUNDS);
    EXPECT(code_of([&] { job.push({-7, 1, 0}, values); }) == RH_EINVALID);
    job.fetch_add({0, 2, 8}, 5);
    job.barrier();
    EXPECT(job.rank() != 0 || words.as<uint64_t>()[1] == 5u * unsigned(job.size()));
    EXPECT(job.compare_swap({job.rank(), 2, 16}, 0, 7) == 0);
    EXPECT(code_of([&] { words.wait(24, RH_EQUAL, 1, RH_ANY_RANK, rhinet::nanoseconds(0)); }) ==
           RH_EAGAIN);
    try {
        words.wait(24, RH_EQUAL, 1, RH_ANY_RANK, rhinet::nanoseconds(0));
    } catch (const rhinet::error &error) { // not the sentence of an earlier failure
        EXPECT(error.rank() == -1 && std::string(error.what()) == rh_error_name(RH_EAGAIN));
    }
    std::vector<int> own(16, job.rank());
    {
        rhinet::segment attached(job, 3, rhinet::span<int>(own.data(), own.size()));
        job.barrier();
        job.push({right, 3, 4}, std::array<int, 1>{-job.rank()});
        job.barrier();
        attached.close();
    }
    EXPECT(own[1] == -left && own[0] == job.rank());
    rhinet::queue queue(job, 4, 8, 32);
    job.barrier();
    job.append(right, 4, std::string("queued"));
    auto arrival = queue.receive();
    EXPECT(arrival.source == left && arrival.data.size() == 6);
    job.barrier();
}

static void requests(rhinet::job &job, rhinet::mailbox &box)
{
    int right = (job.rank() + 1) % job.size(), left = (job.rank() + job.size() - 1) % job.size();
    std::vector<char> room(1 << 20), message(1 << 20, char('a' + job.rank()));
    auto receive = box.irecv(left, 5, room);
    EXPECT(code_of([&] { receive.wait(rhinet::nanoseconds(0)); }) == RH_EAGAIN);
    EXPECT(!receive.is_over() && !receive.test());
    EXPECT(code_of([&] { receive.wait(std::chrono::milliseconds(1)); }) == RH_ETIMEOUT);
    EXPECT(!receive.is_over());
    job.barrier();
    auto send = box.isend(right, 5, message);
    auto status = receive.wait();
    EXPECT(receive.is_over() && status.source == left && status.length == room.size());
    EXPECT(room[77] == 'a' + left);
    send.wait();
    {
        auto never = box.irecv(left, 6, room); // its destructor takes it back
        auto begun = box.isend(right, 7, message);
        EXPECT(box.recv(left, 7, room).tag == 7); // and this one's waits
    }
    auto first = box.irecv(left, 8, room);
    first = box.irecv(left, 9, room); // the former is taken back
    EXPECT(first.cancel() && first.is_over());
}

static void together(rhinet::job &job, rhinet::mailbox &box)
{
    int size = job.size();
    rhinet::group group(box);
    std::vector<int64_t> sum{1, job.rank()};
    group.allreduce(sum);
    EXPECT(sum[0] == size && sum[1] == size * (size - 1) / 2);
    std::array<unsigned char, 2> most{static_cast<unsigned char>(job.rank()), 200};
    group.allreduce(most, RH_MAX);
    EXPECT(most[0] == size - 1 && most[1] == 200);
    std::vector<float> shared(3, float(job.rank()));
    group.broadcast(size - 1, shared);
    EXPECT(shared[2] == float(size - 1));
    auto all = group.allgather(std::vector<int>{job.rank(), 7});
    EXPECT(all.size() == 2u * unsigned(size) && all[2u * unsigned(size) - 2] == size - 1);
    auto turned = group.alltoall(std::vector<int>(unsigned(size), job.rank()));
    EXPECT(turned[unsigned(size) - 1] == size - 1);
    {
        auto held = box.lock(3);
        EXPECT(!held.owner_died());
        EXPECT(code_of([&] { (void)box.lock(3); }) == RH_EINVALID);
    }
    group.barrier();
}

static void shared_memory(rhinet::job &job)
{
    rhinet::mailbox box(job);
    rhinet::dsm dsm(job, 1 << 16, 4, &box);
    auto counter = dsm.alloc_named<int64_t>(1, 1);
    if (job.rank() == 0) {
        auto hold = dsm.write(0);
        dsm.bind(0, counter);
        counter[0] = 0;
    }
    dsm.barrier();
    for (int i = 0; i < 10; i++) {
        auto hold = dsm.write(0);
        counter[0]++;
    }
    dsm.barrier();
    {
        auto hold = dsm.read(0);
        EXPECT(counter[0] == 10 * job.size());
    }
}

#ifdef MISTAKE
static void mistake(rhinet::job &job, rhinet::mailbox &box)
{
    std::vector<int> fine(3);
    const std::vector<int> constant(3);
    std::vector<std::string> words(3);
    (void)job, (void)box, (void)fine, (void)constant, (void)words;
    MISTAKE;
}
#endif

int main()
{
    rhinet::job job;
    remote_memory(job);
    {
        rhinet::mailbox box(job);
        requests(job, box);
        together(job, box);
#ifdef MISTAKE
        mistake(job, box);
#endif
    }
    shared_memory(job);
    job.barrier();
    std::printf("rank %d is right\n", job.rank());
}
