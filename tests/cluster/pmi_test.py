# SPDX-License-Identifier: BSD-3-Clause
"""A launcher that answers wrongly, late or not at all: one process of a job, and a launcher (PMI-1,
PMI-2, PMIx) that plays all the others. Whatever it says, the process ends by itself, says what was
wrong, and leaves nothing running."""
import os
import re
import shutil
import socket
import threading
import unittest

import cluster_harness as harness
from cluster_harness import MEMBER

LIBRARY = os.environ["TEST_LIBRARY"]  # folder of librhinet.so
FAKE_PMIX = os.environ.get("TEST_FAKE_PMIX")  # a libpmix of ours; none where PMIx is not supported
ELSEWHERE = "boot.1.2/elsewhere/77"
JOB = "0123456789abcdef" + "ab" * 32
CLOSE, SILENCE = object(), object()
SAME = object()  # a host: that of rank 1

# What PMI-1 and PMI-2 call the same thing: request, and answer.
WORDS = {1: {"space": ("get_my_kvsname", "my_kvsname"), "put": ("put", "put_result"),
             "fence": ("barrier_in", "barrier_out"), "get": ("get", "get_result"),
             "finalize": ("finalize", "finalize_ack")},
         2: {"space": ("fullinit", "fullinit-response"), "put": ("kvs-put", "kvs-put-response"),
             "fence": ("kvs-fence", "kvs-fence-response"), "get": ("kvs-get", "kvs-get-response"),
             "finalize": ("finalize", "finalize-response")}}


class Server(threading.Thread):
    """A launcher's end of the socket. `odd` has what it answers other than usual, by the step:
    "init", "space", "put KEY", "fence 1", "get KEY", "finalize": text after the answer's name, or
    bytes as they are."""

    def __init__(self, line, version, values, odd):
        super().__init__(daemon=True)
        self.line, self.version = line, version
        self.values, self.odd = dict(values), odd
        self.fences = 0

    def run(self):
        with self.line, self.line.makefile("rb") as received:
            try:
                while self.answer(received):
                    pass
            except OSError:
                pass  # it has ended

    def answer(self, received):
        is_line = self.version == 1 or not hasattr(self, "is_begun")
        request = received.readline() if is_line else received.read(int(received.read(6) or b"0"))
        self.is_begun = True
        if not request.strip():
            return False
        fields = dict(field.split("=", 1) for field in
                      re.split("[ ;]", request.decode().strip().rstrip(";")))
        step, name, text = self.usual(fields)
        odd = self.odd.get(step, text)
        if odd is SILENCE:
            return True
        if odd is CLOSE:
            return False
        if isinstance(odd, str):
            odd = self.packed(name, odd, is_line)
        self.line.sendall(odd)
        return odd[-1:] != b"\0"  # for an answer that ends in the middle

    def packed(self, name, text, is_line):
        if is_line:
            return f"cmd={name} {text}\n".encode()
        said = f"cmd={name};{text};".encode()
        return b"%6d" % len(said) + said

    def usual(self, fields):
        """What step that is, the name of the answer, and what stands in it."""
        command = fields["cmd"]
        if command == "init":
            return "init", "response_to_init", f"rc=0 pmi_version={self.version}"
        kind = next(kind for kind, (asked, _) in WORDS[self.version].items() if asked == command)
        name = WORDS[self.version][kind][1]
        if kind == "space":
            return kind, name, "kvsname=fake" if self.version == 1 else "rc=0"
        if kind == "put":
            self.values[fields["key"]] = fields["value"]
        if kind == "fence":
            self.fences += 1
            return f"fence {self.fences}", name, "rc=0"
        if kind == "get":
            between = " " if self.version == 1 else ";"
            value = self.values.get(fields["key"], f"boot.1.2/{fields['key']}/5")
            if value is SAME:
                value = self.values["rhinet-host-1"]
            return f"get {fields['key']}", name, f"rc=0{between}value={value}"
        return (f"put {fields['key']}" if kind == "put" else kind), name, "rc=0"


