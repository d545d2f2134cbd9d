# SPDX-License-Identifier: BSD-3-Clause
"""For who comes from mpi4py: the calls that most programs use, on rhinet, in a class to copy. Names
with capitals pass buffers, those without pass any object, pickled.

    rhinet run -n 4 python3 mpi_style.py
"""

import pickle

import rhinet


class Comm:
    """As MPI.COMM_WORLD."""

    def __init__(self, job):
        self.job = job
        self.mailbox = job.mailbox()
        self.group = self.mailbox.group()

    def Get_rank(self):
        return self.group.rank

    def Get_size(self):
        return self.group.size

    def Send(self, buffer, dest, tag=0):
        self.mailbox.send(dest, buffer, tag)

    def Recv(self, buffer, source=rhinet.ANY_RANK, tag=rhinet.ANY_TAG):
        return self.mailbox.recv(source, tag, into=buffer)

    def Allreduce(self, source, target, op=rhinet.SUM):
        return self.group.allreduce(source, target, op)

    def Barrier(self):
        self.group.barrier()

    def send(self, thing, dest, tag=0):
        self.mailbox.send(dest, pickle.dumps(thing), tag)

    def recv(self, source=rhinet.ANY_RANK, tag=rhinet.ANY_TAG):
        return pickle.loads(self.mailbox.recv(source, tag).data)

    def bcast(self, thing, root=0):
        data = pickle.dumps(thing) if self.Get_rank() == root else b""
        length = self.group.allreduce(len(data), op=rhinet.MAX)
        return pickle.loads(self.group.broadcast(bytearray(data.ljust(length, b"\0")), root))

    def gather(self, thing, root=0):
        """Objects differ in length, so the longest says how much each member has room for."""
        data = pickle.dumps(thing)
        length = self.group.allreduce(len(data), op=rhinet.MAX)
        rows = self.group.gather(data.ljust(length, b"\0"), root=root)
        if rows is None:
            return None
        return [pickle.loads(rows[at:at + length]) for at in range(0, len(rows), length)]


def pi(comm, steps):
    """Each rank has every size-th rectangle below 4 / (1 + x * x)."""
    rank, size = comm.Get_rank(), comm.Get_size()
    steps = comm.bcast(steps if rank == 0 else None)
    part = sum(4 / (1 + ((i + 0.5) / steps) ** 2) for i in range(rank, steps, size)) / steps
    return comm.group.allreduce(part)


def main():
    with rhinet.join() as job:
        comm = Comm(job)
        rank, size = comm.Get_rank(), comm.Get_size()
        value = pi(comm, 20000)
        comm.send({"rank": rank, "even": rank % 2 == 0}, (rank + 1) % size)
        assert comm.recv((rank - 1) % size)["rank"] == (rank - 1) % size
        everybody = comm.gather(f"rank {rank} " + "is here" * (rank % 2))
        if rank == 0:
            print(f"{size} ranks: pi is about {value:.6f}; {len(everybody)} answers", flush=True)
        comm.Barrier()


if __name__ == "__main__":
    main()
