"""The official OpenAI Python client against a server process.

    openai_client_test.py TEST_SERVER MODEL

CTest runs it with the Python of the cache folder's virtual environment, which
tools/fetch-test-data makes. Without the openai package it says so and exits
with 77, which CTest counts as skipped.
"""

import asyncio
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import openai
except ImportError:
    print("the openai package is missing: run tools/fetch-test-data")
    sys.exit(77)

KEY = "test-key"
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Say something."},
]


class Server:
    """The server process, on a free port."""

    def __init__(self, binary, model):
        self.folder = tempfile.TemporaryDirectory()
        port_file = pathlib.Path(self.folder.name) / "port"
        self.process = subprocess.Popen(
            [binary, model, str(port_file), KEY], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL)
        deadline = time.time() + 120
        while not port_file.exists():
            if self.process.poll() is not None or time.time() > deadline:
                raise RuntimeError("the server did not start")
            time.sleep(0.02)
        self.url = f"http://127.0.0.1:{port_file.read_text()}/v1"

    def stop(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.folder.cleanup()
        return code


class OpenAIClientTest(unittest.TestCase):
    server = None

    def setUp(self):
        self.client = openai.OpenAI(
            base_url=self.server.url, api_key=KEY, max_retries=0)

    def test_models(self):
        models = self.client.models.list()
        self.assertEqual([model.id for model in models], ["tiny"])
        self.assertEqual(self.client.models.retrieve("tiny").id, "tiny")
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("other")

    def test_chat(self):
        answer = self.client.chat.completions.create(
            model="tiny", messages=MESSAGES, max_tokens=12, temperature=0)
        self.assertEqual(answer.object, "chat.completion")
        self.assertEqual(answer.choices[0].message.role, "assistant")
        self.assertIn(answer.choices[0].finish_reason, ("stop", "length"))
        usage = answer.usage
        self.assertEqual(usage.total_tokens,
                         usage.prompt_tokens + usage.completion_tokens)
        self.assertIsNotNone(usage.prompt_tokens_details.cached_tokens)
        drafts = usage.completion_tokens_details
        self.assertGreaterEqual(drafts.accepted_prediction_tokens, 0)
        self.assertGreaterEqual(drafts.rejected_prediction_tokens, 0)
        self.assertTrue(answer.system_fingerprint)

    def test_chat_stream_equals_the_whole(self):
        for options in ({"temperature": 0}, {"temperature": 1, "seed": 5}):
            whole = self.client.chat.completions.create(
                model="tiny", messages=MESSAGES, max_tokens=24, **options)
            text, reasons, usages = "", [], []
            stream = self.client.chat.completions.create(
                model="tiny", messages=MESSAGES, max_tokens=24, stream=True,
                stream_options={"include_usage": True}, **options)
            for index, chunk in enumerate(stream):
                self.assertEqual(chunk.object, "chat.completion.chunk")
                if chunk.usage:
                    usages.append(chunk.usage)
                    self.assertEqual(chunk.choices, [])
                    continue
                delta = chunk.choices[0].delta
                if index == 0:
                    self.assertEqual(delta.role, "assistant")
                text += delta.content or ""
                if chunk.choices[0].finish_reason:
                    reasons.append(chunk.choices[0].finish_reason)
            self.assertEqual(text, whole.choices[0].message.content)
            self.assertEqual(reasons, [whole.choices[0].finish_reason])
            self.assertEqual(len(usages), 1)
            self.assertEqual(usages[0].completion_tokens,
                             whole.usage.completion_tokens)

    def test_speculation_report(self):
        asked = {"speculation": {"report": True}}
        raw = self.client.chat.completions.with_raw_response.create(
            model="tiny", messages=MESSAGES, max_tokens=12, temperature=0,
            n=2, extra_body=asked)
        receipt = dict(
            part.split("=") for part in
            raw.headers["x-vouch-receipt"].split("; "))
        answer = raw.parse()
        report = answer.model_extra["speculation"]
        self.assertEqual(receipt["verdict"], report["verdict"])
        self.assertEqual(receipt["vouched"] == "yes", report["vouched"])
        drafts = answer.usage.completion_tokens_details
        self.assertEqual(drafts.accepted_prediction_tokens, report["accepted"])
        self.assertEqual(drafts.rejected_prediction_tokens, report["rejected"])
        for usage in (False, True):
            options = {"stream_options": {"include_usage": usage}}
            chunks = list(self.client.chat.completions.create(
                model="tiny", messages=MESSAGES, max_tokens=12, temperature=0,
                stream=True, extra_body=asked, **options))
            told = ["speculation" in (chunk.model_extra or {})
                    for chunk in chunks]
            self.assertEqual(told, [False] * (len(chunks) - 1) + [True])
            self.assertEqual(bool(chunks[-1].choices), not usage)
        text = [self.client.chat.completions.create(
            model="tiny", messages=MESSAGES, max_tokens=24, temperature=0,
            extra_body={"speculation": {"enabled": enabled}}
        ).choices[0].message.content for enabled in (True, False)]
        self.assertEqual(text[0], text[1])
        with self.assertRaises(openai.BadRequestError) as refused:
            self.client.chat.completions.create(
                model="tiny", messages=MESSAGES,
                extra_body={"speculation": {"report": 1}})
        self.assertEqual(refused.exception.param, "speculation.report")

    def test_text_parts(self):
        plain = self.client.chat.completions.create(
            model="tiny", messages=MESSAGES, max_tokens=8, temperature=0)
        parts = [dict(m, content=[{"type": "text", "text": m["content"]}])
                 for m in MESSAGES]
        self.assertEqual(
            self.client.chat.completions.create(
                model="tiny", messages=parts, max_tokens=8,
                temperature=0).choices[0].message.content,
            plain.choices[0].message.content)

    def test_chat_logprobs(self):
        answer = self.client.chat.completions.create(
            model="tiny", messages=MESSAGES, max_tokens=4, temperature=0,
            logprobs=True, top_logprobs=3)
        content = answer.choices[0].logprobs.content
        self.assertEqual(len(content), answer.usage.completion_tokens)
        for token in content:
            self.assertLessEqual(token.logprob, 0)
            self.assertEqual(len(token.top_logprobs), 3)
            # Greedy: the token is the likeliest.
            self.assertEqual(token.top_logprobs[0].bytes, token.bytes)

    def test_completions(self):
        answer = self.client.completions.create(
            model="tiny", prompt=["one", "two"], n=2, max_tokens=6, seed=1,
            echo=True, logprobs=2)
        self.assertEqual(answer.object, "text_completion")
        self.assertEqual([c.index for c in answer.choices], [0, 1, 2, 3])
        for index, choice in enumerate(answer.choices):
            self.assertTrue(
                choice.text.startswith("one" if index < 2 else "two"))
            size = len(choice.logprobs.tokens)
            self.assertEqual(len(choice.logprobs.token_logprobs), size)
            self.assertEqual(len(choice.logprobs.top_logprobs), size)
            self.assertEqual(len(choice.logprobs.text_offset), size)
            self.assertIsNone(choice.logprobs.token_logprobs[0])

    def test_completion_stream_equals_the_whole(self):
        whole = self.client.completions.create(
            model="tiny", prompt="one", max_tokens=20, temperature=0)
        stream = self.client.completions.create(
            model="tiny", prompt="one", max_tokens=20, temperature=0,
            stream=True)
        self.assertEqual("".join(c.choices[0].text for c in stream),
                         whole.choices[0].text)

    def test_token_prompt(self):
        answer = self.client.completions.create(
            model="tiny", prompt=[1, 2, 3], max_tokens=4, temperature=0)
        self.assertEqual(answer.usage.prompt_tokens, 3)

    def test_errors(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(
                model="tiny", messages=MESSAGES, temperature=9)
        self.assertEqual(caught.exception.param, "temperature")
        self.assertTrue(caught.exception.request_id)
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.chat.completions.create(
                model="gpt-4", messages=MESSAGES)
        self.assertEqual(caught.exception.code, "model_not_found")
        with self.assertRaises(openai.AuthenticationError):
            openai.OpenAI(base_url=self.server.url, api_key="wrong",
                          max_retries=0).models.list()
        with self.assertRaises(openai.BadRequestError):
            self.client.chat.completions.create(
                model="tiny", messages=MESSAGES,
                tools=[{"type": "function", "function": {"name": "f"}}])
        with self.assertRaises(openai.InternalServerError) as caught:
            self.client.embeddings.create(model="tiny", input="x")
        self.assertEqual(caught.exception.status_code, 501)

    def test_left_stream(self):
        stream = self.client.chat.completions.create(
            model="tiny", messages=MESSAGES, max_tokens=100, stream=True)
        next(iter(stream))
        stream.close()
        self.assertTrue(self.client.models.list().data)

    def test_many_at_once(self):
        def options(index):
            mode = {"temperature": 0} if index % 2 else {
                "temperature": 0.8, "seed": index}
            return dict(model="tiny", prompt=f"client {index}",
                        max_tokens=8 + index, **mode)

        alone = [self.client.completions.create(**options(i)).choices[0].text
                 for i in range(16)]

        async def one(client, index):
            text = ""
            async for chunk in await client.completions.create(
                    stream=True, **options(index)):
                text += chunk.choices[0].text
            return text

        async def all_of_them():
            async with openai.AsyncOpenAI(
                    base_url=self.server.url, api_key=KEY,
                    max_retries=0) as client:
                return await asyncio.gather(
                    *(one(client, i) for i in range(16)))

        self.assertEqual(asyncio.run(all_of_them()), alone)


if __name__ == "__main__":
    binary, model = sys.argv[1:3]
    OpenAIClientTest.server = Server(binary, model)
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    code = OpenAIClientTest.server.stop()
    if code != 0:
        print(f"the server ended with {code}")
    sys.exit(0 if result.wasSuccessful() and code == 0 else 1)
