# SPDX-License-Identifier: BSD-3-Clause
"""cases.py CASE [ARGUMENT...]: what a rank of a job does in a test. Each case checks for itself and
prints one line when it is right; python_test.py counts the lines."""

import array
import errno
import faulthandler
import math
import os
import signal
import sys
import threading
import time

import rhinet

try:
    import numpy
except ImportError:
    numpy = None

LIMIT_S = 60  # only a hang takes so long
SID, WORDS = 7, 8


def raises(kind, call, *words):
    """The exception that a call must raise, whose text has these words."""
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), (word, str(error))
        return error
    raise AssertionError(f"no {kind.__name__}")


# ---- Remote memory -----------------------------------------------------------------------------

def memory(job):
    rank, size = job.rank, job.size
    right, left = (rank + 1) % size, (rank - 1) % size
    segment, words = job.segment(SID, 4096), job.segment(WORDS, 8, "q")
    job.barrier()
    job.push(rhinet.at(right, SID), b"to the right of %d" % rank)
    job.barrier()
    assert bytes(segment.view[:17]) == b"to the right of %d" % left
    assert job.pull(rhinet.at(right, SID), length=17) == b"to the right of %d" % rank
    into = bytearray(17)
    assert job.pull(rhinet.at(right, SID), into) is into and into[-1:] == b"%d" % rank
    job.push_notify(rhinet.at(right, SID, 100), b"x" * 50, rhinet.at(right, WORDS), 5)
    words.wait(5, source=left)
    assert bytes(segment.view[100:150]) == b"x" * 50
    job.notify(rhinet.at(right, WORDS, 32), -2)
    words.wait(-2, 32, source=left)
    assert words.array[4] == -2
    with job.push_start(rhinet.at(right, SID, 200), array.array("d", [1.5, 2.5])):
        pass
    target = array.array("d", [0, 0])
    transfer = job.pull_start(rhinet.at(right, SID, 200), target)
    transfer.wait()
    assert transfer.is_over and transfer.test() and target.tolist() == [1.5, 2.5]
    job.push_inline(rhinet.at(right, SID, 300), b"short")
    job.store(rhinet.at(right, SID, 320), 0x1234, 2)
    with job.page(rhinet.at(right, WORDS, 8), 24) as page:
        page.store(16, 77)
    job.flush()
    job.barrier()
    assert bytes(segment.view[300:305]) == b"short" and segment.view[320] == 0x34
    assert words.array[3] == 77
    assert job.segment_length(right, SID) == 4096
    assert raises(rhinet.WaitTimeout, lambda: words.wait(1, 40, timeout=0.01)).code == \
        -errno.ETIMEDOUT
    again = raises(rhinet.AgainError, lambda: words.wait(1, 40, timeout=0))
    assert again.rank is None and "again" in again.text and "in time" not in again.text, again
    job.barrier()


def atomics(job):
    words = job.segment(WORDS, 4, "Q")
    job.barrier()
    zero = rhinet.at(0, WORDS)
    for _ in range(100):
        job.fetch_add(zero, 1)
    job.fetch_or(rhinet.at(0, WORDS, 8), 1 << job.rank)
    job.barrier()
    assert job.pull(zero, length=8) == (100 * job.size).to_bytes(8, sys.byteorder)
    job.barrier()
    if job.rank == 0:
        assert words.array[1] == (1 << job.size) - 1
        assert job.fetch_add(zero, -1) == 100 * job.size
        assert job.swap(zero, 2 ** 64 - 1) == 100 * job.size - 1
        assert job.compare_swap(zero, 5, 6) == 2 ** 64 - 1
        assert job.compare_swap(zero, -1, 6) == 2 ** 64 - 1
        assert job.fetch_and(zero, 4) == 6 and words.array[0] == 4
        raises(rhinet.InvalidError, lambda: job.fetch_add(zero, 2 ** 64), str(2 ** 64))
    job.barrier()


