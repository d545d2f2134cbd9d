#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The checks checked: each must stay silent on a small sound tree, and speak up, once, about each
violation that is put into it."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import check_documents
import check_errors
import check_format
import check_functions
import check_headers
import check_layers
import check_manual
import check_sizes
import check_symbols
import check_text
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tap
from source import Tree, code_only, public_functions

SPDX = "/* SPDX-License-Identifier: BSD-3-Clause */\n"
MAN = '.\\" SPDX-License-Identifier: BSD-3-Clause\n'

SOUND = {
    "include/rhinet/a.h": SPDX + "#pragma once\n#include <stddef.h>\nint rh_one(size_t length);\n"
                                 "static inline int rh_two(void)\n{\n    return rh_one(2);\n}\n",
    "src/base/text.h": SPDX + "int text(void);\n",
    "src/nic/nic.h": SPDX + '#include "base/text.h"\n',
    "src/nic/inner.h": SPDX,
    "src/nic/nic.c": SPDX + '#include "nic/inner.h"\n#include "nic/shm/shm.h"\n',
    "src/nic/shm/shm.h": SPDX,
    "src/nic/shm/ring.h": SPDX,
    "src/nic/shm/shm.c": SPDX + '#include "nic/shm/ring.h"\n',
    "src/job/job.h": SPDX + '#include "nic/nic.h"\n',
    "src/cli/main.c": SPDX + "const struct cli_command *t[] = {&cli_run};\n",
    "src/nic/nic_layer.c": SPDX + 'TEXT_SETTING(SETTING_NIC, "RHINET_NIC", "", "");\n',
    "src/librhinet.map": SPDX + "RHINET_0.1 {\nglobal:\n    rh_one;\nlocal:\n    *;\n};\n",
    "examples/hello.c": SPDX + "#include <rhinet/a.h>\n",
    "man/rh_one.3": MAN + ".TH RH_ONE 3\n.SH NAME\nrh_one \\- does one\n",
    "man/rhinet-run.1": MAN + ".TH RUN 1\n.SH NAME\nrhinet\\-run \\- x\n",
    "man/rhinet.7": MAN + ".TH RHINET 7\n.SH NAME\nrhinet \\- x\n.B RHINET_NIC\n",
    "tools/setup": "#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\n",
    "Makefile": "# SPDX-License-Identifier: BSD-3-Clause\n",
    ".clang-format": "# SPDX-License-Identifier: BSD-3-Clause\nBasedOnStyle: LLVM\n",
}

LONG_BODY = "int f(void)\n{\n" + "    g();\n" * 70 + "}\n"
FITTING_BODY = "int f(void)\n{\n" + "    g();\n" * 67 + "}\n"


class Case(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="tidy-"))
        self.addCleanup(shutil.rmtree, self.root)
        for path, text in SOUND.items():
            self.write(path, text)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def findings(self, module):
        return list(module.check(Tree(self.root)))

    def silent(self, module):
        self.assertEqual(self.findings(module), [])

    def speaks(self, module, *words, count=1):
        """Exactly count findings, the first of which has all the words."""
        found = self.findings(module)
        self.assertEqual(len(found), count, found)
        for word in words:
            self.assertIn(word, found[0])


