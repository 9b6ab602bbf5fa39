"""Speculation as a client meets it: with a drafter and without, alone and among
others, the same bytes. The cases are failures that other servers have had."""

import concurrent.futures
import json
import pathlib
import tempfile
import unittest

from vouch_process import FETCH, SMOLLM2, Server, run

SENTENCE = ("The quick brown fox jumps over the lazy dog near the bank of the "
            "river.")
# What the model copies as a completion, and in a chat.
COPY = f"{SENTENCE}\n" * 4
ASK_COPY = f"Repeat this sentence ten times: {SENTENCE}\n\n{SENTENCE}\n{SENTENCE}\n"
# Penalties that leave something to copy.
SAMPLED = {"temperature": 0.8, "top_p": 0.95, "presence_penalty": 0.1,
           "frequency_penalty": 0.02, "repetition_penalty": 1.01}
COMPLETIONS = "/v1/completions"
CHAT = "/v1/chat/completions"


class DraftingServer(Server):
    """SmolLM2 with a drafter and every width open, whatever the gate says."""

    def __init__(self, drafter, width, *arguments):
        self.files = tempfile.TemporaryDirectory()
        self.transcript = pathlib.Path(self.files.name) / "transcript"
        super().__init__(
            SMOLLM2, "--speculation.drafter", drafter, "--speculation.width",
            width, "--speculation.controller", "fixed",
            "--speculation.allow_inexact", "true", "--speculation.probe", "off",
            "--speculation.verdict_dir", "none", "--speculation.evidence_dir",
            "none", "--speculation.transcript", self.transcript, *arguments)

    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        self.files.cleanup()

    def ask(self, path, body, drafts=True):
        status, answer = self.post(path, {
            **body, "speculation": {"enabled": drafts, "report": True}})
        if status != 200:
            raise AssertionError(f"{status}: {answer}")
        return answer

    def rounds(self, request=None):
        """The transcript's rounds, of one request."""
        records = [json.loads(l) for l in
                   self.transcript.read_text().splitlines()]
        return [r for r in records if r["record"] == "round" and
                (request is None or r["request"] == request)]

    def check_transcript(self):
        checked = run("transcript", "check", self.transcript)
        if checked.returncode != 0:
            raise AssertionError(checked.stdout.decode())


def said(answer):
    """All of an answer that must not depend on speculation."""
    return json.dumps([answer["choices"], answer["usage"]["prompt_tokens"],
                       answer["usage"]["completion_tokens"]])


class Case(unittest.TestCase):
    def assert_same(self, server, path, body, accepts=True):
        """Both ways; returns the two answers."""
        classic = server.ask(path, body, drafts=False)
        burst = server.ask(path, body)
        self.assertEqual(said(classic), said(burst))
        for choice in classic["choices"]:
            text = choice.get("text", choice.get("message", {}).get("content"))
            self.assertNotEqual(text, "")
        self.assertEqual(classic["speculation"]["rounds"], 0)
        self.assertEqual(classic["speculation"]["declined"], "request_opt_out")
        self.assertGreater(burst["speculation"]["rounds"], 0)
        if accepts:
            self.assertGreater(burst["speculation"]["accepted"], 0)
        return classic, burst


