"""The comparison's arithmetic and its dealings with programs that fail."""

import http.server
import pathlib
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from peers import alternation, programs, servers  # noqa: E402


def script(folder, text):
    file = pathlib.Path(folder) / "program"
    file.write_text("#!/bin/sh\n" + text)
    file.chmod(0o755)
    return file


class Alternation(unittest.TestCase):
    def test_contenders_take_turns_and_the_warm_up_does_not_count(self):
        order = []
        results = alternation.alternate(
            {"a": lambda: order.append("a") or len(order),
             "b": lambda: order.append("b") or len(order)}, 2)
        self.assertEqual(order, ["a", "b"] * 3)
        self.assertEqual(results, {"a": [3, 5], "b": [4, 6]})

    def test_ratios_are_of_the_same_round(self):
        # The machine halves its speed in round 2; the ratio does not see it.
        one = alternation.Comparison("w", "x", [20, 10, 22], [10, 5, 10],
                                     target=2.1)
        self.assertEqual(one.ratios(), [2, 2, 2.2])
        self.assertEqual(one.ratio(), alternation.Spread(2, 2, 2.2))
        self.assertIs(one.reached(), False)
        one.target = 2
        self.assertIs(one.reached(), True)
        one.target = None
        self.assertIsNone(one.reached())

    def test_of_times_less_is_better(self):
        one = alternation.Comparison("w", "x", [2.0], [3.0],
                                     less_is_better=True)
        self.assertEqual(one.ratios(), [1.5])

    def test_runs_have_to_pair(self):
        for ours, theirs in (([], []), ([1], [1, 2])):
            with self.assertRaises(ValueError):
                alternation.Comparison("w", "x", ours, theirs)

    def test_table_tells_targets(self):
        reached = alternation.Comparison("w", "x", [2.0], [1.0], target=1.5)
        missed = alternation.Comparison("v", "x", [1.0], [1.0], target=1.5)
        lines = alternation.table([reached, missed]).splitlines()
        self.assertEqual(lines[2], "| w | x | 2.0 [2.0, 2.0] | 1.0 [1.0, 1.0] "
                         "| tok/s | 2.00 [2.00, 2.00] | 1.50 | reached |")
        self.assertTrue(lines[3].endswith("| 1.50 | missed |"))


class Programs(unittest.TestCase):
    def test_a_failure_names_program_code_and_last_words(self):
        with tempfile.TemporaryDirectory() as folder:
            program = script(folder, "echo bad model >&2; exit 3\n")
            with self.assertRaisesRegex(programs.ProgramError,
                                        "(?s)exit code 3.*bad model"):
                programs.output_of([program])
            with self.assertRaisesRegex(programs.ProgramError, "No such file"):
                programs.output_of([pathlib.Path(folder) / "absent"])

    def test_figures_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            program = script(folder, "echo noise\n"
                             "echo '{\"speed_pp\": 3.5, \"speed_tg\": 2}'\n")
            self.assertEqual(
                programs.llama_batched_bench(program, "m", 2, 8, 4, 2),
                {"prefill": 3.5, "decode": 2})
            program = script(folder, "echo '[{\"n_prompt\": 8, \"avg_ts\": 7},"
                             " {\"n_prompt\": 0, \"avg_ts\": 5}]'\n")
            self.assertEqual(programs.llama_bench(program, "m", 2, 8, 4),
                             {"prefill": 7, "decode": 5})
            program = script(folder, "echo not JSON\n")
            with self.assertRaisesRegex(programs.ProgramError, "no JSON"):
                programs.llama_bench(program, "m", 2, 8, 4)

    def test_the_requantised_file_is_made_once(self):
        with tempfile.TemporaryDirectory() as folder:
            program = script(folder, f"echo x >>{folder}/runs; echo q >\"$5\"\n")
            models = pathlib.Path(folder) / "models"
            for _ in range(2):
                file = programs.requantised(program, "/a/m.Q4_1.gguf", models)
                self.assertEqual(file, str(models / "m.Q4_0.gguf"))
            runs = (pathlib.Path(folder) / "runs").read_text()
            self.assertEqual(runs, "x\n")
            with self.assertRaisesRegex(programs.ProgramError, "--q4-0"):
                programs.requantised(program, "/a/m.gguf", models)


class Servers(unittest.TestCase):
    def test_a_server_that_ends_at_once_is_quoted(self):
        with tempfile.TemporaryDirectory() as folder:
            program = script(folder, "echo cannot read the model; exit 1\n")
            with self.assertRaisesRegex(programs.ProgramError,
                                        "(?s)ended.*cannot read the model"):
                with servers.Server([program], servers.free_port()):
                    pass

    def test_ready_where_only_health_is_known(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if self.path == "/health" else 404)
                self.end_headers()

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with servers.Server(["sleep", "60"], server.server_port) as started:
                self.assertGreaterEqual(started.load_s, 0)
            self.assertIsNotNone(started.process.returncode)
            server.shutdown()


if __name__ == "__main__":
    unittest.main()