def attached(job):
    memory = array.array("d", range(100)) if numpy is None else numpy.arange(100.0)
    with job.attach(SID, memory) as segment:
        assert segment.array is memory
        job.barrier()
        job.push(rhinet.at((job.rank + 1) % job.size, SID, 8), array.array("d", [-1.0 - job.rank]))
        job.barrier()
        assert memory[1] == -1.0 - (job.rank - 1) % job.size
        raises((AttributeError,), lambda: setattr(segment, "array", memory))
    raises(rhinet.ClosedError, lambda: segment.array, "closed")
    job.barrier()
    with job.attach(SID, b"for reading only", rhinet.READ):
        job.barrier()
        there = rhinet.at((job.rank + 1) % job.size, SID)
        assert job.pull(there, length=16) == b"for reading only"
        raises(rhinet.RightsError, lambda: job.push(there, b"y"))
        job.barrier()
    raises(ValueError, lambda: job.attach(SID, b"read-only"), "read-only")


def refused(job):
    """Numbers that ctypes would cut, and objects that mean nothing elsewhere."""
    size = job.size
    segment = job.segment(SID, 64)
    box = job.mailbox()
    group = box.group()
    job.barrier()
    for rank in (2 ** 32, -2 ** 32, size, -1, 2 ** 64):
        for call in (lambda: job.push(rhinet.at(rank, SID), b"12345678"),
                     lambda: job.append(rank, SID, b"x"), lambda: box.send(rank, b"x"),
                     lambda: job.node(rank), lambda: job.wait_segment(rank, SID),
                     lambda: group.broadcast(bytearray(8), rank)):
            raises(rhinet.InvalidError, call, str(rank))
    for call in (lambda: job.push(rhinet.at(0, 2 ** 32 + SID), b"1"),
                 lambda: job.push(rhinet.at(0, SID, 2 ** 64), b"1"),
                 lambda: job.push(rhinet.at(0, SID, -1), b"1"),
                 lambda: job.segment(0xffff0000, 8), lambda: job.segment(9, 0),
                 lambda: job.segment(9, 2 ** 64), lambda: box.send(0, b"x", 2 ** 32),
                 lambda: box.recv(0, -2), lambda: box.lock(2 ** 32), lambda: box.group(id=2 ** 32),
                 lambda: job.queue(9, 2 ** 32, 8), lambda: segment.wait(0, timeout=-1),
                 lambda: segment.wait(0, timeout=math.nan), lambda: segment.wait(0, when=3),
                 lambda: group.allreduce(2 ** 63), lambda: group.alltoall(bytes(size + 1))
                 if size > 1 else job.segment(9, -1)):
        raises(rhinet.InvalidError, call)
    raises(rhinet.BoundsError, lambda: job.push(rhinet.at(0, SID, 60), b"12345678"), "60")
    raises(rhinet.BoundsError, lambda: segment.wait(0, 57))
    raises(TypeError, lambda: box.send(0, {"a": 1}), "dict")
    raises(TypeError, lambda: box.send(0, "text"), "str")
    raises(TypeError, lambda: job.push(rhinet.at("0", SID), b"1"), "str")
    if numpy is not None:
        objects = numpy.array([object(), 1])
        mixed = numpy.zeros(2, [("PO", "i8"), ("a", "O")])
        for call in (lambda: group.gather(objects), lambda: box.send(0, objects),
                     lambda: job.push(rhinet.at(0, SID), mixed), lambda: job.attach(9, objects),
                     lambda: job.segment(9, 2, object), lambda: group.allgather(memoryview(mixed))):
            raises(TypeError, call, "objects")
        named = numpy.zeros(2, [("PO", "i8")])  # letters of a name are not a type
        job.push(rhinet.at(job.rank, SID), named)
        raises(ValueError, lambda: box.send(0, numpy.zeros((4, 4))[:, 1]), "contiguous")
        raises(TypeError, lambda: group.allreduce(numpy.zeros(2, "c8")), "cannot be reduced")
        raises(TypeError, lambda: group.allreduce(numpy.zeros(2, ">f8")), "cannot be reduced")
        raises(TypeError, lambda: box.send(0, numpy.zeros(2, "M8[s]")), "view")
    group.barrier()