@unittest.skipUnless(SMOLLM2.exists(), FETCH)
class Lookup(Case):
    """One server with prompt lookup for all."""

    @classmethod
    def setUpClass(cls):
        cls.server = DraftingServer("lookup", 4)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def tearDown(self):
        self.server.check_transcript()

    def test_case_1_one_word_48_times(self):
        self.assert_same(self.server, COMPLETIONS,
                         {"prompt": " ".join(["buffalo"] * 48),
                          "max_tokens": 32, "temperature": 0})

    def test_case_2_two_choices(self):
        body = {"prompt": COPY, "max_tokens": 48, "temperature": 0}
        alone, _ = self.assert_same(self.server, COMPLETIONS, body)
        for path, more in ((COMPLETIONS, {"prompt": COPY}), (CHAT, {
                "messages": [{"role": "user", "content": ASK_COPY}]})):
            both = {**body, **more, "n": 2}
            if path == CHAT:
                del both["prompt"]
            _, burst = self.assert_same(self.server, path, both)
            first, second = burst["choices"]
            self.assertEqual({**first, "index": 1}, second)
            self.assertEqual(len(burst["speculation"]["choices"]), 2)
            if path == COMPLETIONS:
                self.assertEqual(first, alone["choices"][0])

    def test_case_4_stop_string_inside_an_accepted_run(self):
        body = {"prompt": COPY, "max_tokens": 60, "temperature": 0,
                "logprobs": 2}
        whole = self.server.ask(COMPLETIONS, body)["choices"][0]["text"]
        self.assertIn("the lazy dog", whole)
        cut_runs = 0
        for stop in ("azy", "own fo", "x jumps ov", " bank", "quick", "river"):
            classic, burst = self.assert_same(self.server, COMPLETIONS,
                                              {**body, "stop": stop})
            choice = burst["choices"][0]
            self.assertEqual(choice["finish_reason"], "stop")
            self.assertEqual(choice["stop_reason"], stop)
            self.assertEqual(choice["text"], whole[:whole.index(stop)])
            tokens = choice["logprobs"]["tokens"]
            self.assertEqual(len(tokens), burst["usage"]["completion_tokens"])
            self.assertTrue("".join(tokens).startswith(choice["text"]))
            last = self.server.rounds(burst["id"])[-1]
            self.assertEqual(last["end"], "stop_string")
            cut_runs += len(last["emitted"]) <= last["accepted"]
        # Not at a run's end by chance.
        self.assertGreater(cut_runs, 0)

    def test_case_5_end_token_in_mid_block(self):
        body = {"prompt": COPY, "max_tokens": 60, "temperature": 0,
                "logprobs": 1}
        whole = self.server.ask(COMPLETIONS, body)
        inside = [r["drafts"][0] for r in self.server.rounds(whole["id"])
                  if r["accepted"] >= 2]
        self.assertTrue(inside)
        cut_runs = 0
        for token in sorted(set(inside)):
            before = self.server.metric("vouch_speculation_accepted_tokens_total")
            classic, burst = (
                self.server.ask(COMPLETIONS, {**body, "stop_token_ids": [token]},
                                drafts) for drafts in (False, True))
            self.assertEqual(said(classic), said(burst))
            choice = burst["choices"][0]
            self.assertEqual(choice["finish_reason"], "stop")
            self.assertEqual(choice["stop_reason"], token)
            self.assertTrue(
                whole["choices"][0]["text"].startswith(choice["text"]))
            rounds = self.server.rounds(burst["id"])
            if not rounds:
                continue
            last = rounds[-1]
            if last["end"] == "stop_token":
                self.assertEqual(last["emitted"][-1], token)
                self.assertEqual(last["emitted"].count(token), 1)
                cut_runs += len(last["emitted"]) <= last["accepted"]
            # Drafts behind the end were never emitted.
            emitted = sum(min(r["accepted"], len(r["emitted"])) for r in rounds)
            self.assertEqual(burst["speculation"]["accepted"], emitted)
            self.assertEqual(
                self.server.metric("vouch_speculation_accepted_tokens_total"),
                before + emitted)
            details = burst["usage"]["completion_tokens_details"]
            self.assertEqual(details["accepted_prediction_tokens"], emitted)
            self.assertEqual(details["rejected_prediction_tokens"],
                             burst["speculation"]["rejected"])
        self.assertGreater(cut_runs, 0)

    def test_case_6_logprobs(self):
        for how in ({"temperature": 0}, {**SAMPLED, "seed": 5}):
            answer = self.assert_same(
                self.server, CHAT,
                {"messages": [{"role": "user", "content": ASK_COPY}], **how,
                 "max_tokens": 48, "logprobs": True, "top_logprobs": 5})[1]
            content = answer["choices"][0]["logprobs"]["content"]
            self.assertEqual(len(content),
                             answer["usage"]["completion_tokens"])
            self.assert_same(self.server, COMPLETIONS,
                             {"prompt": COPY, "max_tokens": 48, "logprobs": 20,
                              **how})
        self.assert_same(self.server, COMPLETIONS,
                         {"prompt": COPY, "max_tokens": 24, "logprobs": 3,
                          "echo": True, "temperature": 0})

    def test_case_7_identical_requests_at_once(self):
        body = {"prompt": COPY, "max_tokens": 40, "temperature": 0}
        alone, _ = self.assert_same(self.server, COMPLETIONS, body)
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            for answer in pool.map(
                    lambda _: self.server.ask(COMPLETIONS, body), range(12)):
                self.assertEqual(said(answer), said(alone))
                self.assertGreater(answer["speculation"]["accepted"], 0)

    def test_sampled_alone_and_among_32_others(self):
        prompts = [COPY, "Once upon a time", "def add(a, b):\n    return",
                   "Příliš žluťoučký kůň", "道可道,非常道。名可名,非常名。",
                   "🌊🌊🌊 sea, 🌊🌊🌊", " ".join(["again"] * 48)]
        bodies = [{"prompt": prompts[i % len(prompts)], "max_tokens": 32,
                   "seed": i // 2, **SAMPLED, "min_tokens": 4} for i in range(33)]
        alone = [said(self.server.ask(COMPLETIONS, body, drafts=False))
                 for body in bodies]
        self.assertEqual([said(self.server.ask(COMPLETIONS, body))
                          for body in bodies[:7]], alone[:7])
        for mixed in (False, True):
            with concurrent.futures.ThreadPoolExecutor(33) as pool:
                answers = list(pool.map(
                    lambda i: self.server.ask(COMPLETIONS, bodies[i],
                                              drafts=not mixed or i % 3 != 0),
                    range(33)))
            self.assertEqual([said(a) for a in answers], alone)
            self.assertGreater(
                sum(a["speculation"]["accepted"] for a in answers), 0)
            self.assertGreater(
                sum(a["speculation"]["rejected"] for a in answers), 0)

    def test_case_8_another_users_text_changes_nothing(self):
        mine = {"prompt": "Notes on the river.\n" + SENTENCE +
                "\nThe quick brown", "max_tokens": 40, "temperature": 0,
                "user": "me"}
        # Texts that go on differently where mine could be looked up.
        others = [{"prompt": (SENTENCE + "\nThe quick brown " + word + " ") * 4,
                   "max_tokens": 60, "temperature": 0, "user": "other"}
                  for word in ("bear", "fox sleeps", "paper bag", "hen and")]
        _, alone = self.assert_same(self.server, COMPLETIONS, mine)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            running = [pool.submit(self.server.ask, COMPLETIONS, other)
                       for other in others]
            beside = self.server.ask(COMPLETIONS, mine)
            texts = [said(each.result()) for each in running]
        after = self.server.ask(COMPLETIONS, mine)
        for answer in (beside, after):
            self.assertEqual(said(answer), said(alone))
            for count in ("rounds", "drafted", "accepted"):
                self.assertEqual(answer["speculation"][count],
                                 alone["speculation"][count])
        for other, text in zip(others, texts):
            self.assertEqual(said(self.server.ask(COMPLETIONS, other,
                                                  drafts=False)), text)

    def test_wrong_speculation_objects(self):
        base = {"prompt": "a", "max_tokens": 2}
        for value in (1, "on", True, [], [{}], 1.5):
            status, answer = self.server.post(COMPLETIONS,
                                              {**base, "speculation": value})
            self.assertEqual(status, 400, value)
            self.assertEqual(answer["error"]["param"], "speculation")
        for field in ("enabled", "report"):
            for value in (1, 0, "true", [], {}, 1.5):
                status, answer = self.server.post(
                    COMPLETIONS, {**base, "speculation": {field: value}})
                self.assertEqual(status, 400, (field, value))
                self.assertEqual(answer["error"]["param"],
                                 "speculation." + field)
        for value in (None, {}, {"enabled": None}, {"unknown": 3}):
            status, answer = self.server.post(COMPLETIONS,
                                              {**base, "speculation": value})
            self.assertEqual(status, 200, value)
            self.assertNotIn("speculation", answer)
        self.assert_same(self.server, COMPLETIONS,
                         {"prompt": COPY, "max_tokens": 16, "temperature": 0})


@unittest.skipUnless(SMOLLM2.exists(), FETCH)
class Scripts(Case):
    """Case 3: drafters of every quality; and a real end token in mid-block."""

    CHAT_BODY = {"messages": [{"role": "user", "content":
                               "Say hello."}],
                 "max_tokens": 64, "temperature": 0, "logprobs": True}
    BODY = {"prompt": COPY, "max_tokens": 48, "temperature": 0, "logprobs": 1}

    @classmethod
    def setUpClass(cls):
        """What classic decoding says, and the file that scripts know it from."""
        cls.files = tempfile.TemporaryDirectory()
        cls.oracle = pathlib.Path(cls.files.name) / "texts"
        with Server(SMOLLM2) as server:
            def ask(path, body):
                status, answer = server.post(path, body)
                assert status == 200, answer
                return answer
            cls.classic = ask(COMPLETIONS, cls.BODY)
            cls.chat = ask(CHAT, cls.CHAT_BODY)
            prompt = ask("/apply-template",
                         {"messages": cls.CHAT_BODY["messages"]})["prompt"]
            answer = cls.chat["choices"][0]["message"]["content"]
            texts = [COPY + cls.classic["choices"][0]["text"],
                     prompt + answer + "<|im_end|>" * 8]
            cls.oracle.write_text("".join(
                json.dumps({"tokens": ask("/tokenize", {"prompt": t})["tokens"]})
                + "\n" for t in texts))

    @classmethod
    def tearDownClass(cls):
        cls.files.cleanup()

    def serve(self, script, width=6, knows=True):
        return DraftingServer(
            f"scripted:{script}@{self.oracle}" if knows
            else f"scripted:{script}", width)

    def check(self, server):
        answers = [server.ask(COMPLETIONS, self.BODY),
                   server.ask(CHAT, self.CHAT_BODY)]
        self.assertEqual(said(answers[0]), said(self.classic))
        self.assertEqual(said(answers[1]), said(self.chat))
        return answers

    def test_right(self):
        with self.serve("right") as server:
            text, chat = self.check(server)
            self.assertGreater(text["speculation"]["accepted"],
                               text["speculation"]["rejected"])
            self.assertEqual(text["speculation"]["width"], 6)
            # The model's own end came in mid-block, with drafts behind it.
            last = server.rounds(chat["id"])[-1]
            self.assertEqual(chat["choices"][0]["finish_reason"], "stop")
            self.assertEqual(last["end"], "stop_token")
            self.assertLessEqual(len(last["emitted"]), last["accepted"])
            server.check_transcript()

    def test_wrong(self):
        with self.serve("wrong") as server:
            for answer in self.check(server):
                self.assertEqual(answer["speculation"]["accepted"], 0)
                self.assertGreater(answer["speculation"]["rejected"], 40)
            server.check_transcript()

    def test_alternating(self):
        with self.serve("alternating") as server:
            for answer in self.check(server):
                self.assertGreater(answer["speculation"]["accepted"], 0)
                self.assertGreater(answer["speculation"]["rejected"], 0)
            server.check_transcript()

    def test_random(self):
        with self.serve("random", knows=False) as server:
            for answer in self.check(server):
                self.assertGreater(answer["speculation"]["rounds"], 10)
            server.check_transcript()

    def test_empty(self):
        with self.serve("empty", knows=False) as server:
            for answer in self.check(server):
                self.assertEqual(answer["speculation"]["rounds"], 0)
            self.assertEqual(server.transcript.read_text(), "")


if __name__ == "__main__":
    unittest.main()
