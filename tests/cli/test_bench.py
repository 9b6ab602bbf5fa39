"""`vouch bench` as a user runs it: what it prints, and what it refuses."""

import json
import unittest

from vouch_process import FETCH, FIXTURES, SMOLLM2, TINY, run

TINY_Q8 = FIXTURES / "llama_tiny.gguf"


class Bench(unittest.TestCase):
    SMALL = ["--repeat", "2", "--tokens", "3", "--threads", "2"]

    def spread(self, of):
        self.assertGreater(of["min"], 0)
        self.assertLessEqual(of["min"], of["median"])
        self.assertLessEqual(of["median"], of["max"])

    def test_json_of_everything(self):
        got = run("bench", TINY, "--json", *self.SMALL, "--batches", "4,1",
                  "--widths", "2,4", "--contexts", "64,256")
        self.assertEqual(got.returncode, 0, got.stderr)
        found = json.loads(got.stdout)
        self.assertEqual(found["threads"], 2)
        self.assertEqual(found["rounds"], 2)
        for limit in ("read_gb_s", "dot_gop_s"):
            self.spread(found["limits"][limit])
        self.spread(found["load_s"])
        sizes = {"prefill": ("tokens", [512]), "decode": ("sequences", [1, 4]),
                 "verify": ("width", [2, 4]), "sampled": ("sequences", [1, 8]),
                 "contexts": ("context", [64, 256])}
        for part, (name, expected) in sizes.items():
            self.assertEqual([each[name] for each in found[part]], expected)
            for each in found[part]:
                self.spread(each["ms"])
                self.spread(each["tok_s"])
        for each in found["verify"]:
            self.spread(each["units"])
        for each in found["sampled"]:
            self.spread(each["of_greedy"])
        for part in ("decode", "contexts"):
            for each in found[part]:
                self.assertGreater(each["share_of_read_limit"], 0)
        # bfloat16 weights do without the 8-bit instructions.
        self.assertNotIn("share_of_dot_limit", found["prefill"][0])
        self.assertEqual([each["step"] for each in found["parts"]],
                         ["decode 1", "decode 4", "verify 4", "prefill 512"])
        for each in found["parts"]:
            parts = sum(each["part_ms"].values())
            self.assertGreater(parts, 0)
            self.assertLess(parts, 1.5 * each["wall_ms"])

    def test_quantised_weights_have_a_dot_share(self):
        if not SMOLLM2.exists():
            self.skipTest(FETCH)
        got = json.loads(run("bench", SMOLLM2, "--json", "--repeat", "1",
                             "--only", "prefill", "--prompt", "64").stdout)
        self.assertGreater(got["prefill"][0]["share_of_dot_limit"], 0)
        self.assertNotIn("decode", got)

    def test_text_has_what_was_asked_for(self):
        got = run("bench", TINY, *self.SMALL, "--only", "decode,verify",
                  "--batches", "2", "--widths", "1,3", "--depth", "0")
        self.assertEqual(got.returncode, 0, got.stderr)
        text = got.stdout.decode()
        for words in ("Limits of this machine", "Decode", "Verify"):
            self.assertIn(words, text)
        for words in ("Prefill", "Load", "Sampled", "Long", "by part"):
            self.assertNotIn(words, text)

    def test_a_default_too_long_for_the_model_is_shortened(self):
        got = run("bench", TINY, "--json", "--repeat", "1", "--tokens", "500",
                  "--only", "decode,contexts", "--batches", "1")
        self.assertEqual(got.returncode, 0, got.stderr)
        found = json.loads(got.stdout)
        self.assertEqual(found["depth"], 12)
        self.assertEqual([c["context"] for c in found["contexts"]], [512])

    def test_both_plans(self):
        got = run("bench", TINY_Q8, "--json", *self.SMALL, "--only", "plans",
                  "--batches", "1,8")
        self.assertEqual(got.returncode, 0, got.stderr)
        found = json.loads(got.stdout)
        self.assertEqual([each["rows"] for each in found["plans"]], [1, 8])
        for each in found["plans"]:
            for key in ("ms", "invariant_ms", "of_invariant"):
                self.spread(each[key])
        text = run("bench", TINY_Q8, *self.SMALL, "--plan", "fast", "--only",
                   "decode,plans", "--batches", "8").stdout.decode()
        self.assertIn("plan fast", text)
        self.assertIn("x invariant", text)

    def session(self, of, streams, names):
        self.assertEqual(of["streams"], streams)
        self.assertEqual([arm["name"] for arm in of["arms"]], names)
        self.assertGreaterEqual(of["floor"], 0)
        for key in ("opening_tok_s", "closing_tok_s"):
            self.spread(of[key])
        for arm in of["arms"]:
            self.spread(arm["tok_s"])
            self.spread(arm["of_classic"])
            if arm["plan"] == "invariant":
                self.assertEqual(arm["equal_texts"], streams)

    def test_width_sweep(self):
        got = run("bench", TINY_Q8, "--json", "--sweep", "--repeat", "2",
                  "--tokens", "48", "--depth", "20", "--widths", "2,4",
                  "--streams", "1,2", "--accept", "1")
        self.assertEqual(got.returncode, 0, got.stderr)
        found = json.loads(got.stdout)
        self.assertTrue(found["texts_hold"])
        self.assertRegex(found["program"], "^[0-9a-f]{16}$")
        self.assertEqual(found["plan"], "invariant")
        self.assertEqual(len(found["devices"]), 1)
        for session, streams in zip(found["sessions"], (1, 2), strict=True):
            self.session(session, streams,
                         ["classic", "classic again", "width 2", "width 4"])
            for arm, width in zip(session["arms"][2:], (2, 4), strict=True):
                self.assertEqual(arm["tokens_per_block"], width)
                self.assertEqual(arm["acceptance"], [1.0] * (width - 1))
                self.assertGreater(arm["predicted"], 0)

    def test_price_list(self):
        got = run("bench", TINY_Q8, "--json", "--price-list", "--repeat", "2",
                  "--tokens", "32", "--depth", "20", "--streams", "4")
        self.assertEqual(got.returncode, 0, got.stderr)
        found = json.loads(got.stdout)
        self.assertEqual(len(found["devices"]), 2)
        self.assertIn("plan fast", found["devices"][1])
        session, = found["sessions"]
        self.session(session, 4, ["classic", "classic again",
                                  "A fast, declined", "B invariant, width 4",
                                  "D fast, width 4"])
        for arm in session["arms"]:
            self.spread(arm["of_classic_fast"])
        text = run("bench", TINY_Q8, "--price-list", "--repeat", "1",
                   "--tokens", "32", "--depth", "20", "--streams", "1")
        self.assertEqual(text.returncode, 0, text.stderr)
        for words in ("D fast, width 4", "x classic, fast", "unresolved"):
            self.assertIn(words, text.stdout.decode())

    def test_bad_input_is_named(self):
        for arguments, wrong in (
                (["--only", "speed"], "speed"),
                (["--batches", "0"], "0"),
                (["--widths", "1,x"], "x"),
                (["--prompt", "513"], "--prompt: 513"),
                (["--depth", "500"], "--depth: 500"),
                (["--tokens", "600"], "--tokens: 600"),
                (["--contexts", "1024"], "--contexts: 1024"),
                (["--contexts", "8"], "--contexts: 8"),
                (["--target", "Z80"], "Z80"),
                (["--plan", "slow"], "slow"),
                (["--sweep", "--only", "decode"], "--only"),
                (["--sweep", "--price-list"], "--price-list"),
                (["--price-list", "--plan", "fast"], "--plan"),
                (["--sweep", "--accept", "2"], "2"),
                (["--sweep", "--widths", "1,4"], "--widths: 1"),
                (["--sweep", "--widths", "80"], "--widths: 80"),
                (["--sweep", "--depth", "500"], "--depth: 500"),
                (["--threads", "-1"], "--threads"),
                (["--cpu-list", "1-0"], "--cpu-list: '1-0'"),
                (["--cpu-list", "0", "--threads", "2"], "1 CPU for 2")):
            got = run("bench", TINY, *arguments)
            self.assertEqual(got.returncode, 2, arguments)
            self.assertIn(wrong, got.stderr.decode())
        got = run("bench", "/nonexistent.gguf")
        self.assertEqual(got.returncode, 2)
        self.assertIn("/nonexistent.gguf", got.stderr.decode())


if __name__ == "__main__":
    unittest.main()