def queues(job):
    with job.queue(SID, 64, 32) as queue:
        job.barrier()
        for i in range(10):
            job.append(0, SID, b"%d of %d" % (i, job.rank))
        if job.rank == 0:
            seen = {rank: [] for rank in range(job.size)}
            for _ in range(10 * job.size):
                source, data = queue.receive()
                seen[source].append(data)
            for rank, lines in seen.items():
                assert lines == [b"%d of %d" % (i, rank) for i in range(10)], lines
        job.barrier()
        raises(rhinet.AgainError, lambda: queue.receive(0))
        raises(rhinet.TooBigError, lambda: job.append(0, SID, bytes(100)), "100")
        if job.rank == 0:
            def fill():
                while True:
                    job.append(0, SID, b"x", wait=False)
            raises(rhinet.AgainError, fill)
            assert queue.receive().data == b"x"
        job.barrier()


# ---- Messages ----------------------------------------------------------------------------------

def messages(job):
    rank, size = job.rank, job.size
    with job.mailbox() as box:
        right, left = (rank + 1) % size, (rank - 1) % size
        box.send(right, b"first", 1)
        box.send(right, b"", 2)
        second = box.recv(left, 2)
        assert (second.source, second.tag, second.length, second.data) == (left, 2, 0, b"")
        assert box.recv(rhinet.ANY_RANK, 1).data == b"first"
        long = bytes(range(256)) * 4096
        incoming = bytearray(len(long))
        with box.irecv(left, incoming, 3), box.isend(right, long, 3):
            pass
        assert incoming == long
        raises(rhinet.AgainError, lambda: box.probe(timeout=0))
        request = box.irecv(left, incoming, 9)
        assert request.test() is None
        raises(rhinet.AgainError, lambda: request.wait(0))
        raises(rhinet.WaitTimeout, lambda: request.wait(0.01))
        raises(BufferError, lambda: incoming.append(1))  # it is lent
        assert request.cancel() and request.is_over
        incoming.append(1)
        raises(rhinet.CanceledError, request.wait)
        box.send(right, bytes(100), 4)
        assert box.probe(left, 4).length == 100
        raises(rhinet.TooBigError, lambda: box.recv(left, 4, bytearray(10)), "100")
        if rank == 0:
            box.multicast(range(size), b"to all", 5)
        assert box.recv(0, 5).data == b"to all"
        pending = [box.irecv(left, bytearray(8), 6) for _ in range(3)]
        assert len(box._requests) == 3 and not pending[0].is_over
    assert all(k.is_over for k in pending)
    raises(rhinet.ClosedError, lambda: box.send(0, b""), "mailbox is closed")
    job.barrier()