class Layers(Case):
    def include(self, path, target):
        self.write(path, SPDX + f'#include "{target}"\n')

    def test_sound(self):
        self.silent(check_layers)

    def test_lower_includes_higher(self):
        self.include("src/base/text.c", "nic/nic.h")
        self.speaks(check_layers, "src/base/text.c:2", "base must not include nic/nic.h")

    def test_side_by_side(self):
        self.include("src/route/turns/table.c", "nic/nic.h")
        self.speaks(check_layers, "route/turns must not include")

    def test_rooms_of_the_router(self):
        for header in ("turns/turns.h", "tables/lft.h", "trees/price.h", "trees/hub.h"):
            self.write("src/route/" + header, SPDX)
        self.include("src/route/trees/grow.c", "route/tables/lft.h")
        self.silent(check_layers)
        self.include("src/route/turns/order.c", "route/tables/lft.h")
        self.speaks(check_layers, "route/turns must not include route/tables/lft.h")
        self.include("src/route/turns/order.c", "route/turns/turns.h")
        self.include("src/route/repair/way.c", "route/trees/hub.h")
        self.speaks(check_layers, "private to route/trees")
        self.include("src/route/repair/way.c", "route/trees/price.h")
        self.silent(check_layers)

    def test_the_checker_does_not_know_the_router(self):
        for room in ("traffic/traffic", "turns/turns", "tables/lft", "trees/trees",
                     "routing/routing", "repair/repair"):
            with self.subTest(room):
                self.write(f"src/route/{room}.h", SPDX)
                self.include("src/route/check/check.c", f"route/{room}.h")
                self.speaks(check_layers, "route/check must not include")

    def test_private_of_subfolder(self):
        self.include("src/job/member/join.c", "nic/shm/ring.h")
        self.speaks(check_layers, "private to nic/shm")

    def test_private_of_subfolder_from_its_parent(self):
        self.include("src/nic/other.c", "nic/shm/ring.h")
        self.speaks(check_layers, "private to nic/shm")

    def test_private_of_module(self):
        self.include("src/job/member/join.c", "nic/inner.h")
        self.speaks(check_layers, "private to nic")

    def test_private_even_for_cli(self):
        self.include("src/cli/top.c", "nic/inner.h")
        self.speaks(check_layers, "private to nic")

    def test_cli_includes_all_that_is_shown(self):
        self.include("src/cli/top.c", "job/job.h")
        self.silent(check_layers)

    def test_relative_path(self):
        self.include("src/nic/shm/shm.c", "ring.h")
        self.speaks(check_layers, "not a path below src/")

    def test_a_nic_does_not_know_the_simulator(self):
        self.write("src/sim/engine.h", SPDX)
        self.include("src/nic/martini/martini.c", "sim/engine.h")
        self.speaks(check_layers, "nic must not include sim/engine.h")

    def test_the_job_does_not_know_the_simulation(self):
        self.write("src/simulated/world.h", SPDX)
        self.include("src/job/launch/launch.c", "simulated/world.h")
        self.speaks(check_layers, "job/launch must not include simulated/world.h")

    def test_a_member_does_not_know_the_manager(self):
        self.write("src/job/manager/manager.h", SPDX)
        self.include("src/job/launch/launch.c", "job/manager/manager.h")
        self.silent(check_layers)
        self.include("src/job/member/join.c", "job/manager/manager.h")
        self.speaks(check_layers, "job/member must not include job/manager/manager.h")
        self.include("src/job/job.h", "job/manager/manager.h")
        self.speaks(check_layers, "job must not include job/manager/manager.h", count=2)

    def test_rooms_of_the_cache(self):
        for name in ("cache.h", "layout.h", "raw.h", "client/client.h", "client/state.h",
                     "node/node.h", "store/store.h", "agent/agent.h"):
            self.write(f"src/cache/{name}", SPDX)
        self.include("src/cache/client/read.c", "cache/raw.h")
        self.include("src/cache/interposer/read.c", "cache/client/client.h")
        self.include("src/cache/mount/main.c", "cache/client/client.h")
        self.include("src/cache/agent/pool.c", "cache/node/node.h")
        self.include("src/cache/node/fetch.c", "cache/store/store.h")
        self.silent(check_layers)
        for path, target, words in (
                ("interposer/table.c", "cache/raw.h", "cache is not below it"),
                ("interposer/table.c", "cache/client/state.h", "private to cache/client"),
                ("mount/main.c", "cache/layout.h", "cache is not below it"),
                ("client/ask.c", "cache/agent/agent.h", "cache/agent is not below it"),
                ("agent/keeper.c", "cache/client/client.h", "cache/client is not below it"),
                ("layout.h", "cache/client/client.h", "cache/client is not below it"),
                ("store/store.c", "cache/node/node.h", "cache/node is not below it"),
                ("node/evict.c", "cache/agent/agent.h", "cache/agent is not below it")):
            with self.subTest(path=path, target=target):
                before = (self.root / "src/cache" / path)
                text = before.read_text() if before.exists() else SPDX
                self.include(f"src/cache/{path}", target)
                self.speaks(check_layers, words)
                before.write_text(text)

    def test_what_the_cache_keeps_to_itself(self):
        self.write("src/cache/raw.h", SPDX)
        self.include("src/cli/cache/run.c", "cache/raw.h")
        self.speaks(check_layers, "cache/raw.h is private to cache")

    def test_rules_that_go_in_a_ring(self):
        with unittest.mock.patch.dict(check_layers.BELOW, {"base": ["cache/agent"]}):
            self.speaks(check_layers, "stand on each other", "base", "cache/node")

    def test_room_without_rules(self):
        self.write("src/cache/tier/tier.c", SPDX)
        self.write("src/nic/other/other.c", SPDX)
        self.speaks(check_layers, "src/cache/tier/tier.c", "no rules")

    def test_rooms_of_messages_stand_side_by_side(self):
        for path in ("src/msg/lock/lock.h", "src/msg/match.h", "src/msg/mail.h",
                     "src/msg/rendezvous/rendezvous.h"):
            self.write(path, SPDX)
        self.include("src/msg/mailbox.c", "msg/rendezvous/rendezvous.h")
        self.include("src/msg/rendezvous/send.c", "msg/mail.h")
        self.silent(check_layers)
        self.include("src/msg/set/set.c", "msg/lock/lock.h")
        self.speaks(check_layers, "msg/set must not include msg/lock/lock.h")
        self.include("src/msg/rendezvous/send.c", "msg/match.h")
        self.speaks(check_layers, "must not call back what calls it: msg/match.h", count=2)

    def test_what_a_sub_folder_shows(self):
        self.write("src/nic/martini/call.h", SPDX)
        self.write("src/nic/martini/client.h", SPDX)
        self.include("src/simulated/station.c", "nic/martini/call.h")
        self.silent(check_layers)
        self.include("src/simulated/world.c", "nic/martini/client.h")
        self.speaks(check_layers, "private to nic/martini")

    def test_sim_does_not_know_the_nic(self):
        self.include("src/sim/chip.c", "nic/nic.h")
        self.speaks(check_layers, "sim must not include")

    def test_the_simulator_has_no_experiments(self):
        self.write("src/experiment/thesis/thesis.h", SPDX)
        self.include("src/sim/sim.c", "experiment/thesis/thesis.h")
        self.speaks(check_layers, "sim must not include experiment/thesis/thesis.h")

    def test_experiments_do_not_know_each_other(self):
        self.write("src/experiment/thesis/thesis.h", SPDX)
        self.include("src/experiment/cache/job.c", "experiment/thesis/thesis.h")
        self.speaks(check_layers, "experiment/cache must not include experiment/thesis/thesis.h")

    def test_commands_do_not_look_into_experiments(self):
        self.write("src/experiment/experiment.h", SPDX)
        self.write("src/experiment/thesis/thesis.h", SPDX)
        self.include("src/cli/sim/sim.c", "experiment/experiment.h")
        self.silent(check_layers)
        self.include("src/cli/sim/run.c", "experiment/thesis/thesis.h")
        self.speaks(check_layers, "cli must not include experiment/thesis/thesis.h")

    def test_what_is_measured_by_itself(self):
        self.write("src/dsm/page/faults.h", SPDX)
        self.include("src/experiment/machine/dsm/pages.c", "dsm/page/faults.h")
        self.silent(check_layers)
        self.include("src/experiment/machine/dsm/other.c", "dsm/page/private.h")
        self.write("src/dsm/page/private.h", SPDX)
        self.speaks(check_layers, "private to dsm/page")

    def test_experiments_measure_examples(self):
        self.write("examples/kernel.h", SPDX)
        self.include("src/experiment/machine/dsm/himeno.c", "examples/kernel.h")
        self.silent(check_layers)
        self.include("src/dsm/himeno.c", "examples/kernel.h")
        self.speaks(check_layers, "not a path below src/")

    def test_program_that_is_compiled_without_us(self):
        self.write("src/experiment/machine/peers/follow.h", SPDX)
        self.include("src/experiment/machine/peers/mpi.c", "follow.h")
        self.silent(check_layers)
        self.write("src/experiment/machine/follow.h", SPDX)
        self.include("src/experiment/machine/peers.c", "follow.h")
        self.speaks(check_layers, "not a path below src/")

    def test_a_layer_file_is_data(self):
        self.write("src/msg/msg_layer.h", SPDX)
        self.write("src/msg/msg.h", SPDX)
        self.include("src/msg/msg_layer.c", "msg/msg_layer.h")
        self.silent(check_layers)
        self.include("src/msg/msg_layer.c", "msg/msg.h")
        self.speaks(check_layers, "must not include msg/msg.h")

    def test_public_header_and_example(self):
        self.include("include/rhinet/b.h", "base/text.h")
        self.include("examples/ring.c", "base/text.h")
        self.speaks(check_layers, "<rhinet/...> only", count=2)

    def test_example_with_a_header_beside_it(self):
        self.write("examples/check.h", SPDX)
        self.include("examples/ring.c", "check.h")
        self.silent(check_layers)

    def test_in_comment(self):
        self.write("src/base/text.c", SPDX + '/*\n#include "nic/nic.h"\n*/\n')
        self.silent(check_layers)

    def test_unknown_module_has_nothing_below(self):
        self.include("src/newcomer/x.c", "base/text.h")
        self.speaks(check_layers, "newcomer must not include")


