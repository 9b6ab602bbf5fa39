"""`vouch serve` as an operator runs it: start, drain, reload, many clients."""

import contextlib
import os
import pathlib
import random
import signal
import socket
import tempfile
import threading
import time
import unittest

from vouch_process import FETCH, SMOLLM2, TINY, Server, stream


class Lifecycle(unittest.TestCase):
    def test_ready_then_drain(self):
        with Server() as server:
            self.assertEqual(server.get("/health")[0], 200)
            self.assertEqual(server.get("/ready")[0], 200)
            first = threading.Event()
            result = {}

            def read():
                result["text"], result["chunks"] = stream(
                    server, "/v1/completions",
                    {"prompt": "a", "max_tokens": 300, "temperature": 0,
                     "ignore_eos": True}, lambda _: first.set())
            reader = threading.Thread(target=read)
            reader.start()
            self.assertTrue(first.wait(60))
            self.assertEqual(server.stop(signal.SIGTERM), 0)
            reader.join(60)
            last = [c for c in result["chunks"] if c["choices"]][-1]
            self.assertEqual(last["choices"][0]["finish_reason"], "length")

    @contextlib.contextmanager
    def half_a_body(self, server):
        """A connection that an answer is due on, but never comes."""
        with socket.create_connection(("127.0.0.1", server.port)) as peer:
            peer.sendall(b"POST /tokenize HTTP/1.1\r\nHost: t\r\n"
                         b"Content-Length: 100\r\n\r\n{")
            time.sleep(0.2)
            yield

    def test_drain_timeout_bounds_the_whole_drain(self):
        with Server(TINY, "--server.drain_timeout", "2") as server:
            with self.half_a_body(server):
                begin = time.monotonic()
                self.assertEqual(server.stop(signal.SIGTERM), 0)
                took = time.monotonic() - begin
                self.assertGreater(took, 1.9)
                self.assertLess(took, 3.5)

    def test_second_signal_cuts_the_drain(self):
        with Server(TINY, "--server.drain_timeout", "20") as server:
            with self.half_a_body(server):
                server.process.send_signal(signal.SIGTERM)
                self.wait_for(server, "draining")
                time.sleep(0.5)
                begin = time.monotonic()
                self.assertEqual(server.stop(signal.SIGTERM), 0)
                self.assertLess(time.monotonic() - begin, 5)
                self.assertIn("second signal", server.output())
                self.assertIn("requests were cut", server.output())

    def test_idle_costs_no_cpu(self):
        with Server(TINY, "--threads", 2) as server:
            stream(server, "/v1/completions", {"prompt": "a", "max_tokens": 8})
            time.sleep(0.3)

            def cpu_seconds():
                stat = pathlib.Path(f"/proc/{server.process.pid}/stat")
                fields = stat.read_text().rpartition(")")[2].split()
                ticks = int(fields[11]) + int(fields[12])
                return ticks / os.sysconf("SC_CLK_TCK")
            before = cpu_seconds()
            time.sleep(1)
            self.assertLess(cpu_seconds() - before, 0.1)

    def test_cpu_list_pins_compute_and_keeps_the_rest_off(self):
        cpus = sorted(os.sched_getaffinity(0))
        mine = cpus[-1]
        others = set(cpus) - {mine} or {mine}
        with tempfile.TemporaryDirectory() as folder:
            policy = pathlib.Path(folder) / "policy.toml"
            policy.write_text("[limits]\nmax_running = 4\n")
            with Server(TINY, "--policy", policy, "--cpu-list",
                        mine) as server:
                compute = 0
                for task in pathlib.Path(
                        f"/proc/{server.process.pid}/task").iterdir():
                    allowed = os.sched_getaffinity(int(task.name))
                    if (task / "comm").read_text().strip() == "vouch.compute":
                        compute += 1
                        self.assertEqual(allowed, {mine})
                    else:
                        self.assertEqual(allowed, others)
                self.assertEqual(compute, 1)
                # The main thread may no longer run there, but still list it.
                server.process.send_signal(signal.SIGHUP)
                self.wait_for(server, "reloaded; keys")

    def test_prints_a_curl_line(self):
        with Server() as server:
            self.assertIn(f"curl -s http://127.0.0.1:{server.port}/v1/",
                          server.output())

    def test_reload_policy(self):
        with tempfile.TemporaryDirectory() as folder:
            policy = pathlib.Path(folder) / "policy.toml"
            policy.write_text("[limits]\nmax_running = 4\n")
            with Server(TINY, "--policy", policy) as server:
                policy.write_text("[limits]\nmax_runing = 8\n")
                server.process.send_signal(signal.SIGHUP)
                self.wait_for(server, "nothing reloaded")
                policy.write_text("[limits]\nmax_running = 8\n")
                server.process.send_signal(signal.SIGHUP)
                self.wait_for(server, "reloaded; keys")
                self.assertEqual(server.get("/ready")[0], 200)

    def wait_for(self, server, text):
        deadline = time.monotonic() + 20
        while text not in server.output():
            self.assertLess(time.monotonic(), deadline, server.output())
            time.sleep(0.02)

    def limit_of_open_files(self, server):
        limits = pathlib.Path(f"/proc/{server.process.pid}/limits").read_text()
        line = next(l for l in limits.splitlines() if "open files" in l)
        return int(line.split()[3])

    def test_makes_room_for_its_connections(self):
        with Server(TINY, "--server.max_connections", "100",
                    open_files=(64, 512)) as server:
            self.assertGreaterEqual(self.limit_of_open_files(server), 200)
            self.assertNotIn("open files", server.output())
            peers = [socket.create_connection(("127.0.0.1", server.port))
                     for _ in range(99)]
            self.assertEqual(server.get("/health")[0], 200)
            for peer in peers:
                peer.close()
        with Server(TINY, "--server.max_connections", "1000",
                    open_files=(64, 512)) as server:
            self.assertEqual(self.limit_of_open_files(server), 512)
            self.assertIn("max_connections = 1000", server.output())
            self.assertIn("room for 384 connections", server.output())

    def test_port_in_use(self):
        with Server() as server:
            with self.assertRaisesRegex(RuntimeError, str(server.port)):
                Server(TINY, "--port", server.port).stop()


