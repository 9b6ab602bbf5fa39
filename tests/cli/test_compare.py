"""`vouch compare`: arms against the classic one, in process and over HTTP."""

import json
import pathlib
import tempfile
import unittest

from test_speculation_cases import DraftingServer
from vouch_process import FETCH, SMOLLM2, TINY, run


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.json = pathlib.Path(self.folder.name) / "report.json"

    def compare(self, *arguments, code):
        done = run("compare", *arguments, "--json", self.json)
        self.assertEqual(done.returncode, code,
                         done.stdout.decode() + done.stderr.decode())
        return (done.stdout.decode(),
                json.loads(self.json.read_text()) if code != 2 else
                done.stderr.decode())

    def test_random_drafts_change_nothing(self):
        text, report = self.compare(
            TINY, "--drafter", "scripted:random", "--widths", "2,5",
            "--max-tokens", "24", "--parallel", "3", "--bytes", code=0)
        self.assertIn("holds", text)
        self.assertTrue(report["holds"])
        self.assertEqual([(a["name"], a["run"]) for a in report["arms"]],
                         [("classic", 1), ("classic", 2)] +
                         [(f"scripted:random, width {w}", r)
                          for w in (2, 5) for r in (1, 2)])
        for arm in report["arms"]:
            self.assertEqual(arm["sha256"], report["arms"][0]["sha256"])
            self.assertGreater(arm["rows"]["compared"], 40)
            self.assertEqual(arm["rows"]["differ"], 0)
            self.assertEqual(arm["classic"],
                             arm["speculation"]["rounds"] == 0)
            self.assertTrue(all(t["text"] for t in arm["texts"]))
            self.assertEqual(sum(len(t["token_ids"]) for t in arm["texts"]),
                             arm["tokens"])
        rounds = report["arms"][-1]["speculation"]
        self.assertEqual(len(rounds["acceptance_by_position"]), 4)
        self.assertGreater(rounds["rewinds"], 0)

    def test_a_fault_shows(self):
        text, report = self.compare(
            TINY, "--drafter", "scripted:random", "--max-tokens", "24",
            "--bytes", "--fault", "op=logits phase=verify ulp=1", code=1)
        self.assertIn("does not hold", text)
        self.assertIn("the logits of token", text)
        holds = {arm["name"]: arm["holds"] for arm in report["arms"]}
        self.assertEqual(holds, {"classic": True,
                                 "scripted:random, width 4": False})
        self.assertGreater(report["arms"][2]["rows"]["differ"], 0)

    def test_an_arm_in_which_nothing_ran_fails(self):
        text, report = self.compare(TINY, "--drafter", "scripted:empty",
                                    "--max-tokens", "8", code=1)
        self.assertIn("nothing was verified", text)
        self.assertFalse(report["holds"])
        text, _ = self.compare(TINY, "--drafter", "/nonexistent",
                               "--max-tokens", "8", code=1)
        self.assertIn("drafter_mismatch", text)

    def test_what_cannot_run(self):
        for arguments, words in (
                ((), "a model or --url"),
                ((TINY, "--url", "http://127.0.0.1:9"), "a model or --url"),
                (("--url", "ftp://x"), "expected http://"),
                (("--url", "http://127.0.0.1:9"), "refused"),
                (("--url", "http://127.0.0.1:9", "--bytes"), "--bytes"),
                ((TINY, "--transcript", "x"), "--transcript"),
                ((TINY, "--fault", "op=nothing"), "--fault"),
                ((TINY, "--plan", "slow"), "--plan"),
                ((TINY, "--widths", "1"), "--widths"),
                ((TINY, "--prompts", "/nonexistent"), "/nonexistent"),
                (("/nonexistent",), "/nonexistent")):
            _, errors = self.compare(*arguments, code=2)
            self.assertIn(words, errors)

    def test_a_prompt_that_is_too_long(self):
        prompts = pathlib.Path(self.folder.name) / "prompts"
        prompts.write_text("word " * 3000 + "\n")
        _, errors = self.compare(TINY, "--prompts", prompts, code=2)
        self.assertIn("prompt 1", errors)

    @unittest.skipUnless(SMOLLM2.exists(), FETCH)
    def test_a_server(self):
        with DraftingServer("lookup", 6) as server:
            url = f"http://127.0.0.1:{server.port}"
            _, report = self.compare(
                "--url", url, "--transcript", server.transcript,
                "--max-tokens", "32", "--parallel", "2", "--temperature",
                "0.6", "--top-p", "0.9", "--presence-penalty", "0.1", code=0)
            self.assertEqual([a["classic"] for a in report["arms"]],
                             [True, True, False, False])
            for arm in report["arms"]:
                self.assertGreater(arm["logprobs"]["equal"], 100)
                self.assertEqual(arm["logprobs"]["further"], 0)
                self.assertEqual(arm["sha256"], report["arms"][0]["sha256"])
            self.assertEqual(report["arms"][0]["declines"],
                             {"request_opt_out": 6})
            burst = report["arms"][2]["speculation"]
            self.assertGreater(burst["accepted"], 0)
            self.assertGreater(burst["acceptance_by_position"][0]["accepted"],
                               0)
        with DraftingServer("none", 6) as server:
            text, report = self.compare(
                "--url", f"http://127.0.0.1:{server.port}", "--max-tokens", "8",
                code=1)
            self.assertIn("nothing was verified (no_drafter 6)", text)


if __name__ == "__main__":
    unittest.main()