class Text(Case):
    def test_sound(self):
        self.silent(check_text)

    def test_licence(self):
        for path in ("src/base/x.c", "tools/x.sh", "tests/x.py", "src/meson.build", "man/x.3"):
            with self.subTest(path):
                self.write(path, "\n")
                self.speaks(check_text, path, "SPDX")
                (self.root / path).unlink()

    def test_licence_of_script_without_suffix(self):
        self.write("tools/other", "#!/bin/sh\necho\n")
        self.speaks(check_text, "tools/other:2", "SPDX")

    def test_other_licence(self):
        self.write("src/base/x.c", "/* SPDX-License-Identifier: GPL-2.0 */\n")
        self.speaks(check_text, "SPDX")

    def test_length(self):
        self.write("src/base/x.c", SPDX + "/*" + "x" * 96 + "*/\n")
        self.silent(check_text)
        self.write("src/base/x.c", SPDX + "/*" + "x" * 97 + "*/\n")
        self.speaks(check_text, "src/base/x.c:2", "101 characters")

    def test_tab(self):
        self.write("src/base/x.c", SPDX + "int\tx;\n")
        self.speaks(check_text, "src/base/x.c:2", "tab")

    def test_trailing_space(self):
        self.write("tools/setup", SOUND["tools/setup"] + "x \n")
        self.speaks(check_text, "tools/setup:3", "space")

    def test_build_output_is_not_ours(self):
        self.write("build-x/x.c", "\t\n")
        self.silent(check_text)