class Launcher(harness.ClusterTest):
    def join(self, version, odd, rank=1, size=2, values=(), **settings):
        """Exit status and words of a process whose launcher is odd."""
        ours, theirs = socket.socketpair()
        server = Server(ours, version, {"rhinet-host-0": ELSEWHERE, "rhinet-job-0": JOB,
                                        "rhinet-coordinator-0": "127.0.0.1:9", **dict(values)}, odd)
        server.start()
        with theirs:
            job = self.start(MEMBER, "hello", pass_fds=[theirs.fileno()], environment={
                "RHINET_STARTER": f"pmi{version}", "PMI_FD": str(theirs.fileno()),
                "PMI_RANK": str(rank), "PMI_SIZE": str(size), **settings})
        status, out, err = self.finish(job)
        server.join(10)
        self.assertFalse(server.is_alive())
        return status, out + err

    def check(self, said, odd, versions=(1, 2), unsaid=None, **more):
        for version in versions:
            with self.subTest(version=version, odd=odd, **more):
                status, words = self.join(version, odd, **more)
                self.assertEqual(status, 1, words)
                self.assertRegex(words, f"cannot join: .*{said}")
                if unsaid:
                    self.assertNotIn(unsaid, words)

    def test_beginning(self):
        self.check('it answers "cmd=response_to_init rc=-1"', {"init": "rc=-1"})
        self.check('it answers "cmd=surprise"', {"init": b"cmd=surprise\n"})
        self.check('it answers "hello"', {"init": b"hello\n"})
        self.check("it is closed", {"init": CLOSE})
        self.check("it is closed", {"init": b"cmd=respon\0"})
        self.check("it is closed", {"space": CLOSE})
        self.check("no answer in time", {"space": SILENCE}, RHINET_TIMEOUT="200ms")

    def test_no_space(self):
        self.check("no key-value space", {"space": "rc=0"}, versions=[1])
        self.check("no key-value space", {"space": "kvsname=" + "x" * 300}, versions=[1])
        self.check('it answers "cmd=fullinit-response;rc=5', {"space": "rc=5"}, versions=[2])

    def test_lengths(self):
        """PMI-2 says how long an answer is."""
        for odd in (b"abcdef", b"999999", b"  2048", b"      ", b"    -1"):
            self.check("an answer makes no sense", {"space": odd}, versions=[2])
        for odd in (b"   \0", b"    20cmd=fullinit\0"):
            self.check("it is closed", {"space": odd}, versions=[2])

    def test_refused(self):
        """Every step of the processes' meeting, by the first rank of a host and by rank 0."""
        for step in ("put rhinet-host-1", "fence 1", "get rhinet-host-0", "get rhinet-host-1",
                     "get rhinet-job-0", "put rhinet-socket-1", "fence 2",
                     "get rhinet-coordinator-0"):
            self.check('it answers "cmd=[a-z_-]+[ ;]rc=9', {step: "rc=9"})
        for step in ("put rhinet-job-0", "put rhinet-coordinator-0", "get rhinet-socket-0"):
            self.check('it answers "cmd=[a-z_-]+[ ;]rc=9', {step: "rc=9"}, rank=0,
                       values={"rhinet-host-1": ELSEWHERE},
                       RHINET_TIMEOUT="2s")  # the task manager waits so long for the other one
        for step in ("put rhinet-host-1", "get rhinet-job-0", "fence 2"):
            self.check("it is closed", {step: CLOSE})

    def test_values(self):
        for text in ("rc=0", "rc=0 value=" + "x" * 600, "value"):
            self.check("a value is missing",
                       {"get rhinet-host-0": text.replace(" ", ";")}, versions=[2])
            self.check("a value is missing", {"get rhinet-host-0": text}, versions=[1])

    def test_hosts(self):
        for host in ("nohost", "a/b/0", "a/b/", "a/b/-1", "a/b/99999999999", "a/b/x"):
            self.check(f'"{host}" describes no host', {}, values={"rhinet-host-0": host})
        self.check("more than 4096 hosts", {}, versions=[2], rank=4097, size=4098)

    def test_job(self):
        for text in ("short", JOB + "0", "x" * 80, JOB[:16] + "x" * 64, JOB[:-1] + "x"):
            self.check(f"about the job is not 80 hexadecimal digits but {len(text)} characters", {},
                       values={"rhinet-job-0": text}, unsaid=text[16:48])

    def test_coordinator(self):
        for text in ("-", "nonsense", "1.2.3.4:x"):
            self.check(f'rank 0 says "{text}" is its task manager', {},
                       values={"rhinet-coordinator-0": text})

    def test_nobody_at_the_socket(self):
        """Rank 0 is on this host, but has gone."""
        for name in ("nobody", "x" * 300):
            self.check("the task manager of this host does not answer", {},
                       values={"rhinet-host-0": SAME, "rhinet-socket-0": name})

    def test_numbers(self):
        wrong = "PMI_FD, PMI_RANK or PMI_SIZE is missing or makes no sense"
        for settings in ({"PMI_RANK": "2"}, {"PMI_RANK": "x"}, {"PMI_SIZE": "99999999999"},
                         {"PMI_SIZE": "0"}, {"PMI_FD": "-1"}, {"PMI_FD": ""}):
            self.check(wrong, {}, **settings)
        self.check("Bad file descriptor", {}, PMI_FD="987")
        self.check("non-socket", {}, PMI_FD="0")

    def test_the_name_of_the_job(self):
        """PMI-2's; a long one, or none."""
        for name in ("a" * 100, ""):
            self.check("rc=9", {"fence 1": "rc=9"}, versions=[2], PMI_JOBID=name)

    def test_half_of_pmix(self):
        """A rank without a name space is nobody's."""
        job = self.start(MEMBER, "hello", environment={"PMIX_RANK": "0"})
        status, out, err = self.finish(job)
        self.assertEqual((status, out.count("rank 0 of 1 ")), (0, 1), err)


