# SPDX-License-Identifier: BSD-3-Clause
"""rhinet run: statuses, messages, input, output, options. The ranks are plain programs, most of
which never join: that must work too."""
import os
import re
import resource
import signal
import stat
import subprocess
import time

import harness
from harness import program

LINES = """BEGIN {
    for (i = 0; i < 3000; i++) {
        printf "line %d", i; if (i % 7 == 0) fflush();
        printf " of %s %0*d\\n", who, i % 90 + 1, i; if (i % 11 == 0) fflush();
    }
}"""


class Status(harness.SystemTest):
    def test_success(self):
        status, out, err = self.run_job("-n", 4, "/bin/echo", "hello")
        self.assertEqual((status, out, err), (0, "hello\n" * 4, ""))

    def test_first_failing_rank_decides(self):
        status, _, err = self.run_job("-n", 3, "sh", "-c", "exit 7")
        self.assertEqual(status, 7)
        self.assertRegex(err, r"^rhinet run: rank \d \(pid \d+\) ended with status 7; "
                              r"ending the job$")

    def test_failure_ends_the_others(self):
        status, _, err = self.run_job("-n", 4, "sh", "-c", "read x && exit 3; exec sleep 1000",
                                      text_in="go\n")
        self.assertEqual(status, 3)
        self.assertRegex(err, r"rank 0 \(pid \d+\) ended with status 3; ending the job")

    def test_signal_is_named(self):
        for number, name in ((signal.SIGSEGV, "Segmentation fault"), (signal.SIGKILL, "Killed")):
            with self.subTest(signal=name):
                status, _, err = self.run_job("-n", 2, "sh", "-c", f"kill -{int(number)} $$")
                self.assertEqual(status, 128 + number)
                self.assertRegex(err, rf"rank \d \(pid \d+\) was killed by signal {int(number)} "
                                      rf"\({name}\); ending the job")

    def test_survive_lets_the_others_finish(self):
        status, out, err = self.run_job("-n", 4, "--survive", "sh", "-c",
                                        "read x && kill -9 $$; sleep 0.2; echo done",
                                        text_in="go\n")
        self.assertEqual(status, 128 + 9)
        self.assertEqual(out, "done\n" * 3)
        self.assertRegex(err, r"rank 0 \(pid \d+\) was killed by signal 9 \(Killed\); "
                              r"the others go on")

    def test_timeout(self):
        status, _, err = self.run_job("-n", 2, "--timeout", "0.2", "sleep", "1000")
        self.assertEqual(status, 124)
        self.assertIn("not over after 0.2 s (--timeout)", err)

    def test_timeout_of_ranks_that_ignore_sigterm(self):
        status, _, _ = self.run_job("-n", 2, "--timeout", "0.2", "sh", "-c",
                                    "trap '' TERM; while :; do sleep 0.05; done")
        self.assertEqual(status, 124)

    def test_many_more_ranks_than_cores(self):
        status, out, err = self.run_job("-n", 64, program("member"), "hello")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(out.split("\n")[:-1], key=lambda line: int(line.split()[1])),
                         [f"rank {rank} of 64" for rank in range(64)])