class Functions(Case):
    def test_sound(self):
        self.silent(check_functions)

    def test_length(self):
        self.write("src/base/x.c", SPDX + FITTING_BODY)
        self.silent(check_functions)
        self.write("src/base/x.c", SPDX + "int x;\n\n" + LONG_BODY + FITTING_BODY)
        self.speaks(check_functions, "src/base/x.c:4", "73 lines")

    def test_head_of_several_lines_counts(self):
        body = FITTING_BODY.replace("f(void)", "f(int a,\n      int b)")
        self.write("src/base/x.c", SPDX + body)
        self.speaks(check_functions, "71 lines")

    def test_long_table_is_no_function(self):
        self.write("src/base/x.c", SPDX + "int t[] = {\n" + "    1,\n" * 100 + "};\n")
        self.silent(check_functions)

    def test_banned(self):
        for name in check_functions.BANNED:
            with self.subTest(name):
                self.write("src/base/x.c", SPDX + f"int f(void)\n{{\n    {name} (a);\n}}\n")
                self.speaks(check_functions, "src/base/x.c:4", name, "banned")

    def test_banned_but_in_one_place(self):
        self.write("src/base/array.c", SPDX + "int f(void)\n{\n    realloc(a);\n}\n")
        self.silent(check_functions)

    def test_not_banned(self):
        calls = 'snprintf(a); m->system(a); m.gets(a); /* strcpy(a) */ p("atoi(a)"); my_system(a);'
        self.write("src/base/x.c", SPDX + f"int f(void)\n{{\n    {calls}\n}}\n")
        self.silent(check_functions)