@unittest.skipUnless(FAKE_PMIX, "built without PMIx")
class Pmix(harness.ClusterTest):
    def join(self, library=FAKE_PMIX, **settings):
        shutil.copy(library, os.path.join(self.folder, "libpmix.so.2"))
        job = self.start(MEMBER, "hello", environment={
            "LD_LIBRARY_PATH": self.folder, "PMIX_RANK": "1", "PMIX_NAMESPACE": "fake",
            "FAKE_SIZE": "2", "FAKE_rhinet_host": ELSEWHERE, "FAKE_rhinet_job": JOB, **settings})
        return self.finish(job)

    def check(self, said, is_begun=True, **settings):
        with self.subTest(**settings):
            status, out, err = self.join(**settings)
            self.assertEqual((status, out), (1, ""), err)
            self.assertRegex(err, f"cannot join: .*{said}")
            self.assertEqual(err.count("finalized"), is_begun, err)

    def test_alone(self):
        status, out, err = self.join(FAKE_SIZE="1", PMIX_RANK="0")
        self.assertEqual((status, out.count("rank 0 of 1 ")), (0, 1), err)
        self.assertEqual(err.count("finalized"), 1, err)

    def test_refused(self):
        self.check("PMIx_Init: fake error -25", is_begun=False, FAKE_FAILS="Init")
        for step in ("Put", "Commit", "Fence"):
            self.check(f"PMIx_{step}: fake error -25", FAKE_FAILS=step)
        self.check("PMIx_Get of the job's size: fake error", FAKE_FAILS="size")
        self.check("PMIx_Get: fake error", FAKE_FAILS="rhinet-host")
        self.check("PMIx_Get: fake error", FAKE_FAILS="rhinet-job")
        self.check("PMIx_Get: fake error -46", PMIX_RANK="1")  # nobody has put a socket's name

    def test_strange(self):
        for size in ("text", "0", "4294967295"):
            self.check("PMIx brings a strange job size", FAKE_SIZE=size)
        for value in ("#", "x" * 600):
            self.check("PMIx brings a strange rhinet-host", FAKE_rhinet_host=value)
        for rank in ("2", "4294967294"):
            self.check("PMIx says rank .* of 2", PMIX_RANK=rank)

    def test_another_library_of_that_name(self):
        self.check("libpmix.so.2 cannot be loaded: .*PMIx_Init", is_begun=False,
                   library=os.path.join(LIBRARY, "librhinet.so.0"))
        self.check("libpmix.so.2 cannot be loaded: .*(too short|invalid ELF)", is_begun=False,
                   library=__file__)


if __name__ == "__main__":
    harness.main()