def threads(job):
    """Receivers of any message, at once: each message goes to one of them, whole."""
    with job.mailbox() as box:
        taken, count = [], 40

        def take():
            for _ in range(count // 2):
                taken.append(box.recv(tag=1).data)
        workers = [threading.Thread(target=take) for _ in range(2)]
        for worker in workers:
            worker.start()
        for i in range(count):
            box.send((job.rank + 1) % job.size, b"%d" % i * (i + 1), 1)
        for worker in workers:
            worker.join(LIMIT_S)
            assert not worker.is_alive()
        assert sorted(taken) == sorted(b"%d" % i * (i + 1) for i in range(count))
    job.barrier()


def collectives(job):
    rank, size = job.rank, job.size
    with job.mailbox() as box, box.group() as group:
        assert (group.rank, group.size) == (rank, size)
        assert group.allreduce(rank) == size * (size - 1) // 2
        assert group.allreduce(rank + 0.5, op=rhinet.MAX) == size - 0.5
        assert group.broadcast(bytearray([rank]), size - 1) == bytes([size - 1])
        total = group.reduce(array.array("h", [1, rank]), root=size - 1)
        assert (total is None) == (rank != size - 1)
        assert total is None or total.tolist() == [size, size * (size - 1) // 2]
        gathered = group.gather(bytes([rank, 7]))
        assert gathered == (b"".join(bytes([k, 7]) for k in range(size)) if rank == 0 else None)
        parts = bytes(range(2 * size)) if rank == 0 else None
        assert group.scatter(parts, bytearray(2)) == bytes([2 * rank, 2 * rank + 1])
        assert group.allgather(bytes([rank])) == bytes(range(size))
        assert group.alltoall(bytes(rank * 16 + k for k in range(size))) == \
            bytes(k * 16 + rank for k in range(size))
        if numpy is not None:
            half = numpy.full((2, 3), rank, "f4")
            assert group.allgather(half).shape == (size, 2, 3)
            summed = group.allreduce(half, half)
            assert summed is half and (half == size * (size - 1) / 2).all()
        with box.group(range(size - 1, -1, -1), id=5) as turned:
            assert turned.rank == size - 1 - rank
            turned.barrier()
        group.barrier(timeout=LIMIT_S)


def locks(job):
    with job.mailbox() as box:
        segment = job.segment(SID, 1, "q")
        job.barrier()
        there = rhinet.at(0, SID)
        for _ in range(20):
            with box.lock(3):
                value = int.from_bytes(job.pull(there, length=8), sys.byteorder)
                job.push(there, (value + 1).to_bytes(8, sys.byteorder))
        job.barrier()
        assert job.rank != 0 or segment.array[0] == 20 * job.size
        if job.rank == 0:
            assert box.lock(1).try_acquire()
        job.barrier()
        if job.rank == job.size - 1 and job.size > 1:
            assert not box.lock(1).try_acquire()
            late = raises(rhinet.WaitTimeout, lambda: box.lock(1).acquire(0.5))
            assert "0.5 s in all" in late.text, late
        job.barrier()
        if job.rank == 0:
            box.lock(1).release()
        raises(rhinet.InvalidError, box.lock(1).release, "not held")
        job.barrier()  # who closes its mailbox looks after no lock any more


# ---- Shared memory -----------------------------------------------------------------------------

def dsm(job):
    with job.dsm(1 << 20, 16) as shared:
        counter, pair = shared.alloc(1, "q", name=1), shared.alloc((2, 2), "d", name=2)
        variable = shared.variable(3)
        if job.rank == 0:
            with variable.write():
                variable.bind(counter, pair)
                counter.array[0] = 0
        shared.barrier()
        for _ in range(10):
            with variable.write():
                counter.array[0] += 1
        shared.barrier(variable)
        with variable.read():
            assert counter.array[0] == 10 * job.size
        assert shared.stat()["write_hits"] + shared.stat()["write_misses"] >= 10
        assert 0 <= variable.owner() < job.size
        kept = counter.array
        shared.barrier()
        turn_wait(job, shared, variable, counter)
        late_barrier(job, shared)
    assert kept[0] == 0  # nobody's any more, but no crash
    raises(rhinet.ClosedError, lambda: counter.array)


def turn_wait(job, shared, variable, counter):
    if job.rank == job.size - 1:
        with variable.write():
            counter.array[0] += 1
            variable.broadcast()
    else:
        with variable.read():
            while counter.array[0] != 10 * job.size + 1:
                variable.wait()
    shared.barrier()


def late_barrier(job, shared):
    """Longer than a slice of waiting: entered once, also for the checker."""
    if job.rank == 0:
        time.sleep(0.5)
    shared.barrier()


# ---- Ends --------------------------------------------------------------------------------------

def survivors(job):
    """A rank dies: everybody else learns which."""
    segment = job.segment(SID, 64)
    job.barrier()
    victim = job.size - 1
    if job.rank == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    dead = raises(rhinet.DeadError, lambda: segment.wait(1, source=victim))
    assert dead.rank == victim and dead.code == -errno.ESRCH and dead.text == str(dead)
    transfer_of_the_dead(job, victim)
    assert job.peer_state(victim) == rhinet.DIED and job.acknowledge_deaths() == 1


def transfer_of_the_dead(job, victim):
    """What fails at once is no transfer: nothing is left that could be waited for."""
    data = bytearray(8)
    raises(rhinet.DeadError, lambda: job.push_start(rhinet.at(victim, SID), data))
    raises(rhinet.DeadError, lambda: job.pull_start(rhinet.at(victim, SID), data))
    assert not job._transfers
    data.append(1)  # it is not lent


def outlive(job):
    """Arrays that are kept when their memory is gone."""
    made = [job.segment(SID + k, 5000) for k in range(3)]
    views = [k.view for k in made]
    for k, view in enumerate(views):
        view[:5] = b"kept%d" % k
    made[1].close()
    raises(rhinet.ClosedError, lambda: made[1].view)
    job.close()
    job.close()
    assert [bytes(k[:6]) for k in views] == [b"kept%d\0" % k for k in range(3)]
    views[0][4999] = 1
    raises(rhinet.ClosedError, lambda: job.rank == job.pull(rhinet.at(0, SID), length=1))


def fails(job):
    """A child that cannot be closed does not keep the job from being left."""
    class Stubborn:
        def _close(self, _):
            raise OSError("will not")
    segment = job.segment(SID, 64)
    job._children_add(Stubborn())
    raises(OSError, job.close, "will not")
    assert not job.is_open and not segment.is_open


def interrupted(job):
    """Ctrl-C in waits: the lock that was waited for is free afterwards, whatever came when."""
    with job.mailbox() as box:
        lock, held = box.lock(2), box.lock(5)
        if job.rank == 0:
            held.acquire()
        job.barrier()
        if job.rank == 1:
            for wait in (held.acquire, lambda: box.recv(0, 9), lambda: box.recv(0, 9, bytearray(9)),
                         lambda: job.wait_segment(0, 99)):
                timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                raises(KeyboardInterrupt, wait)
                timer.join()
            assert not box._requests
            storm(lock)
        job.barrier()
        if job.rank == 0:
            held.release()
            assert lock.try_acquire(), "left held by an interrupted wait"
            lock.release()
        job.barrier()
        if job.rank == 1:
            assert held.try_acquire(), "left held by an interrupted wait"
            held.release()


def storm(lock):
    """Signals at any moment of acquiring and releasing."""
    count = [0]

    def interrupt(*_):
        count[0] += 1
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    deadline = time.monotonic() + LIMIT_S
    state = "free"
    while count[0] < 200 and time.monotonic() < deadline:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.00002 * (1 + count[0] % 23))
            while True:
                state = "unknown"
                lock.acquire()
                state = "held"
                lock.release()
                state = "free"
        except KeyboardInterrupt:
            if state == "unknown":  # in acquire(), which did not return: it must be free
                raises(rhinet.InvalidError, lock.release, "not held")
            elif state == "held":  # in release(), before or after it happened
                try:
                    lock.release()
                except rhinet.InvalidError:
                    pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    assert count[0] == 200


def lent_for_ever(job):
    """A detach that did not come to an end: the memory is never given back, also after leaving."""
    from rhinet import _buffers, _segment

    class Slow:  # as if a peer were stopped in the middle of a transfer
        def __getattr__(self, name):
            return (lambda *_: -errno.ETIMEDOUT) if name == "rh_segment_detach" \
                else getattr(rhinet._lib, name)
    lent, gone = bytearray(4096), bytearray(4096)
    one, other = job.attach(SID, lent), job.attach(SID + 1, gone)
    _segment.lib = Slow()
    raises(rhinet.WaitTimeout, one.close)
    assert one.is_open
    raises(BufferError, lambda: lent.append(1))
    del one
    raises(rhinet.WaitTimeout, job.close)  # but it is left
    assert not job.is_open and not other.is_open
    for memory in (lent, gone):
        raises(BufferError, lambda: memory.append(1))
    assert len({id(k.object) for k in _buffers.kept_for_ever}) == 2


def under_way(job):
    """A transfer whose flag says that it is under way keeps its memory, whatever a wait says."""
    from rhinet import _transfer
    job.segment(SID, 64)
    data = bytearray(8)
    transfer = job.push_start(rhinet.at(0, SID), data)
    transfer.wait()
    data.append(1)
    real, answers = _transfer.lib, {"rh_test_done": -errno.ESRCH, "rh_wait_done": -errno.ESRCH}

    class Dead:  # as if the peer had died before the flag was set
        def __getattr__(self, name):
            return (lambda *_: answers[name]) if name in answers else getattr(real, name)
    transfer = job.push_start(rhinet.at(0, SID), bytearray(8))
    transfer.wait()
    transfer = job.push_start(rhinet.at(0, SID), data[:8])
    lent = transfer._loan.object
    transfer._done.state = 0
    _transfer.lib = Dead()
    raises(rhinet.DeadError, transfer.test)
    raises(rhinet.DeadError, transfer.wait)
    raises(BufferError, lambda: lent.append(1))
    assert not transfer.is_over and len(job._transfers) == 1
    _transfer.lib = real
    transfer._done.state = 1
    assert transfer.withdraw() and transfer.is_over and transfer.test()
    lent.append(1)
    for _ in range(500):
        job.push_start(rhinet.at(0, SID), bytes(8))  # nobody waits for them
    assert len(job._transfers) < 200, len(job._transfers)


def unfinished(job):
    """A group that cannot be closed: the mailbox goes all the same, with what is under way."""
    from rhinet import _group
    box = job.mailbox()
    group, lent = box.group(), bytearray(8)
    request = box.irecv(0, lent, 3)
    raises(BufferError, lambda: lent.append(1))

    class Broken:
        def __getattr__(self, name):
            return (lambda *_: -errno.EINVAL) if name == "rh_set_destroy" \
                else getattr(rhinet._lib, name)
    real, _group.lib = _group.lib, Broken()
    raises(rhinet.InvalidError, box.close)
    _group.lib = real
    assert request.is_over and not group._handle.is_open and not box._handle.is_open
    lent.append(1)
    raises(rhinet.CanceledError, request.wait)


def forked(job):
    """A child has the parent's objects; their ends are not its own."""
    segment, lent = job.segment(SID, 64), job.attach(SID + 1, bytearray(64))
    view = lent.view
    box = job.mailbox()
    group = box.group()
    child = os.fork()
    if child == 0:
        for each in (group, box, segment, lent, job):
            each.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    job.push(rhinet.at(job.rank, SID), b"parent's")
    assert bytes(segment.view[:8]) == b"parent's" and group.allreduce(1) == job.size
    lent.close()
    view[0] = 1  # memory of the program, which the view holds
    with job.attach(SID + 1, b"constant", rhinet.READ) as constant:
        assert constant.view.readonly


def borrowed(job):
    """One mailbox, however often it is opened, also below shared memory."""
    with job.mailbox() as box:
        with job.dsm(1 << 16, 4) as shared:
            box.send(job.rank, b"both")
            box.close()
            shared.barrier()
        with job.mailbox() as again:
            assert again.recv().data == b"both"
    for _ in range(5):  # opened and closed while others send and meet
        with job.mailbox() as box, box.group() as group:
            box.send((job.rank + 1) % job.size, b"x")
            assert box.recv().data == b"x" and group.allreduce(1) == job.size
        job.barrier()


def opened(job):
    """A signal right after something was opened: it is closed again, and can be opened anew."""
    from rhinet import _library
    real = _library.check

    def struck(code):
        raise KeyboardInterrupt
    for make in (job.mailbox, lambda: job.queue(SID, 8, 8), lambda: job.dsm(1 << 16, 4)):
        _library.check = struck
        raises(KeyboardInterrupt, make)
        _library.check = real
        make().close()
    assert not job._children


def exits(job):
    """A rank that fails leaves at once; whoever waits for it learns that."""
    with job.mailbox() as box, box.group():
        try:
            with job:
                if job.rank == 0:
                    raise KeyError("of the program")
                gone = raises(rhinet.DeadError, lambda: box.recv(0))
                assert gone.rank == 0, gone
                raise KeyError("of the program")
        except KeyError:
            pass
    assert not job.is_open


CASES = {name: case for name, case in globals().items()
         if callable(case) and getattr(case, "__code__", None) is not None
         and case.__code__.co_varnames[:1] == ("job",) and case.__code__.co_argcount == 1}


def main():
    faulthandler.dump_traceback_later(LIMIT_S, exit=True)
    with rhinet.join() as job:
        rank = job.rank
        CASES[sys.argv[1]](job)
    print(f"rank {rank} {sys.argv[1]} right", flush=True)


if __name__ == "__main__":
    main()
