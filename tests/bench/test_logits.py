"""The distance to float32: its arithmetic, and the program that writes rows.

    test_logits.py VOUCH_LOGITS
"""

import array
import json
import math
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests/fixtures/llama_golden"
sys.path.insert(0, str(ROOT / "bench"))

from logits import divergence  # noqa: E402

try:
    import numpy
    from logits import rows
except ImportError:
    numpy = None

PROGRAM = None


def distances(values):
    return divergence.Distances(list(values), [True] * len(values),
                                [0.5] * len(values))


class Divergence(unittest.TestCase):
    def test_a_ratio_of_proportional_distances_has_no_spread(self):
        theirs = [0.001 * (i + 1) for i in range(200)]
        found = divergence.ratios(distances([2 * x for x in theirs]),
                                  distances(theirs))
        for each in found.values():
            for value in (each.value, each.low, each.high):
                self.assertAlmostEqual(value, 2.0)

    def test_mean_and_p99_are_told_apart(self):
        # Two of 100 positions are far off: they are the p99.
        ours, theirs = [1.0] * 98 + [50.0] * 2, [1.0] * 98 + [2.0] * 2
        found = divergence.ratios(distances(ours), distances(theirs))
        self.assertAlmostEqual(found["mean"].value, 198 / 102)
        self.assertAlmostEqual(found["p99"].value, 25.0)
        self.assertLess(found["p99"].low, found["p99"].high)

    def test_positions_have_to_pair(self):
        with self.assertRaisesRegex(ValueError, "3 positions against 2"):
            divergence.ratios(distances([1, 2, 3]), distances([1, 2]))

    def test_what_exceeds_is_named(self):
        ours = distances([1.0] * 98 + [4.0] * 2)
        named = {"a": distances([1.0] * 98 + [2.0] * 2),
                 "b": distances([2.0] * 98 + [4.0] * 2)}
        found = divergence.exceeding(ours, named, 1.05)
        self.assertEqual(found, ["p99 divergence is 2.000 of a's, more than "
                                 "1.05"])
        self.assertEqual(divergence.exceeding(ours, named, 2.01), [])

    def test_table(self):
        lines = divergence.table({"a": distances([1.0, 2.0, 6.0])})
        self.assertEqual(
            lines.splitlines()[2], "| a | 3.000000 | 2.000000 | 5.920000 "
            "| 6.000000 | 100.00% | 0.500000 |")


@unittest.skipIf(numpy is None, "needs numpy")
class Rows(unittest.TestCase):
    def test_divergence_of_two_tokens(self):
        # P = (3/4, 1/4), Q = (1/2, 1/2); a constant changes no distribution.
        reference = numpy.log(numpy.float32([[3.0, 1.0], [1.0, 1.0]]))
        given = numpy.float32([[7.0, 7.0], [0.0, 0.0]])
        found, same, difference = rows.Expected(reference).distances(given)
        self.assertAlmostEqual(
            found[0], 0.75 * math.log(1.5) + 0.25 * math.log(0.5), places=6)
        self.assertAlmostEqual(found[1], 0.0)
        self.assertEqual(same, [True, True])
        self.assertAlmostEqual(difference[0], 7 - math.log(3) / 2, places=6)

    def test_another_pick_is_seen(self):
        reference = numpy.float32([[1.0, 2.0, 0.0]])
        _, same, _ = rows.Expected(reference).distances(
            numpy.float32([[2.0, 1.0, 0.0]]))
        self.assertEqual(same, [False])

    def test_rows_of_a_program(self):
        tokens = json.loads((GOLDEN / "tokens.json").read_text())
        program = rows.RowsProgram([PROGRAM, GOLDEN / "f32.gguf", "--threads",
                                    1, "--kv-type", "f32"])
        expected = numpy.fromfile(GOLDEN / "default.logits.f32", "<f4")
        for _ in range(2):  # a text begins an empty context
            found = program.rows(tokens)
            self.assertLess(
                numpy.abs(found.reshape(-1) - expected).max(), 1e-3)
        program.close()

    def test_a_program_that_ends_is_an_error(self):
        program = rows.RowsProgram([PROGRAM, GOLDEN / "f32.gguf"])
        with self.assertRaisesRegex(rows.RowsError, "exit code 2"):
            program.rows([1, 999])
        program.close()


class VouchLogits(unittest.TestCase):
    def run_program(self, text, *options, model="f32.gguf"):
        return subprocess.run(
            [PROGRAM, GOLDEN / model, *options], input=text.encode(),
            capture_output=True, check=False)

    def test_rows_are_the_models(self):
        tokens = json.loads((GOLDEN / "tokens.json").read_text())
        line = " ".join(map(str, tokens)) + "\n"
        done = self.run_program(line * 2, "--kv-type", "f32", "--rows", "7")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout[:4], (256).to_bytes(4, "little"))
        found, expected = array.array("f"), array.array("f")
        found.frombytes(done.stdout[4:])
        expected.frombytes((GOLDEN / "default.logits.f32").read_bytes())
        self.assertEqual(len(found), 2 * len(expected))
        for one, other in zip(found, expected + expected):
            self.assertAlmostEqual(one, other, delta=1e-3)

    def test_how_a_text_is_cut_changes_no_byte(self):
        line = " ".join(str(i * 37 % 256) for i in range(90))
        cut = [self.run_program(line, "--rows", rows, model="q4_1.gguf").stdout
               for rows in ("1", "16", "90")]
        self.assertEqual(len(cut[0]), 4 + 90 * 256 * 4)
        self.assertEqual(cut[0], cut[1])
        self.assertEqual(cut[0], cut[2])

    def test_what_is_wrong_is_named(self):
        for text, words in (("1 2 x", "no token ids: 1 2 x"),
                            ("1 999", "token 999"),
                            ("1 " * 65, "at most 64")):
            done = self.run_program(text, "--context", "64")
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr.decode())


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
