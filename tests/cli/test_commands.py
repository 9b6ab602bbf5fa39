"""The commands as a user runs them: tokenize, template, inspect, generate,
serve --check, and what malformed files do (a message that names file and place,
exit code 2)."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from vouch_process import FETCH, SMOLLM2, SOURCE, TINY, VOUCH, cache, run

VOCABULARIES = cache() / "test-data" / "vocabularies"
TEMPLATES = cache() / "test-data" / "templates"


class Tokenize(unittest.TestCase):
    def test_ids_on_one_line_and_back(self):
        text = "Hello, world! Příliš žluťoučký kůň 👍🏽 漢字\n  indented 2023"
        ids = run("tokenize", "--model", TINY, stdin=text.encode())
        self.assertEqual(ids.returncode, 0, ids.stderr)
        self.assertEqual(ids.stdout.count(b"\n"), 1)
        back = run("tokenize", "--model", TINY, "--decode", stdin=ids.stdout)
        self.assertEqual(back.stdout.decode(), text)

    def test_vocabulary_alone_is_enough(self):
        vocabulary = VOCABULARIES / "ggml-vocab-llama-bpe.gguf"
        if not vocabulary.exists():
            self.skipTest(FETCH)
        texts = (VOCABULARIES / "ggml-vocab-llama-bpe.gguf.inp").read_bytes()
        ids = (VOCABULARIES / "ggml-vocab-llama-bpe.gguf.out").read_text()
        pairs = list(zip(texts.split(b"\n__ggml_vocab_test__\n"),
                         ids.splitlines()))
        self.assertGreater(len(pairs), 40)
        for text, expected in pairs[::6]:
            got = run("tokenize", "--model", vocabulary, stdin=text)
            self.assertEqual(got.stdout.split(), expected.encode().split())

    def test_special_tokens_can_be_text(self):
        as_token = run("tokenize", "--model", TINY, "<|im_end|>").stdout.split()
        as_text = run("tokenize", "--model", TINY, "--no-special",
                      "<|im_end|>").stdout.split()
        self.assertEqual(len(as_token), 1)
        self.assertGreater(len(as_text), 1)
        self.assertNotIn(as_token[0], as_text)

    def test_bad_ids_are_named(self):
        for ids, wrong in (("1 2 x", "'x' at offset 4"),
                           ("1 99999999", "99999999 at offset 2"),
                           ("-1", "-1 at offset 0")):
            got = run("tokenize", "--model", TINY, "--decode", "--", ids)
            self.assertEqual(got.returncode, 2)
            self.assertIn(wrong, got.stderr.decode())


class Bisect(unittest.TestCase):
    """`vouch bisect`: 0 holds, 1 differs, 2 could not be run."""

    def bisect(self, *arguments, code=0):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "bisect.json"
            got = run("bisect", "--model", TINY, "--threads", "2",
                      "--json", report, *arguments)
            self.assertEqual(got.returncode, code, got.stderr + got.stdout)
            found = json.loads(report.read_text()) if report.exists() else None
            return got.stdout.decode() + got.stderr.decode(), found

    def test_a_sound_model_holds(self):
        for more in ((), ("--walk",), ("--beside", "3", "--pattern", "none"),
                     ("--prompt", "Once upon a time", "--width", "3")):
            text, found = self.bisect("--rows", "40", *more)
            self.assertIn("holds", text)
            self.assertEqual(found["result"], "holds")
            self.assertGreaterEqual(found["report"]["rows"], 40)
            self.assertIsNone(found["report"]["first"])

    def test_a_fault_is_named(self):
        fault = "op=up layer=1 phase=verify rows>=3 ulp=1"
        text, found = self.bisect("--fault", fault, code=1)
        self.assertIn("first op that differs: layer 1 up", text)
        self.assertIn("capturing changed nothing", text)
        first = found["report"]["first_op"]
        self.assertEqual((first["layer"], first["op"]), (1, "up"))
        self.assertGreater(first["differing_bytes"], 0)
        self.assertFalse(found["report"]["capture_changed"])

    def test_a_fault_that_changes_nothing_shows_nothing(self):
        text, found = self.bisect("--fault", "op=up rows>=999 ulp=1", code=2)
        self.assertIn("changed no row", text)
        self.assertEqual(found["result"], "showed nothing")

    def test_one_kernel_alone(self):
        text, found = self.bisect("--op", "matmul", "--draws", "1")
        self.assertEqual(len(found["lines"]), 44)
        text, found = self.bisect("--op", "matmul", "--type", "q8_0", "--draws",
                                  "1", "--plan", "fast", code=1)
        self.assertIn("row 0 of 8", text)
        self.assertEqual(found["lines"][0]["first"]["rows"], 8)

    def test_what_cannot_be_run_is_named(self):
        for arguments, wrong in (
                (("--fault", "op=stop"), "lies in the schedule"),
                (("--fault", "op=nothing"), "nothing"),
                (("--pattern", "odd"), "--pattern"),
                (("--plan", "odd"), "--plan"),
                (("--prompt-tokens", "600"), "positions"),
                (("--op", "matmul", "--type", "q9"), "'q9' is no type"),
                (("--transcript", "/nonexistent"), "/nonexistent"),
                (("--evidence", "/nonexistent"), "/nonexistent"),
                (("--text", "x"), "--text")):
            text, found = self.bisect(*arguments, code=2)
            self.assertIn(wrong, text)
            self.assertIsNone(found)
        self.assertEqual(run("bisect").returncode, 2)


class Probe(unittest.TestCase):
    """`vouch probe`: 0 holds, 1 does not, 2 it could not be run."""

    SMALL = ("--walk", "32", "--positions", "128", "--max-context", "512",
             "--kv-memory-mib", "16", "--threads", "2", "--step-tokens", "128",
             "--chunk", "64")

    def probe(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report.json"
            got = run("probe", TINY, *self.SMALL, "--json", report, *arguments)
            return got, (json.loads(report.read_text())
                         if report.exists() else None)

    def test_a_sound_model_holds(self):
        got, report = self.probe("--widths", "2,5", "--drafter", "lookup")
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertTrue(got.stdout.endswith(b"holds\n"), got.stdout)
        self.assertTrue(report["holds"])
        verdicts = report["verdicts"]
        self.assertEqual(set(verdicts["widths"]), {"2", "5"})
        for each in (verdicts["alone"], verdicts["batch"],
                     *verdicts["widths"].values()):
            self.assertEqual(each["state"], "equal")
            self.assertGreater(each["rows"], 30)
        self.assertGreater(report["by_pattern"]["live"]["rows"], 0)
        self.assertIn("drafter=lookup", report["scope"])

    def test_a_drafter_on_the_device_is_probed_live(self):
        # The model drafts for itself: greedily it is always right.
        got, report = self.probe("--widths", "4", "--drafter", TINY)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        live = report["by_pattern"]["live"]
        self.assertGreater(live["rows"], 30)
        self.assertGreater(live["accepted"], live["rejected"])
        self.assertIn("drafter=model", report["scope"])

    def test_random_mixes_until_so_many_rows(self):
        got, report = self.probe("--widths", "2,4,8", "--rows", "4000")
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertGreaterEqual(report["compared"]["rows"], 4000)
        self.assertTrue(any(line["mix"] == "drawn"
                            for line in report["scenarios"]))

    def test_a_planted_fault_does_not_hold(self):
        got, report = self.probe(
            "--widths", "2,3", "--fault",
            "op=logits phase=verify item_rows=3 ulp=1 element=2")
        self.assertEqual(got.returncode, 1, got.stdout + got.stderr)
        self.assertIn(b"does not hold", got.stdout)
        first = report["verdicts"]["widths"]["3"]["first"]
        self.assertIn("logits", first["where"])
        self.assertGreaterEqual(first["position"], 0)
        self.assertGreater(first["differing_bytes"], 0)
        self.assertLessEqual(first["differing_bytes"], 4)
        self.assertEqual(report["verdicts"]["widths"]["2"]["state"], "equal")
        self.assertIn("op=logits", report["scope"])

    def test_the_fast_plan_is_seen(self):
        if not SMOLLM2.exists():
            self.skipTest(FETCH)
        got = run("probe", SMOLLM2, "--plan", "fast", "--widths", "2",
                  "--walk", "16", "--positions", "64", "--max-context", "256")
        self.assertEqual(got.returncode, 1, got.stdout + got.stderr)
        self.assertIn(b"diverges", got.stdout)

    def test_what_cannot_be_run_is_exit_2(self):
        for arguments, word in (
                (("--plan", "quick"), "--plan: expected invariant or fast"),
                (("--fault", "op=nothing"), "--fault"),
                (("--widths", "1"), "--widths"),
                (("--drafter", "/no/such/drafter"), "drafter"),
                (("--prompts", "/no/such/file"), "/no/such/file")):
            got, _ = self.probe(*arguments)
            self.assertEqual(got.returncode, 2, arguments)
            self.assertIn(word, (got.stdout + got.stderr).decode())

    def test_stored_verdicts_can_be_cleared(self):
        with tempfile.TemporaryDirectory() as folder:
            got = run("probe", TINY, "--clear", "--verdicts", folder)
            self.assertEqual(got.returncode, 0, got.stderr)
            self.assertIn(b"0 stored scopes", got.stdout)


class Transcript(unittest.TestCase):
    """`vouch transcript check`: 0 holds, 1 does not, 2 cannot be read."""

    SEQUENCE = {"record": "sequence", "request": "a", "choice": 0,
                "prompt_tokens": 2, "last_token": 9, "budget": 8,
                "context": 64, "stop_tokens": [3], "widths": [2, 3, 4],
                "seed": 5, "drafter": "lookup"}
    BURST = {"record": "burst", "request": "a", "choice": 0, "burst": 0,
             "generated": 0, "last_token": 9, "cache": 1, "verdict": "equal"}
    ROUND = {"record": "round", "request": "a", "choice": 0, "burst": 0,
             "round": 0, "width": 3, "position": 1, "anchor": 9,
             "drafts": [10, 12], "picks": [10, 11, 14], "accepted": 1,
             "emitted": [10, 11], "cache_before": 1, "cache_after": 3,
             "seed": 5, "sampler_position": 1, "verdict": "equal",
             "end": "none"}

    def check(self, lines, *arguments, classic=None):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            file = folder / "t.jsonl"
            file.write_text("".join(
                (line if isinstance(line, str) else json.dumps(line)) + "\n"
                for line in lines))
            if classic is not None:
                other = folder / "classic.jsonl"
                other.write_text(json.dumps(classic) + "\n")
                arguments += ("--classic", other)
            report = folder / "report.json"
            got = run("transcript", "check", file, "--json", report, *arguments)
            return got, (json.loads(report.read_text())
                         if report.exists() else None)

    def test_a_sound_one_holds(self):
        got, report = self.check([self.SEQUENCE, self.BURST, self.ROUND])
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertTrue(got.stdout.endswith(b"holds\n"), got.stdout)
        self.assertEqual(report["holds"], True)
        self.assertEqual((report["drafted"], report["accepted"],
                          report["emitted"]), (2, 1, 2))

    def test_an_unsound_one_is_exit_1_and_names_rule_and_line(self):
        wrong = {**self.ROUND, "cache_after": 4}
        got, report = self.check([self.SEQUENCE, self.BURST, wrong])
        self.assertEqual(got.returncode, 1)
        self.assertIn(b"line 3: cache_after: cache_after is 4, not 3",
                      got.stdout)
        self.assertTrue(got.stdout.endswith(b"does not hold\n"))
        self.assertEqual(report["failures"][0]["rule"], "cache_after")
        self.assertEqual(report["failures"][0]["line"], 3)
        # Nothing ran: no pass.
        self.assertEqual(self.check([self.SEQUENCE])[0].returncode, 1)

    def test_a_classic_arm_shows_the_first_difference(self):
        lines = [self.SEQUENCE, self.BURST, self.ROUND]
        same = {"request": "a", "choice": 0, "tokens": [10, 11, 12]}
        self.assertEqual(self.check(lines, classic=same)[0].returncode, 0)
        other = {**same, "tokens": [10, 77, 12]}
        got, report = self.check(lines, classic=other)
        self.assertEqual(got.returncode, 1)
        failure = report["failures"][0]
        self.assertEqual([failure[k] for k in
                          ("rule", "burst", "round", "row")],
                         ["classic", 0, 0, 1])

    def test_what_cannot_be_read_is_exit_2(self):
        for broken, message in (
                ({**self.ROUND, "width": "3"},
                 "t.jsonl: line 3: field 'width': not an integer"),
                ("{", "t.jsonl: line 3: not valid JSON")):
            got, report = self.check([self.SEQUENCE, self.BURST, broken])
            self.assertEqual(got.returncode, 2)
            self.assertIn(message, got.stderr.decode())
            self.assertIsNone(report)
        self.assertEqual(run("transcript", "check", "/nonexistent").returncode,
                         2)
        self.assertEqual(run("transcript").returncode, 2)


class Template(unittest.TestCase):
    MESSAGES = [{"role": "user", "content": "Hi <|im_end|>"}]

    def test_model_template(self):
        got = run("template", "--model", TINY,
                  stdin=json.dumps(self.MESSAGES).encode())
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertIn("Hi <|im_end|>", got.stdout.decode())
        spans = run("template", "--model", TINY, "--spans",
                    stdin=json.dumps(self.MESSAGES).encode())
        self.assertIn('input\t"Hi <|im_end|>"', spans.stdout.decode())

    def test_jinja_file_with_tools_and_variables(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "t.jinja"
            file.write_text(
                "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"
                "{% if tools %}{{ tools[0].function.name }}{% endif %}"
                "{{ mood }}{% if add_generation_prompt %}>{% endif %}")
            conversation = {"messages": self.MESSAGES, "mood": "calm",
                            "tools": [{"function": {"name": "f"}}]}
            got = run("template", "--template", file,
                      stdin=json.dumps(conversation).encode())
            self.assertEqual(got.stdout.decode(), "user:Hi <|im_end|>;fcalm>")
            got = run("template", "--template", file, "--var", "mood=wild",
                      "--no-generation-prompt",
                      stdin=json.dumps(self.MESSAGES).encode())
            self.assertEqual(got.stdout.decode(), "user:Hi <|im_end|>;wild")

    def test_errors_name_file_and_line(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "broken.jinja"
            file.write_text("line one\n{% if x %}\n")
            got = run("template", "--template", file, stdin=b"[]")
            self.assertEqual(got.returncode, 2)
            self.assertIn("broken.jinja", got.stderr.decode())
            self.assertRegex(got.stderr.decode(), r"line \d")
            file.write_text("a\n{{ raise_exception('no such role') }}")
            got = run("template", "--template", file, stdin=b"[]")
            self.assertEqual(got.returncode, 2)
            self.assertEqual(got.stderr.decode(),
                             f"vouch: {file}: line 2: no such role\n")
            got = run("template", "--template", "/dev/zero", stdin=b"[]")
            self.assertEqual(got.returncode, 2)
            self.assertIn("64 MiB", got.stderr.decode())
        got = run("template", "--model", TINY, stdin=b"[{]")
        self.assertEqual(got.returncode, 2)
        self.assertIn("offset 2", got.stderr.decode())


class Inspect(unittest.TestCase):
    def test_json_of_both_containers(self):
        got = json.loads(run("inspect", TINY, "--json", "--tensors").stdout)
        self.assertEqual(got["container"], "safetensors")
        self.assertEqual(got["config"]["family"], "llama")
        self.assertEqual(len(got["weights"]["list"]), got["weights"]["tensors"])
        if not SMOLLM2.exists():
            self.skipTest(FETCH)
        got = json.loads(run("inspect", SMOLLM2, "--json").stdout)
        self.assertEqual(got["weights"]["types"]["Q4_1"]["tensors"], 210)
        self.assertEqual(got["config"]["max_position"], 8192)
        self.assertEqual([t["id"] for t in
                          got["tokenizer"]["end_of_generation"]], [2])


class Generate(unittest.TestCase):
    def test_same_seed_same_text(self):
        def text(*extra):
            got = run("generate", "--model", TINY, "--quiet", "-n", 24, *extra,
                      "Once upon a time")
            self.assertEqual(got.returncode, 0, got.stderr)
            return got.stdout
        self.assertEqual(text("--temperature", 0), text("--temperature", 0))
        self.assertEqual(text("--seed", 7), text("--seed", 7))
        self.assertNotEqual(text("--seed", 7), text("--seed", 8))
        self.assertEqual(text("--seed", 7, "--threads", 1),
                         text("--seed", 7, "--threads", 2))

    def test_a_seed_that_is_no_64_bit_integer_is_refused(self):
        for seed in (2**64, -2**63 - 1, "1.5", "x", ""):
            got = run("generate", "--model", TINY, f"--seed={seed}", "a")
            self.assertEqual(got.returncode, 2, seed)
            self.assertIn(b"--seed", got.stderr)
        for seed in (2**64 - 1, -2**63):
            got = run("generate", "--model", TINY, "--quiet", "-n", 1,
                      f"--seed={seed}", "a")
            self.assertEqual(got.returncode, 0, got.stderr)

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "wb") as full_disk:
            full = subprocess.run([VOUCH, "inspect", str(TINY)], timeout=60,
                                  stdout=full_disk,
                                  stderr=subprocess.PIPE)
        self.assertEqual(full.returncode, 1)
        self.assertIn(b"cannot be written", full.stderr)
        generating = subprocess.Popen(
            [VOUCH, "generate", "--model", str(TINY), "--temperature", "1",
             "x"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        generating.stdout.close()
        self.assertEqual(generating.wait(60), 1)
        generating.stderr.close()

    def test_interrupt_ends_the_text(self):
        if not SMOLLM2.exists():
            self.skipTest(FETCH)
        generating = subprocess.Popen(
            [VOUCH, "generate", "--model", str(SMOLLM2), "--temperature", "0",
             "Count: 1, 2, 3,"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.assertTrue(generating.stdout.read(8))
        generating.send_signal(signal.SIGINT)
        begin = time.monotonic()
        generating.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(generating.returncode, 1)

    def test_prompt_from_stdin_and_chat(self):
        got = run("generate", "--model", TINY, "--chat", "-n", 4,
                  "--temperature", 0, stdin=b"hello")
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertIn(b"prompt tokens", got.stderr)

    def test_chat_answers_lines(self):
        got = run("chat", "--model", TINY, "-n", 4, "--temperature", 0,
                  stdin=b"hello\nagain\n/reset\nhello\n")
        self.assertEqual(got.returncode, 0, got.stderr)
        lines = got.stdout.split(b"\n")
        self.assertEqual(got.stdout.count(b"\n") >= 3, True, lines)


class Check(unittest.TestCase):
    def test_a_port_file_that_cannot_be_written_is_named(self):
        got = run("serve", "--model", TINY, "--port", 0, "--port-file",
                  "/nowhere/port")
        self.assertEqual(got.returncode, 2)
        self.assertIn(b"/nowhere/port: cannot be written", got.stderr)

    def test_shipped_configurations_are_valid(self):
        checked = 0
        for file in sorted((SOURCE / "configs").glob("*.toml")):
            got = run("serve", "--config", file, "--check")
            self.assertEqual(got.returncode, 0, got.stderr)
            checked += 1
        for file in sorted((SOURCE / "configs/policies").glob("*.toml")):
            got = run("serve", "--policy", file, "--check")
            self.assertEqual(got.returncode, 0, got.stderr)
            checked += 1
        self.assertGreaterEqual(checked, 6)

    def test_print_config_names_origins(self):
        got = run("serve", "--port", 9001, "--print-config",
                  env={"VOUCH_SERVER_HOST": "0.0.0.0"}).stdout.decode()
        self.assertRegex(got, r"port = 9001 +# --")
        self.assertRegex(got, r'host = "0.0.0.0" +# VOUCH_SERVER_HOST')

    def test_bad_files_exit_2_and_name_the_place(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "c.toml"
            policy = pathlib.Path(folder) / "p.toml"
            config.write_text("[server]\nprot = 1\n")
            got = run("serve", "--config", config, "--check")
            self.assertEqual(got.returncode, 2)
            self.assertIn(f"{config}:2: server.prot", got.stderr.decode())
            policy.write_text("[order]\nby = \"fastest\"\n")
            got = run("serve", "--policy", policy, "--check")
            self.assertEqual(got.returncode, 2)
            self.assertIn(f"{policy}:2: order.by", got.stderr.decode())

    def test_pipes_in_place_of_files_never_hang(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = pathlib.Path(folder) / "pipe"
            os.mkfifo(pipe)
            model = pathlib.Path(folder) / "model"
            model.mkdir()
            for file in TINY.iterdir():
                (model / file.name).symlink_to(file)
            os.mkfifo(model / "chat_template.jinja")
            for name, command in (
                    ("pipe", ["serve", "--config", pipe, "--check"]),
                    ("pipe", ["serve", "--policy", pipe, "--check"]),
                    ("pipe", ["inspect", pipe]),
                    ("pipe", ["serve", "--port", "0", "--model", TINY,
                              "--chat-template", pipe]),
                    ("chat_template.jinja",
                     ["serve", "--port", "0", "--model", model]),
                    ("chat_template.jinja", ["template", "--model", model])):
                got = run(*command, stdin=b"[]", timeout=60)
                self.assertEqual(got.returncode, 2, (command, got.stderr))
                self.assertIn(f"{name}: is not a regular file",
                              got.stderr.decode())

    def test_texts_of_the_command_line_may_come_through_pipes(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = pathlib.Path(folder) / "pipe"
            os.mkfifo(pipe)
            writer = threading.Thread(
                target=lambda: pipe.write_text("{{ messages | length }}"))
            writer.start()
            got = run("template", "--template", pipe, stdin=b"[]")
            writer.join()
            self.assertEqual(got.stdout, b"0", got.stderr)

    def test_cpu_lists_that_cannot_be_exit_2(self):
        cpu = min(os.sched_getaffinity(0))
        for arguments, wrong in (
                (["--cpu-list", "x"], "engine.cpu_list: 'x': expected a CPU"),
                (["--cpu-list", "16000"], "CPU 16000 is not one this process"),
                (["--cpu-list", f"{cpu},{cpu}"], f"CPU {cpu} is named twice"),
                (["--cpu-list", cpu, "--threads", 2],
                 "1 CPU for 2 compute threads")):
            got = run("serve", "--check", *arguments)
            self.assertEqual(got.returncode, 2, arguments)
            self.assertIn(wrong, got.stderr.decode())
            got = run("generate", "--model", TINY, *arguments, "Hi")
            self.assertEqual(got.returncode, 2, arguments)
            self.assertIn(wrong.removeprefix("engine.cpu_list: "),
                          got.stderr.decode())
        got = run("generate", "--model", TINY, "--cpu-list", cpu, "-n", 4, "Hi")
        self.assertEqual(got.returncode, 0, got.stderr)

    def test_empty_keys_never_open_the_server(self):
        for arguments, env in ((["--api-key", ""], {}),
                               ([], {"VOUCH_SERVER_API_KEYS": ""}),
                               ([], {"VOUCH_SERVER_API_KEYS": "a,,b"}),
                               (["--api-key", "***"], {})):
            got = run("serve", *arguments, "--check", env=env)
            self.assertEqual(got.returncode, 2, (arguments, env, got.stdout))
            self.assertRegex(got.stderr.decode(), "(?i)api_keys")

    def test_unknown_command_is_named(self):
        got = run("sevre")
        self.assertEqual(got.returncode, 2)
        self.assertIn("'sevre' is not a command, did you mean 'serve'",
                      got.stderr.decode())

    def test_usage(self):
        for arguments in ([], ["serve", "--nonsense"], ["nonsense"],
                          ["serve", "--port", "x", "--check"],
                          ["generate"], ["serve"]):
            got = run(*arguments)
            self.assertEqual(got.returncode, 2, (arguments, got.stderr))
        self.assertEqual(run("--help").returncode, 0)
        self.assertEqual(run("--version").returncode, 0)
        for command in ("serve", "generate", "chat", "inspect", "tokenize",
                        "template"):
            self.assertEqual(run(command, "--help").returncode, 0)


class MalformedModels(unittest.TestCase):
    """Every command that opens a model answers 2 and names the file."""

    def expect_2(self, path, *needles,
                 commands=("inspect", "serve", "generate", "tokenize")):
        for command in (["inspect", path],
                        ["serve", "--port", "0", "--model", path],
                        ["generate", "--model", path, "x"],
                        ["tokenize", "--model", path, "x"]):
            if command[0] not in commands:
                continue
            got = run(*command)
            self.assertEqual(got.returncode, 2, (command, got.stderr))
            for needle in needles:
                self.assertIn(needle, got.stderr.decode())

    def test_missing_and_empty(self):
        with tempfile.TemporaryDirectory() as folder:
            self.expect_2(f"{folder}/none.gguf", "none.gguf")
            empty = pathlib.Path(folder) / "empty.gguf"
            empty.write_bytes(b"")
            self.expect_2(empty, "empty.gguf")
            self.expect_2(folder, folder)

    def test_truncated_gguf(self):
        if not SMOLLM2.exists():
            self.skipTest(FETCH)
        with tempfile.TemporaryDirectory() as folder, open(SMOLLM2, "rb") as f:
            head = f.read(1 << 16)
            cut = pathlib.Path(folder) / "cut.gguf"
            for size in (3, 20, 1000, 60000):
                cut.write_bytes(head[:size])
                self.expect_2(cut, "cut.gguf", "offset")

    def test_damaged_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "model"
            copy.mkdir()
            for file in TINY.iterdir():
                (copy / file.name).write_bytes(file.read_bytes())
            (copy / "config.json").write_text('{"model_type": "llama", ')
            for command in ("inspect", "serve", "generate"):
                arguments = [command, "--model", copy]
                got = run(*arguments, *(["x"] if command == "generate" else []))
                self.assertEqual(got.returncode, 2, got.stderr)
                self.assertIn("config.json", got.stderr.decode())
            (copy / "config.json").write_bytes(
                (TINY / "config.json").read_bytes())
            weights = copy / "model.safetensors"
            weights.write_bytes(weights.read_bytes()[:-8])
            got = run("inspect", copy)
            self.assertEqual(got.returncode, 2, got.stderr)
            self.assertIn("model.safetensors", got.stderr.decode())
            weights.write_bytes((TINY / "model.safetensors").read_bytes())
            (copy / "tokenizer.json").write_text('{"model": {"type": "X"}}')
            for command in (["generate", "--model", copy, "x"],
                            ["inspect", copy], ["inspect", copy, "--json"]):
                got = run(*command)
                self.assertEqual(got.returncode, 2, got.stderr)
                self.assertIn("tokenizer.json", got.stderr.decode())
            self.assertIn("tokenizer.json", json.loads(got.stdout)["problems"][0])

    def test_inspect_refuses_what_serve_refuses(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "model"
            copy.mkdir()
            for file in TINY.iterdir():
                (copy / file.name).write_bytes(file.read_bytes())
            config = (TINY / "config.json").read_text()
            (copy / "config.json").write_text(config.replace(
                '"intermediate_size": 128', '"intermediate_size": 64'))
            self.expect_2(copy, "mlp.gate_proj.weight", "[128, 64]",
                          "[64, 64]", commands=("inspect", "serve"))
            (copy / "config.json").write_text(config)
            self.assertEqual(run("inspect", copy).returncode, 0)
            (copy / "chat_template.jinja").write_text("{% if x %}")
            self.expect_2(copy, "chat template", "line 1",
                          commands=("inspect", "serve"))


if __name__ == "__main__":
    unittest.main()
