# SPDX-License-Identifier: BSD-3-Clause
"""However a job ends, nothing of it is left running: interrupted, launcher killed, guard killed,
ranks that ignore signals, ranks behind shells, descendants that went their own way."""
import os
import signal
import subprocess
import time

import harness
from harness import children, guard_of, program, ranks_of, stat_fields, wait_until

STUBBORN = "trap '' INT TERM HUP QUIT; while :; do sleep 0.05; done"
WRAPPED = "sleep 1000; true"  # the shell has to stay, and sleep is its child


class Interrupted(harness.SystemTest):
    def check_signal(self, number, *words):
        job = self.start("-n", 4, *words)
        wait_until(lambda: len(ranks_of(job.pid)) == 4)
        os.kill(job.pid, number)
        status, _, err = job.finish()
        self.assertEqual(status, 128 + number)
        self.assertIn(f"received signal {int(number)} ", err)
        self.check_job_gone(job)

    def test_each_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            for script in ("exec sleep 1000", WRAPPED, STUBBORN):
                with self.subTest(signal=number, script=script):
                    self.check_signal(number, "sh", "-c", script)

    def test_members_that_wait(self):
        self.check_signal(signal.SIGINT, program("member"), "idle")

    def test_ctrl_c_on_a_terminal(self):
        job = self.start("-n", 3, "sh", "-c", "echo up; sleep 1000", terminal=True)
        text = b""
        while text.count(b"up") < 3:
            text += os.read(job.terminal, 4096)
        os.write(job.terminal, b"\x03")
        _, status = os.waitpid(job.pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 130)
        self.check_job_gone(job)

    def test_ranks_may_tidy_up(self):
        job = self.start("-n", 2, "sh", "-c", "trap 'echo tidy; exit 0' TERM; echo up; "
                                              "while :; do sleep 0.01; done",
                         environment={"RHINET_GRACE": "30s"})
        for _ in range(2):
            job.process.stdout.readline()
        os.kill(job.pid, signal.SIGTERM)
        status, out, _ = job.finish()
        self.assertEqual((status, out), (128 + signal.SIGTERM, "tidy\n" * 2))

    def test_nobody_reads_the_output(self):
        job = self.start("-n", 2, "--label", "yes")
        wait_until(lambda: len(ranks_of(job.pid)) == 2)
        time.sleep(0.3)
        os.kill(job.pid, signal.SIGINT)
        job.process.wait(harness.HANG_S)
        self.assertEqual(job.process.returncode, 130)

    def test_ignored_hangup_stays_ignored(self):
        job = self.start("-n", 2, "sh", "-c", "echo up; sleep 0.5; echo over",
                         preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        job.process.stdout.readline()
        os.kill(job.pid, signal.SIGHUP)
        status, out, _ = job.finish()
        self.assertEqual(status, 0)
        self.assertEqual(out.count("over"), 2)

    def test_stop_and_continue(self):
        job = self.start("-n", 2, "sleep", "1000")
        ranks = wait_until(lambda: len(ranks_of(job.pid)) == 2 and ranks_of(job.pid))
        os.kill(job.pid, signal.SIGTSTP)
        everybody = [job.pid, *ranks]
        self.assertTrue(wait_until(lambda: {stat_fields(pid)[0] for pid in everybody} == {"T"}))
        os.kill(job.pid, signal.SIGCONT)
        self.assertTrue(wait_until(lambda: "T" not in {stat_fields(pid)[0] for pid in everybody}))
        os.kill(job.pid, signal.SIGINT)
        self.assertEqual(job.finish()[0], 130)


class LeftBehind(harness.SystemTest):
    def test_descendants_end_with_the_job(self):
        for script in ("sleep 1000 &", "setsid sleep 1000 & sleep 0.1",
                       "setsid sh -c 'setsid sh -c \"sleep 1000; true\"; true' & sleep 0.2"):
            with self.subTest(script=script):
                for words in ((), ("--label",)):
                    status, _, _ = self.run_job("-n", 3, *words, "sh", "-c", script)
                    self.assertEqual(status, 0)

    def test_no_zombie_is_kept_of_strangers(self):
        job = self.start("-n", 1, "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do "
                         "(setsid true &); done; echo up; sleep 1000")
        job.process.stdout.readline()
        # Several may end at once and be told of once: the launcher need not reap all at once.
        self.assertTrue(wait_until(lambda: len(children(job.pid)) < 2 + 8))
        os.kill(job.pid, signal.SIGTERM)
        job.finish()

    def test_ended_ranks_keep_their_number(self):
        script = 'read x; sleep 0.2; [ "$x" ] && exec sleep 1000; true'
        job = self.start("-n", 4, "sh", "-c", script,
                         stdin=subprocess.PIPE)
        job.process.stdin.write("stay\n")
        job.process.stdin.flush()
        states = lambda: sorted(stat_fields(pid)[0] for pid in children(job.pid))
        self.assertTrue(wait_until(lambda: states().count("Z") == 3))
        os.kill(job.pid, signal.SIGTERM)
        job.finish()


class Wrapped(harness.SystemTest):
    """A shell stands between the launcher and the member, as in job scripts."""

    def test_death_of_a_member_whose_child_has_its_socket(self):
        job = self.start("-n", 2, "--survive", "sh", "-c",
                         f"'{program('member')}' orphan || exec sleep 100")
        line = job.process.stdout.readline()
        self.assertRegex(line, "rank 0 has ended without leaving the job")
        self.assertIsNone(job.process.poll())  # the shell goes on
        os.kill(job.pid, signal.SIGTERM)
        job.finish()


class LauncherKilled(harness.SystemTest):
    def check_killed(self, *words):
        job = self.start("-n", 4, *words)
        wait_until(lambda: len(ranks_of(job.pid)) == 4 and guard_of(job.pid))
        time.sleep(0.1)
        os.kill(job.pid, signal.SIGKILL)
        job.finish()
        self.check_job_gone(job)

    def test_plain_ranks(self):
        self.check_killed("sleep", "1000")

    def test_ranks_behind_a_shell(self):
        self.check_killed("sh", "-c", WRAPPED)

    def test_stubborn_ranks(self):
        self.check_killed("--label", "sh", "-c", STUBBORN)

    def test_members_that_wait(self):
        self.check_killed(program("member"), "idle")
        self.check_killed("sh", "-c", f"'{program('member')}' idle; true")

    def test_at_any_moment_of_the_start(self):
        for delay_ms in range(0, 40, 2):
            job = self.start("-n", 16, "sh", "-c", WRAPPED)
            time.sleep(delay_ms / 1000)
            os.kill(job.pid, signal.SIGKILL)
            job.finish()
            self.check_job_gone(job)


class GuardKilled(harness.SystemTest):
    def test_job_goes_on_and_gets_a_new_guard(self):
        job = self.start("-n", 2, "sh", "-c", WRAPPED)
        wait_until(lambda: len(ranks_of(job.pid)) == 2)
        for _ in range(3):
            first = wait_until(lambda: guard_of(job.pid))
            os.kill(first[0], signal.SIGKILL)
            self.assertTrue(wait_until(lambda: guard_of(job.pid) not in ([], first)))
        self.assertEqual(len(ranks_of(job.pid)), 2)
        time.sleep(0.05)
        os.kill(job.pid, signal.SIGKILL)
        job.finish()
        self.check_job_gone(job)

    def test_guard_holds_nothing(self):
        job = self.start("-n", 1, "sleep", "1000")
        guard = wait_until(lambda: guard_of(job.pid))[0]
        self.assertTrue(wait_until(lambda: len(os.listdir(f"/proc/{guard}/fd")) == 1))
        self.assertEqual(os.readlink(f"/proc/{guard}/cwd"), "/")
        self.assertEqual(stat_fields(guard)[3], guard)  # a session of its own
        os.kill(job.pid, signal.SIGINT)
        job.finish()


if __name__ == "__main__":
    harness.main()