class Sizes(Case):
    def test_sound(self):
        self.silent(check_sizes)

    def test_long_file(self):
        self.write("src/base/x.c", SPDX + "int x;\n" * 399)
        self.silent(check_sizes)
        self.write("src/base/x.c", SPDX + "int x;\n" * 400)
        self.speaks(check_sizes, "src/base/x.c", "401 lines")

    def test_reason(self):
        reason = "/* A table. Longer than most\n * files: it is one table. */\n"
        self.write("src/base/x.c", reason + "int x;\n" * 400)
        self.silent(check_sizes)
        self.write("src/base/x.c", SPDX + reason + "int x;\n" * 400)
        self.speaks(check_sizes, "src/base/x.c")

    def test_many_sources(self):
        for k in range(25):
            self.write(f"src/job/x{k}.c", SPDX)
            self.write(f"src/job/x{k}.h", SPDX)
        self.silent(check_sizes)
        self.write("src/job/one_more.c", SPDX)
        self.speaks(check_sizes, "src/job: 26 sources")


ROOMS = "src/base/ src/nic/, with shm/ src/job/ src/cli/\n"


class Errors(Case):
    CALL = SPDX + """int f(void)
{
    /* error_fail(1, "in a comment") */
    return error_fail(RH_EINVALID, "rank %d has %" PRIu64 " bytes (%s), "
                                   "not \\"%.*s\\"", rank, f(1, "a,b"), c);
}
"""
    TEXT = 'rank … has … bytes (…), not "…"'

    def entry(self, *texts, words="It means that, and this is what to do."):
        self.write("docs/errors-x.md", "# X\n\n## Y\n\n" + "".join(f"- `{t}`\n" for t in texts)
                   + f"\n{words}\n")

    def test_sound(self):
        self.silent(check_errors)
        self.write("src/nic/a.c", self.CALL)
        self.entry(self.TEXT)
        self.silent(check_errors)

    def test_missing(self):
        self.write("src/nic/a.c", self.CALL)
        self.speaks(check_errors, "src/nic/a.c:5", f"`{self.TEXT}`", "docs/errors-library.md")

    def test_every_call(self):
        for call, text in (('error_set(RH_EDEAD, -1, "%s is gone")', "… is gone"),
                           ('error_no_memory("a %s", x)', "no memory for …"),
                           ('error_fail(1, "no memory for a view")', "no memory for …"),
                           ('pm_fail(1, "take `%s`", x)', "take '…'"),
                           ('source_error(s, "no port")', "…: no port"),
                           ('cli_usage_error("one too many")', "one too many"),
                           ('error_fail(1, is ? "one way" : "or another")', "one way")):
            with self.subTest(call):
                self.write("src/nic/a.c", SPDX + f"int f(void)\n{{\n    return {call};\n}}\n")
                found = self.findings(check_errors)
                self.assertIn(f"`{text}`", found[0])

    def test_values_alone(self):
        self.write("src/nic/a.c",
                   SPDX + 'int f(void)\n{\n    return error_fail(1, "%s: %s", a, b);\n}\n')
        self.silent(check_errors)

    def test_stale(self):
        self.entry("nobody says this")
        self.speaks(check_errors, "nobody says `nobody says this` any more")

    def test_twice(self):
        self.write("src/nic/a.c", self.CALL)
        self.entry(self.TEXT, self.TEXT)
        self.speaks(check_errors, "has an entry in docs/errors-x.md already")

    def test_bare(self):
        self.write("src/nic/a.c", self.CALL)
        self.entry(self.TEXT, words="")
        self.speaks(check_errors, "has no explanation")


