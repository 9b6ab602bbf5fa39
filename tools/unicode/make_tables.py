"""Writes engine/tokenizer/unicode_tables.cpp from Python's unicodedata.

    python3 tools/unicode/make_tables.py > engine/tokenizer/unicode_tables.cpp

Debian 12's Python 3.11 has Unicode 14.0, which is also what its PCRE2 has.
"""
import sys
import unicodedata as u

WHITE = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B),
         0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
ALL = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]

pairs = {}
for c in ALL:
    d = u.decomposition(chr(c))
    if d and not d.startswith('<'):
        parts = [int(x, 16) for x in d.split()]
        first, second = parts[0], parts[1] if len(parts) > 1 else 0
        composes = second and u.normalize(
            'NFC', chr(first) + chr(second)) == chr(c)
        pairs[c] = (first, second, bool(composes))
seconds = {b for _, b, composes in pairs.values() if composes}
seconds |= {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}


def properties(c):
    """engine/tokenizer/unicode.hpp: char_class, and 8 for 'NFC may change'."""
    category = u.category(chr(c))
    if c in WHITE:
        kind = 4
    elif category == 'Pc':
        kind = 6
    else:
        kind = {'L': 1, 'N': 2, 'M': 3, 'P': 5}.get(category[0], 0)
    unsafe = (u.combining(chr(c)) or c in seconds
              or u.normalize('NFC', chr(c)) != chr(c))
    return kind | (8 if unsafe else 0)


def runs(value):
    """start << 8 | value, for each run of equal values."""
    out, last = [], None
    for c in range(sys.maxunicode + 1):
        now = 0 if 0xD800 <= c < 0xE000 else value(c)
        if now != last:
            out.append(c << 8 | now)
            last = now
    return out


def emit(name, values):
    print(f'const std::uint32_t {name}[] = {{')
    line = ''
    for v in values:
        item = f'{v:#x},'
        if len(line) + len(item) > 78:
            print('  ' + line)
            line = ''
        line += item
    print('  ' + line)
    print('};')
    print(f'const std::size_t {name}_size = std::size({name});\n')


lower = []
for c in ALL:
    low = chr(c).lower()
    if low != chr(c) and len(low) == 1:
        lower += [c, ord(low)]

print(f'''// Made by tools/unicode/make_tables.py from Unicode {u.unidata_version}; do not
// edit.
// clang-format off
#include "engine/tokenizer/unicode_tables.hpp"

#include <iterator>

namespace vouch::engine::unicode_tables {{
''')
emit('property_runs', runs(properties))
emit('combining_runs', runs(lambda c: u.combining(chr(c))))
emit('decompositions', [v for c, (a, b, composes) in pairs.items()
                        for v in (c | (1 << 31 if composes else 0), a, b)])
emit('lowercase', lower)
print('}  // namespace vouch::engine::unicode_tables')