class ManyClients(unittest.TestCase):
    """64 streams at once: every text is the one its request gets alone."""

    # Fewer where every instruction is instrumented (the sanitizer presets).
    CLIENTS = int(os.environ.get("VOUCH_TEST_CLIENTS", "64"))

    def bodies(self):
        choose = random.Random(5)
        words = ("The river ran past the old mill where nobody had ground corn "
                 "for years, and the children said that at night ").split()
        for index in range(self.CLIENTS):
            prompt = " ".join(choose.choices(words, k=choose.randint(1, 160)))
            body = {"prompt": f"{index}. {prompt}", "ignore_eos": True,
                    "max_tokens": choose.randint(128, 160)}
            if index % 2:
                body.update(temperature=0.8, top_p=0.95, seed=index)
            else:
                body["temperature"] = 0
            yield body

    def test_texts_do_not_change_with_load(self):
        if not SMOLLM2.exists():
            self.skipTest(FETCH)
        bodies = list(self.bodies())
        together = [None] * self.CLIENTS
        with Server(SMOLLM2) as server:
            def client(index):
                together[index] = stream(server, "/v1/completions",
                                         bodies[index])[0]
            threads = [threading.Thread(target=client, args=(i,))
                       for i in range(self.CLIENTS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            rows = server.metric("vouch_decode_rows_total")
            steps = server.metric("vouch_decode_steps_total")
            print(f"mean decode rows per step: {rows / steps:.1f}")
            self.assertGreaterEqual(rows / steps, self.CLIENTS / 2)
            # Alone: on the same server, one after the other.
            for index in range(self.CLIENTS):
                alone = stream(server, "/v1/completions", bodies[index])[0]
                self.assertGreater(len(alone), 0)
                self.assertEqual(together[index], alone, index)


if __name__ == "__main__":
    unittest.main()