class Documents(Case):
    def test_sound(self):
        self.write("README.md", "see src/nic/shm, `src/nic/nic.c`, tests/mutants/ROOM.toml.\n")
        self.write("ARCHITECTURE.md",
                   ROOMS + "`text` (`base/text.h`), `shm.c`, `rh_one`, `NAME_layer.c`\n")
        self.write("src/nic/shm/shm.h", "/* SPDX\n *\n *   ring.h  a\n *   nic/nic.h  b\n */\n")
        self.silent(check_documents)

    def test_path(self):
        for path in ("README.md", "docs/x.md"):
            with self.subTest(path):
                self.write(path, "\nsee `src/nic/gone.c`.\n")
                self.speaks(check_documents, f"{path}:2", "src/nic/gone.c")
                (self.root / path).unlink()

    def test_file(self):
        self.write("ARCHITECTURE.md", ROOMS + "`shm/gone.c`\n")
        self.speaks(check_documents, "no file shm/gone.c")

    def test_function(self):
        self.write("ARCHITECTURE.md", ROOMS + "`rh_gone`\n")
        self.speaks(check_documents, "rh_gone")

    def test_function_elsewhere(self):
        self.write("ARCHITECTURE.md", ROOMS + "`rh_one`\n(`base/text.h`)\n")
        self.speaks(check_documents, "ARCHITECTURE.md:2", "rh_one is not in base/text.h")

    def test_room_that_nobody_knows(self):
        self.write("ARCHITECTURE.md", ROOMS)
        self.silent(check_documents)
        self.write("src/nic/other/other.c", SPDX)
        self.speaks(check_documents, "says nothing of src/nic/other/")

    def test_map(self):
        self.write("src/nic/shm/shm.h", "/* SPDX\n *\n *   gone.c  was\n */\n")
        self.speaks(check_documents, "src/nic/shm/shm.h:3", "gone.c")

    def test_map_in_columns(self):
        self.write("src/nic/shm/shm.h", "/* SPDX\n *\n *   ring.h  a   gone.c  was\n */\n")
        self.speaks(check_documents, "src/nic/shm/shm.h:3", "gone.c")


class Format(Case):
    def setUp(self):
        super().setUp()
        try:
            check_format.find_tool()
        except check_format.Missing as reason:
            self.skipTest(str(reason))
        for path in Tree(self.root).c_files():
            subprocess.run([check_format.find_tool(), "-i", self.root / path], check=True)

    def test_sound(self):
        self.silent(check_format)

    def test_ugly(self):
        self.write("src/base/x.c", SPDX + "int  x ;\n")
        self.speaks(check_format, "src/base/x.c:2", "clang-format")


class Headers(Case):
    def test_sound(self):
        self.silent(check_headers)

    def test_public_needs_another(self):
        self.write("include/rhinet/b.h", SPDX + "int rh_b(uint64_t x);\n")
        self.speaks(check_headers, "include/rhinet/b.h", "c99", count=3)

    def test_public_not_c99(self):
        self.write("include/rhinet/b.h", SPDX + '_Static_assert(1, "c11");\n')
        self.speaks(check_headers, "c99", count=2)

    def test_public_not_c_plus_plus(self):
        self.write("include/rhinet/b.h", SPDX + "int rh_b(int class);\n")
        self.speaks(check_headers, "c++17")

    def test_internal_needs_another(self):
        self.write("src/base/x.h", SPDX + "int x(bool y);\n")
        self.speaks(check_headers, "src/base/x.h", "gnu17")

    def test_internal_not_twice(self):
        self.write("src/base/x.h", SPDX + "struct x {\n    int y;\n};\n")
        self.speaks(check_headers, "src/base/x.h", "redefinition")


