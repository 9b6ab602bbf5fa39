"""Checks that no include crosses the layers' order.

kernels <- engine <- actors <- runtime <- http <- cli: a file may include its
own layer and those below it. Exits 1 and names every line that breaks this.

    python3 tests/layers/check_layers.py SOURCE_DIR
    python3 tests/layers/check_layers.py --self-test

Exits 2 without one of these.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

LAYERS = ["kernels", "engine", "actors", "runtime", "http", "cli"]
# What only one layer, or one layer and those above it, may name.
LIBRARIES = {
    "caf/": "actors",
    "prometheus/": "actors",
    "boost/": "http",
    "boost/json": "engine",
    "CLI/": "cli",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def violations(root):
    found = []
    for rank, layer in enumerate(LAYERS):
        for path in sorted((root / layer).rglob("*")):
            if path.suffix not in (".cpp", ".hpp", ".h", ".cu", ".cuh"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                name = match.group(1)
                top = name.split("/")[0]
                lowest = LAYERS.index(top) if "/" in name and top in LAYERS else 0
                for prefix, first in LIBRARIES.items():
                    if name.startswith(prefix):
                        lowest = LAYERS.index(first)
                if name.startswith("tests/"):
                    lowest = len(LAYERS)
                if lowest > rank:
                    where = path.relative_to(root)
                    found.append(f"{where}:{number}: {layer}/ includes {name}")
    return found


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for layer in LAYERS:
            (root / layer).mkdir()
        (root / "engine" / "good.hpp").write_text('#include "kernels/a.hpp"\n')
        (root / "kernels" / "bad.cpp").write_text(
            '#include "kernels/a.hpp"\n#include "engine/b.hpp"\n')
        (root / "engine" / "bad.hpp").write_text("#include <caf/all.hpp>\n")
        found = violations(root)
        usage = subprocess.run([sys.executable, __file__],
                               capture_output=True, text=True, check=False)
        assert usage.returncode == 2 and "SOURCE_DIR" in usage.stderr, usage
        assert found == [
            "kernels/bad.cpp:2: kernels/ includes engine/b.hpp",
            "engine/bad.hpp:1: engine/ includes caf/all.hpp",
        ], found


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if sys.argv[1] == "--self-test":
        self_test()
        return 0
    root = pathlib.Path(sys.argv[1])
    files = sum(1 for layer in LAYERS for _ in (root / layer).rglob("*.?pp"))
    found = violations(root)
    print("\n".join(found) if found else f"{files} files, no include crosses")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
