# SPDX-License-Identifier: BSD-3-Clause
"""Members and their task manager when it does not answer in time: nothing that comes late is taken
for something else, nothing is left open, and all works again afterwards."""
import harness
from harness import program


class Stalled(harness.SystemTest):
    def check(self, how):
        status, _, err = self.run_job("-n", 2, program("stall"), how)
        self.assertEqual((status, err), (0, ""))

    def test_look_ups_after_a_stall_are_right(self):
        self.check("lookup")

    def test_many_requests_to_a_stopped_manager(self):
        self.check("many")

    def test_a_cancelled_thread_leaves_the_manager_to_others(self):
        self.check("cancel")


if __name__ == "__main__":
    harness.main()