class Symbols(Case):
    def setUp(self):
        super().setUp()
        os.environ.pop(check_symbols.LIBRARY_VARIABLE, None)

    def build(self, source, script):
        """A library of our own, whose exports we know."""
        self.write("lib.c", source)
        self.write("lib.map", script)
        library = self.root / "lib.so"
        subprocess.run(["gcc", "-shared", "-fPIC", f"-Wl,--version-script={self.root}/lib.map",
                        "-o", library, self.root / "lib.c"], check=True)
        os.environ[check_symbols.LIBRARY_VARIABLE] = str(library)

    def test_declared(self):
        self.assertEqual(public_functions(Tree(self.root)), {"rh_one"})
        self.silent(check_symbols)

    def test_library_agrees(self):
        self.build("int rh_one(void){return 1;} int hidden(void){return 2;}",
                   SOUND["src/librhinet.map"])
        self.silent(check_symbols)

    def test_header_without_list(self):
        self.write("include/rhinet/b.h", SPDX + "void *rh_new(int a,\n             int b);\n")
        self.speaks(check_symbols, "rh_new is in the headers but not in the list")

    def test_attribute_after_declaration(self):
        self.write("include/rhinet/b.h", SPDX + "int rh_new(int a) __attribute__((pure));\n")
        self.speaks(check_symbols, "rh_new")

    def test_list_without_header(self):
        self.write("src/librhinet.map",
                   SOUND["src/librhinet.map"].replace("rh_one;", "rh_one;\n    rh_gone;"))
        self.speaks(check_symbols, "rh_gone is in the list but not in the headers")

    def test_library_exports_more(self):
        self.build("int rh_one(void){return 1;} int extra(void){return 2;}", "{global: *;};")
        self.speaks(check_symbols, "extra is in the library but not in the list")

    def test_library_exports_less(self):
        self.build("int other(void){return 1;}", "{local: *;};")
        self.speaks(check_symbols, "rh_one is in the list but not in the library")


class Manual(Case):
    def test_sound(self):
        self.silent(check_manual)

    def test_function_without_page(self):
        self.write("include/rhinet/b.h", SPDX + "int rh_new(int a);\n")
        self.speaks(check_manual, "no page has rh_new")

    def test_group_page_with_alias(self):
        self.write("include/rhinet/b.h", SPDX + "int rh_new(int a);\n")
        text = SOUND["man/rh_one.3"].replace("rh_one \\-", "rh_one, rh_new \\-")
        self.write("man/rh_one.3", text)
        self.write("man/rh_new.3", MAN + ".so man3/rh_one.3\n")
        self.silent(check_manual)

    def test_alias_leads_nowhere(self):
        self.write("man/rh_x.3", MAN + ".so man3/rh_none.3\n")
        self.speaks(check_manual, "rh_none.3, which is not there")

    def test_alias_leads_astray(self):
        self.write("man/rh_x.3", MAN + ".so man3/rh_one.3\n")
        self.speaks(check_manual, "does not have rh_x")

    def test_page_without_function(self):
        self.write("man/rh_old.3", MAN + ".TH RH_OLD 3\n.SH NAME\nrh_old \\- was\n")
        self.speaks(check_manual, "rh_old has a page but is not in the headers")

    def test_command_without_page(self):
        (self.root / "man/rhinet-run.1").unlink()
        self.speaks(check_manual, "subcommand run has no page")

    def test_setting_not_explained(self):
        self.write("src/dsm/dsm_layer.c", SPDX + 'TEXT_SETTING(SETTING_X, "RHINET_NEW", "", "");\n')
        self.speaks(check_manual, "does not explain RHINET_NEW")

    def test_setting_that_is_none(self):
        self.write("man/rhinet.7", SOUND["man/rhinet.7"] + ".B RHINET_OLD\n")
        self.speaks(check_manual, "RHINET_OLD is not a setting")

    def test_unsound_page(self):
        self.write("man/rhinet.7", SOUND["man/rhinet.7"] + ".NOSUCH macro\n")
        self.speaks(check_manual, "man/rhinet.7", "NOSUCH")


class Source(unittest.TestCase):
    def test_code_only(self):
        text = 'a("x // y", \'"\'); // c\n/* d\n"e" */ f;'
        code = code_only(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual("".join(code.split()), "a(,);f;")
        self.assertEqual(code.count("\n"), 2)


if __name__ == "__main__":
    tap.main()
