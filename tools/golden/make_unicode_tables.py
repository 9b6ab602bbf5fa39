#!/usr/bin/env python3
"""Writes engine/chat_template/unicode_tables.cpp from Python's own tables.

Run from the repository's root:

    python3 tools/golden/make_unicode_tables.py

Needs nothing but Python; its version decides the Unicode version.
"""

import sys
import unicodedata

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def case_ranges(convert):
    """Ranges (first, last, stride, delta) of the one-to-one mappings."""
    pairs = [(c, ord(convert(chr(c))) - c) for c in CODE_POINTS
             if len(convert(chr(c))) == 1 and convert(chr(c)) != chr(c)]
    ranges = []
    for c, delta in pairs:
        if ranges:
            first, last, stride, d = ranges[-1]
            step = c - last
            if d == delta and step in (1, 2) and stride in (0, step):
                ranges[-1] = (first, c, step, d)
                continue
        ranges.append((c, c, 0, delta))
    return [(f, l, s or 1, d) for f, l, s, d in ranges]


def table(lines, declaration, rows):
    lines.append(f"const {declaration}[] = {{")
    line = "   "
    for row in rows:
        if len(line) + 1 + len(row) + 1 > 80:
            lines.append(line)
            line = "   "
        line += " " + row + ","
    lines.append(line)
    lines.append("};")
    name = declaration.split()[1]
    count = name[:-1] + "_count"
    lines.append(f"const std::size_t {count} = std::size({name});")
    lines.append("")


def main():
    lines = [
        "// Made by tools/golden/make_unicode_tables.py, Unicode "
        f"{unicodedata.unidata_version}.",
        '#include "engine/chat_template/unicode_tables.hpp"',
        "",
        "#include <iterator>",
        "",
        "namespace vouch::engine::jinja {",
        "",
        "// clang-format off",
    ]
    for name, convert in (("upper", str.upper), ("lower", str.lower)):
        table(lines, f"case_range {name}_ranges",
              [f"{{{f:#x}, {l:#x}, {s}, {d}}}"
               for f, l, s, d in case_ranges(convert)])
    table(lines, "case_expansion upper_expansions",
          [f"{{{c:#x}, {{{', '.join(hex(ord(x)) for x in chr(c).upper())}}}}}"
           for c in CODE_POINTS if len(chr(c).upper()) > 1])
    unprintable = []
    for c in range(0x80, 0x110000):
        if chr(c).isprintable():
            continue
        if unprintable and unprintable[-1][1] == c - 1:
            unprintable[-1][1] = c
        else:
            unprintable.append([c, c])
    table(lines, "code_range unprintable_ranges",
          [f"{{{f:#x}, {l:#x}}}" for f, l in unprintable])
    lines += ["// clang-format on", "", "}  // namespace vouch::engine::jinja",
              ""]
    path = sys.argv[1] if len(sys.argv) > 1 else (
        "engine/chat_template/unicode_tables.cpp")
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines))


if __name__ == "__main__":
    main()
