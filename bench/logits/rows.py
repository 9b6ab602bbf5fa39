"""Logits rows of a program, and their distances to the reference's; needs
numpy."""

import subprocess

import numpy

SLICE = 64  # rows compared at a time, in float64


class RowsError(Exception):
    """A program ended early or has another vocabulary."""


class RowsProgram:
    """A program that reads a line of token ids and writes a float32 row for
    each; it prints its vocabulary's size first."""

    def __init__(self, arguments):
        self._name = " ".join(map(str, arguments))
        self._process = subprocess.Popen(
            [str(argument) for argument in arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self.vocabulary = int(numpy.frombuffer(self._read(4), "<i4")[0])

    def rows(self, tokens):
        """[tokens][vocabulary]; a context of its own."""
        line = " ".join(map(str, tokens)) + "\n"
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # _read tells
        size = 4 * len(tokens) * self.vocabulary
        return numpy.frombuffer(self._read(size), "<f4").reshape(
            len(tokens), self.vocabulary)

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _read(self, size):
        data = self._process.stdout.read(size)
        if len(data) != size:
            code = self._process.wait()
            raise RowsError(f"{self._name}: ended (exit code {code}) after "
                            f"{len(data)} of {size} bytes")
        return data


def log_sum(rows):
    """[n][1] of [n][vocabulary]: the logarithm of the sum of exponentials."""
    most = rows.max(axis=1, keepdims=True)
    return most + numpy.log(numpy.exp(rows - most).sum(axis=1, keepdims=True))


class Expected:
    """A chunk of the reference: float32 [n][vocabulary]."""

    def __init__(self, rows):
        self._rows = rows
        exact = rows.astype(numpy.float64)
        self._logs = exact - log_sum(exact)
        self._probabilities = numpy.exp(self._logs)

    def distances(self, rows):
        """Of each row: KL(reference || row) in nats, whether the largest is the
        same token's, and the mean absolute difference. In float64."""
        if rows.shape != self._rows.shape:
            raise RowsError(f"rows {rows.shape}, the reference's "
                            f"{self._rows.shape}")
        divergence, difference = [], []
        for begin in range(0, len(rows), SLICE):
            part = slice(begin, begin + SLICE)
            given = rows[part].astype(numpy.float64)
            difference += numpy.abs(self._rows[part] - given).mean(
                axis=1).tolist()
            given -= log_sum(given)
            divergence += (self._probabilities[part] *
                           (self._logs[part] - given)).sum(axis=1).tolist()
        same = self._rows.argmax(axis=1) == rows.argmax(axis=1)
        return divergence, same.tolist(), difference