class CannotStart(harness.SystemTest):
    def test_not_found(self):
        for name in ("no-such-program", "./no-such-program", "/no/such/program"):
            status, out, err = self.run_job("-n", 4, name)
            self.assertEqual((status, out), (127, ""))
            self.assertIn(f'cannot execute "{name}"', err)

    def test_not_executable(self):
        folder = harness.temporary_folder(self)
        path = os.path.join(folder, "plain")
        with open(path, "w") as file:
            file.write("just text\n")
        for name in (path, folder):
            status, _, err = self.run_job("-n", 4, name)
            self.assertEqual(status, 126)
            self.assertIn(f'cannot execute "{name}"', err)
        os.chmod(path, stat.S_IRWXU)
        status, _, err = self.run_job("-n", 4, path)
        self.assertEqual(status, 126)
        self.assertIn("no #! line", err)

    def test_interpreter_missing(self):
        path = os.path.join(harness.temporary_folder(self), "script")
        with open(path, "w") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(path, stat.S_IRWXU)
        status, _, err = self.run_job("-n", 4, path)
        self.assertEqual(status, 127)
        self.assertIn("interpreter", err)

    def test_bad_usage(self):
        for words in ((), ("true",), ("-n",), ("-n", "0", "true"), ("-n", "x", "true"),
                      ("-n", "2"), ("--bind", "x", "-n", "2", "true"), ("--frob", "true"),
                      ("-n", "2", "--nic", "nosuch", "true"), ("-n", "2", "--timeout", "0", "true"),
                      ("-n", "2", "--env", "NOVALUE", "true"), ("-n", "2", "--env", "=x", "true"),
                      ("-n", "2", "--nic", "", "true")):
            with self.subTest(words=words):
                status, out, err = self.run_job(*words)
                self.assertEqual((status, out), (2, ""))
                self.assertIn("rhinet run: ", err)

    def test_bad_setting_starts_nothing(self):
        status, out, err = self.run_job("-n", 2, "--env", "RHINET_TIMEOUT=soon", "echo", "started")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("RHINET_TIMEOUT", err)

    def test_too_few_descriptors(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
        for more in ((), ("--label",)):
            status, out, err = self.run_job("-n", 64, *more, "echo", "started", preexec_fn=limit)
            self.assertEqual(status, 1)
            self.assertIn("descriptor", err)
            self.assertIn("ulimit -n", err)
            self.assertEqual(out, "")

    def test_descriptor_limit_at_every_value(self):
        need = None
        for count in range(4, 64):
            def limit():
                resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
            status, out, err = self.run_job("-n", 4, "--label", "echo", "started", preexec_fn=limit)
            if status == 0:
                self.assertEqual(out.count("started\n"), 4)
                need = count
                break
            self.assertTrue(err, f"silent with {count} descriptors")
        self.assertIsNotNone(need)


class Output(harness.SystemTest):
    def check_lines(self, text, size):
        seen = {}
        for line in text.splitlines():
            match = re.fullmatch(r"\[(\d+)\] line (\d+) of (\d+) (\d+)", line)
            self.assertTrue(match, f"mixed up: {line!r}")
            rank, number, who, padded = match.groups()
            self.assertEqual(int(padded), int(number))
            seen.setdefault(rank, []).append((int(number), who))
        self.assertEqual(len(seen), size)
        for lines in seen.values():
            self.assertEqual([number for number, _ in lines], list(range(3000)))
            self.assertEqual(len({who for _, who in lines}), 1)

    def test_label_loses_and_mixes_nothing(self):
        for size, target in ((24, ""), (8, " >&2")):
            status, out, err = self.run_job("-n", size, "--label", "sh", "-c",
                                            f"awk -v who=$$ '{LINES}'{target}")
            self.assertEqual(status, 0)
            self.check_lines(err if target else out, size)
            self.assertEqual(out if target else err, "")

    def test_label_with_both_in_one_pipe(self):
        script = f"awk -v who=$$ '{LINES}' & awk -v who=1 '{LINES}' >&2; wait"
        status, out, _ = self.run_job("-n", 4, "--label", "sh", "-c", script,
                                      stderr=subprocess.STDOUT)
        self.assertEqual(status, 0)
        lines = out.splitlines()
        self.assertEqual(len(lines), 4 * 2 * 3000)
        for line in lines:
            self.assertRegex(line, r"^\[\d\] line \d+ of \d+ \d+$")

    def test_label_with_a_slow_reader(self):
        job = self.start("-n", 8, "--label", "sh", "-c", f"awk -v who=$$ '{LINES}'")
        time.sleep(0.5)  # all pipes and buffers are full by now
        status, out, _ = job.finish()
        self.assertEqual(status, 0)
        self.check_lines(out, 8)

    def test_last_line_without_newline(self):
        status, out, _ = self.run_job("-n", 3, "--label", "printf", "no newline")
        self.assertEqual(status, 0)
        self.assertEqual(sorted(out.splitlines()), [f"[{rank}] no newline" for rank in range(3)])

    def test_endless_line_is_broken(self):
        status, out, _ = self.run_job("-n", 2, "--label", "sh", "-c",
                                      "head -c 1000000 /dev/zero | tr '\\0' x")
        self.assertEqual(status, 0)
        for rank in range(2):
            pieces = [line[4:] for line in out.splitlines() if line.startswith(f"[{rank}] ")]
            self.assertEqual("".join(pieces), "x" * 1000000)
            self.assertLessEqual(max(map(len, pieces)), 65536)

    def test_output_of_a_crashed_rank_is_kept(self):
        status, out, err = self.run_job("-n", 2, "--label", "--survive", "sh", "-c",
                                        "printf last; kill -9 $$")
        self.assertEqual(status, 137)
        self.assertEqual(sorted(out.splitlines()), ["[0] last", "[1] last"])
        self.assertEqual(err.count("was killed by signal 9"), 2)

    def test_reader_goes_away(self):
        for words in (("--label",), ()):
            job = self.start("-n", 2, *words, "yes")
            job.process.stdout.readline()
            job.process.stdout.close()
            job.process.stdout = None
            status, _, err = job.finish()
            self.assertEqual(status, 128 + signal.SIGPIPE)
            self.assertIn("signal 13", err)

    def test_pipe_ends_with_the_job(self):
        # A guard that held our stdout would keep cat waiting.
        done = subprocess.run(["sh", "-c", f'"{harness.RHINET}" run -n 2 echo hi | cat'],
                              capture_output=True, text=True, timeout=harness.HANG_S)
        self.assertEqual(done.stdout, "hi\nhi\n")

    def test_closed_standard_descriptors(self):
        done = subprocess.run(["sh", "-c", f'"{harness.RHINET}" run -n 2 --label echo hi '
                                           "<&- >&- 2>&-"], timeout=harness.HANG_S)
        self.assertEqual(done.returncode, 0)


class Surroundings(harness.SystemTest):
    def test_stdin_goes_to_rank_0(self):
        status, out, _ = self.run_job("-n", 3, "--label", "cat", text_in="one\ntwo\n")
        self.assertEqual((status, out), (0, "[0] one\n[0] two\n"))

    def test_stdin_from_a_terminal(self):
        job = self.start("-n", 2, "sh", "-c", "read x && echo got $x; true", terminal=True)
        os.write(job.terminal, b"word\n")
        text = b""
        while b"got word" not in text:
            text += os.read(job.terminal, 4096)
        os.waitpid(job.pid, 0)

    def test_end_of_input_from_a_terminal(self):
        job = self.start("-n", 1, "cat", terminal=True)
        os.write(job.terminal, b"word\n\x04")
        _, status = os.waitpid(job.pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_environment(self):
        status, out, _ = self.run_job("-n", 2, "--env", "COLOUR=red", "--env", "EMPTY=",
                                      "--nic", "shm", "sh", "-c", 'echo $COLOUR-$EMPTY-$RHINET_NIC')
        self.assertEqual((status, out), (0, "red--shm\n" * 2))

    WHO = ('echo "$RHINET_RANK/$RHINET_SIZE/$RHINET_LOCAL_RANK/$RHINET_LOCAL_SIZE '
           '$RANK/$WORLD_SIZE/$LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT"')

    def test_ranks_are_told_who_they_are(self):
        status, out, err = self.run_job("-n", 3, "sh", "-c", self.WHO)
        self.assertEqual((status, err), (0, ""))
        found = sorted(line.split() for line in out.splitlines())
        self.assertEqual([words[:3] for words in found],
                         [[f"{rank}/3/{rank}/3"] * 2 + ["127.0.0.1"] for rank in range(3)])
        ports = {int(words[3]) for words in found}
        self.assertEqual(len(ports), 1, out)
        self.assertTrue(1024 <= ports.pop() <= 65535, out)

    def test_what_the_user_has_set_stays(self):
        given = {"RANK": "x", "LOCAL_RANK": "", "MASTER_ADDR": "there", "MASTER_PORT": "99"}
        status, out, err = self.run_job("-n", 2, "sh", "-c", self.WHO, environment=given)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()),
                         [f"{rank}/2/{rank}/2 x/2/{rank}/2 there 99" for rank in range(2)])

    def test_a_job_inside_a_job_has_its_own_ranks(self):
        status, out, err = self.run_job("-n", 1, "--env", "RHINET_RANK=7", harness.RHINET, "run",
                                        "-n", 2, "sh", "-c", self.WHO,
                                        environment={"RANK": "x", "MASTER_PORT": "99"})
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(line.rsplit(" ", 1)[0] for line in out.splitlines()),
                         [f"{rank}/2/{rank}/2 " * 2 + "127.0.0.1" for rank in range(2)])
        self.assertNotIn(" 99", out)

    def test_a_misspelt_setting_is_warned_about_once(self):
        status, out, err = self.run_job("-n", 4, program("member"),
                                        environment={"RHINET_TIMOUT": "5s"})
        self.assertEqual((status, len(out.splitlines())), (0, 4))
        self.assertEqual(err, "rhinet: warning: RHINET_TIMOUT is not a setting; did you mean "
                              "RHINET_TIMEOUT?\n")

    def test_words_after_the_program_are_its_own(self):
        status, out, _ = self.run_job("-n", 1, "--", "echo", "-n", "--label", "--")
        self.assertEqual((status, out), (0, "--label --"))

    def test_bind(self):
        cores = sorted(os.sched_getaffinity(0))
        show = "import os; print(sorted(os.sched_getaffinity(0)))"
        for how in ("core", "none"):
            status, out, _ = self.run_job("-n", 4, "--label", "--bind", how,
                                          "/usr/bin/python3", "-c", show)
            self.assertEqual(status, 0)
            for line in out.splitlines():
                rank = int(line[1])
                want = [cores[rank % len(cores)]] if how == "core" else cores
                self.assertEqual(line, f"[{rank}] {want}")

    def test_cores_by_default(self):
        """One for each, if there are enough of those that we may use; else, or alone, all."""
        cores = sorted(os.sched_getaffinity(0))
        show = "import os; os.write(1, (' '.join(map(str, sorted(os.sched_getaffinity(0)))) + " \
               "'\\n').encode())"  # at once: the lines of all go into one pipe
        for count, allowed in ((1, cores), (len(cores), cores), (len(cores) + 1, cores),
                               (2, cores[:1])):
            # Labelled: else lines of two ranks may come out as one.
            status, out, err = self.run_job("-n", count, "--label", "/usr/bin/python3", "-c", show,
                                            preexec_fn=lambda: os.sched_setaffinity(0, allowed))
            self.assertEqual(status, 0, err)
            found = sorted(line.split("] ", 1)[1] for line in out.splitlines())
            if 1 < count <= len(allowed):
                self.assertEqual(found, sorted(map(str, allowed)))
            else:
                self.assertEqual(found, [" ".join(map(str, allowed))] * count)

    def test_limits_signals_and_descriptors_are_as_before(self):
        def soft_limit():
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
        script = 'ulimit -n; grep -E "^Sig(Blk|Ign)" /proc/self/status; ls /proc/self/fd'
        plain = subprocess.run(["sh", "-c", script], capture_output=True, text=True,
                               preexec_fn=soft_limit, stdin=subprocess.DEVNULL)
        status, out, _ = self.run_job("-n", 1, "sh", "-c", script, preexec_fn=soft_limit)
        self.assertEqual(status, 0)
        # One descriptor more: the connection to the task manager.
        self.assertEqual(len(out.split()), len(plain.stdout.split()) + 1)
        self.assertEqual(out.splitlines()[:3], plain.stdout.splitlines()[:3])

    def test_jobs_in_jobs(self):
        status, out, err = self.run_job("-n", 2, harness.RHINET, "run", "-n", 2,
                                        program("member"), "hello")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()),
                         ["rank 0 of 2", "rank 0 of 2", "rank 1 of 2", "rank 1 of 2"])

    def test_members_behind_a_shell(self):
        status, out, err = self.run_job("-n", 4, "sh", "-c", f"'{program('member')}' hello; true")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(len(out.splitlines()), 4)


if __name__ == "__main__":
    harness.main()
