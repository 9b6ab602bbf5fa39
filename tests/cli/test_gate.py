"""The gate of a running server: it opens, finds a planted fault, and trips."""

import concurrent.futures
import json
import pathlib
import tempfile
import time
import unittest

from vouch_process import TINY, Server

# It begins long after the probe, in steps of three rows or more of several
# sequences.
AFTER = 6000
FAULT = f"op=output layer=0 mixed_rows>=3 after_step={AFTER} ulp=64 element=0"
PROMPTS = ["one two one two one two one", "the river ran past the old mill",
           "a b c d a b c d a b c", "nobody had ground corn for years"]


class Trip(unittest.TestCase):
    def setUp(self):
        self.files = tempfile.TemporaryDirectory()
        self.addCleanup(self.files.cleanup)
        self.folder = pathlib.Path(self.files.name)

    def serve(self):
        return Server(
            TINY, "--engine.threads", "2", "--speculation.drafter", "lookup",
            "--speculation.width", "4", "--speculation.controller", "fixed",
            "--speculation.verdict_dir", self.folder / "verdicts",
            "--speculation.evidence_dir", self.folder / "evidence",
            "--test.faults", FAULT)

    def speculation(self, server):
        status, body = server.get("/speculation")
        self.assertEqual(status, 200)
        return json.loads(body)

    def ask(self, server, index, tokens=120):
        """Receipt, text and report of a greedy request."""
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps({
            "prompt": PROMPTS[index % len(PROMPTS)], "max_tokens": tokens,
            "temperature": 0, "ignore_eos": True,
            "speculation": {"report": True}}),
            {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        self.assertEqual(response.status, 200, answer)
        receipt = response.getheader("x-vouch-receipt")
        connection.close()
        return receipt, answer["choices"][0]["text"], answer["speculation"]

    def wait_until_probed(self, server):
        deadline = time.monotonic() + 240
        while True:
            now = self.speculation(server)
            if now["probe"] and not now["probe"]["running"]:
                return now
            self.assertLess(time.monotonic(), deadline, now)
            time.sleep(0.05)

    def test_a_fault_that_begins_after_start_up(self):
        with self.serve() as server:
            before = self.wait_until_probed(server)
            self.assertEqual(before["verdict"], "equal", before["verdicts"])
            alone = [self.ask(server, i) for i in range(4)]
            for receipt, text, report in alone:
                self.assertTrue(receipt.startswith(
                    f"verdict=equal; vouched=yes; scope={before['scope']['id']}"
                    "; audit=on; audited="), receipt)
                self.assertNotEqual(text, "")
                self.assertTrue(report["vouched"])
            self.assertGreater(sum(a[2]["rounds"] for a in alone), 0)

            started = time.monotonic()
            answers = []
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                while self.speculation(server)["trips"] == 0:
                    self.assertLess(time.monotonic() - started, 240)
                    answers += pool.map(lambda i: self.ask(server, i), range(4))
            steps = server.metric("vouch_decode_steps_total")
            print(f"tripped after {steps:.0f} decode steps and "
                  f"{time.monotonic() - started:.1f} s")
            # Those in flight ended as all others; what they were promised they
            # are told was not kept. (The audit may have found it when nobody
            # was; what came after it is served classically.)
            for receipt, text, report in answers:
                self.assertNotEqual(text, "")
                if report["verdict"] != "tripped":
                    continue
                self.assertTrue(receipt.startswith("verdict=tripped; "), receipt)
                self.assertEqual(report["declined"], "gate_tripped")
                if report["rounds"] > 0:
                    self.assertIn("; vouched=no; ", receipt)

            after = self.speculation(server)
            self.assertEqual(after["verdict"], "tripped")
            self.assertEqual(after["declined"]["reason"], "gate_tripped")
            # Classic rows share such steps, and may have tripped as well.
            self.assertIn(after["trips"], (1, 2))
            for width in "234":
                verdict = after["verdicts"]["widths"][width]
                self.assertEqual(verdict["state"], "tripped")
                self.assertGreaterEqual(verdict["first"]["position"], 0)
                evidence = pathlib.Path(verdict["evidence"])
                self.assertTrue((evidence / "trip.json").exists())
            # One sequence a step is what it was: the classic text again.
            receipt, text, report = self.ask(server, 0)
            self.assertTrue(receipt.startswith("verdict=tripped; "), receipt)
            self.assertEqual(report["rounds"], 0)
            self.assertEqual(report["declined"], "gate_tripped")
            self.assertEqual(text, alone[0][1])
            self.assertEqual(server.get("/health")[0], 200)
            self.assertGreaterEqual(
                server.metric("vouch_gate_trips_total"), 1)

        # A restart knows it, until it is cleared.
        with self.serve() as server:
            self.assertEqual(self.speculation(server)["verdict"], "tripped")
            _, text, report = self.ask(server, 0)
            self.assertEqual(report["declined"], "gate_tripped")
            self.assertEqual(text, alone[0][1])


if __name__ == "__main__":
    unittest.main()
