"""Starts the built `vouch` program for tests: commands and a server."""

import http.client
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time

VOUCH = os.environ["VOUCH_BINARY"]
SOURCE = pathlib.Path(os.environ["VOUCH_SOURCE_DIR"])
FIXTURES = SOURCE / "tests" / "fixtures"
TINY = FIXTURES / "llama_tiny"


def cache():
    home = os.environ.get("HOME", ".")
    base = os.environ.get("XDG_CACHE_HOME", os.path.join(home, ".cache"))
    return pathlib.Path(os.environ.get("VOUCH_CACHE", os.path.join(base, "vouch")))


SMOLLM2 = cache() / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
FETCH = "fetched files are missing: run tools/fetch-test-data (make test does)"


def clean_environment():
    """The environment without what would configure the program."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("VOUCH_")}
    kept["XDG_CONFIG_HOME"] = "/nonexistent"
    return kept


def run(*arguments, stdin=b"", env=None, timeout=240):
    """Runs a command to its end; bytes in and out."""
    return subprocess.run([VOUCH, *map(str, arguments)], input=stdin,
                          capture_output=True, timeout=timeout,
                          env={**clean_environment(), **(env or {})})


class Server:
    """`vouch serve` on a free port, as a context manager. `open_files` is its
    (soft, hard) limit."""

    def __init__(self, model=TINY, *arguments, timeout=240, open_files=None):
        self.folder = tempfile.TemporaryDirectory()
        port_file = pathlib.Path(self.folder.name) / "port"
        self.log = open(pathlib.Path(self.folder.name) / "log", "w+b")
        self.process = subprocess.Popen(
            [VOUCH, "serve", "--model", str(model), "--port", "0",
             "--port-file", str(port_file), *map(str, arguments)],
            stdout=self.log, stderr=self.log, env=clean_environment(),
            preexec_fn=open_files and (lambda: resource.setrlimit(
                resource.RLIMIT_NOFILE, open_files)))
        deadline = time.monotonic() + timeout
        while not port_file.exists() or not port_file.read_text().strip():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError("vouch serve did not start: " + self.output())
            time.sleep(0.02)
        self.port = int(port_file.read_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.log.close()
        self.folder.cleanup()

    def output(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def stop(self, number=signal.SIGTERM, timeout=60):
        self.process.send_signal(number)
        return self.process.wait(timeout)

    def connect(self, timeout=240):
        return http.client.HTTPConnection("127.0.0.1", self.port,
                                          timeout=timeout)

    def get(self, path):
        connection = self.connect()
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body

    def post(self, path, body):
        connection = self.connect()
        connection.request("POST", path, json.dumps(body),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text)

    def metric(self, name):
        """A metric's value, summed over its labels."""
        _, text = self.get("/metrics")
        total = None
        for line in text.decode().splitlines():
            if line.startswith("#"):
                continue
            key, _, value = line.rpartition(" ")
            if key.split("{")[0] == name:
                total = (total or 0.0) + float(value)
        return total


def stream(server, path, body, on_chunk=None):
    """Posts a streaming request; returns the text and the final chunk list."""
    connection = server.connect()
    connection.request("POST", path, json.dumps({**body, "stream": True}),
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"{response.status}: {response.read()!r}")
    text, chunks = "", []
    for line in response:
        line = line.strip()
        if not line.startswith(b"data: "):
            continue
        data = line[len(b"data: "):]
        if data == b"[DONE]":
            break
        chunk = json.loads(data)
        chunks.append(chunk)
        for choice in chunk.get("choices", []):
            text += choice.get("text") or choice.get("delta", {}).get(
                "content") or ""
        if on_chunk:
            on_chunk(chunk)
    connection.close()
    return text, chunks
