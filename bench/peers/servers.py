"""Servers under streaming load, ours and llama.cpp's."""

import contextlib
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from .programs import ProgramError, output_of, parsed

START_TIMEOUT_S = 120


class Server:
    """A server process; ends with the `with` block that holds it."""

    def __init__(self, arguments, port):
        self.arguments = [str(argument) for argument in arguments]
        self.url = f"http://127.0.0.1:{port}"
        self.process = None
        self.load_s = 0.0
        self._log = None

    def __enter__(self):
        self._log = tempfile.TemporaryFile()
        begin = time.monotonic()
        try:
            self.process = subprocess.Popen(
                self.arguments, stdin=subprocess.DEVNULL, stdout=self._log,
                stderr=self._log)
        except OSError as error:
            self._log.close()
            raise ProgramError(
                f"{self.arguments[0]}: {error.strerror}") from error
        while not self._ready():
            if self.process.poll() is not None:
                self._give_up("ended")
            if time.monotonic() - begin > START_TIMEOUT_S:
                self._give_up(f"was not ready in {START_TIMEOUT_S} s")
            time.sleep(0.01)
        self.load_s = time.monotonic() - begin
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()

    def _ready(self):
        """llama-server answers /health with 503 until it has loaded, ours
        /ready."""
        for path in ("/ready", "/health"):
            try:
                with urllib.request.urlopen(self.url + path, timeout=5) as answer:
                    return answer.status == 200
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    return False
            except (urllib.error.URLError, OSError):
                return False
        return False

    def _give_up(self, what):
        self._log.seek(0)
        log = self._log.read().decode(errors="replace").strip().splitlines()
        self.__exit__()
        raise ProgramError(f"{' '.join(self.arguments)}: {what}\n" +
                           "\n".join(log[-5:]))


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def vouch_server(program, model, threads):
    port = free_port()
    return Server([program, "serve", model, "--port", port, "--threads", threads,
                   "--log-level", "warn"], port)


def llama_server(program, model, threads, slots, context):
    """`context` tokens for each of `slots` sequences, batched continuously."""
    port = free_port()
    return Server([program, "-m", model, "-t", threads, "-np", slots, "-c",
                   slots * context, "-cb", "--port", port, "--no-webui"], port)


def load(client, server, salt, clients, tokens, words, sampled=False):
    """One run of the load client; its JSON. Every prompt is new (`salt`)."""
    arguments = [client, server.url, "--clients", clients, "--max-tokens",
                 tokens, "--prompt-words", words, "--salt", salt,
                 "--server-pid", server.process.pid]
    if sampled:
        arguments += ["--temperature", 0.8, "--top-p", 0.95, "--seed", 1]
    report = parsed(output_of(arguments), arguments)
    if report["errors"] or report["tokens"] != clients * tokens:
        raise ProgramError(f"{pathlib.Path(server.arguments[0]).name}: "
                           f"{report['errors']} errors, {report['tokens']} "
                           f"tokens where {clients * tokens} were asked for: "
                           f"{report.get('first_errors')}")
    return report
