#!/usr/bin/env python3
"""Writes the Unicode tables of LatewoodText, and the test of word boundaries, from the Unicode
Character Database, such as Debian's package unicode-data has it.

    python3 Tests/text/generate.py [/usr/share/unicode]

What it writes: Sources/LatewoodText/Unicode/UnicodeData.swift, Tests/text/word-breaks.txt.
A newer version of the database changes which words a text has: it is a change of the format of
full-text indexes (`UnicodeTables.version`).
"""
import os
import re
import sys

UCD = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"

# The order is that of `WordBreakClass`.
CLASSES = """Other CR LF Newline Extend ZWJ Format Regional_Indicator Katakana Hebrew_Letter ALetter
Single_Quote Double_Quote MidNumLet MidLetter MidNum Numeric ExtendNumLet WSegSpace""".split()
PICTOGRAPHIC, LETTER, UNSPACED = 0x20, 0x40, 0x80
UNSPACED_SCRIPTS = {"Han", "Hiragana", "Katakana", "Tangut", "Nushu", "Khitan_Small_Script"}
# Scripts whose marks are not part of the spelling that people search for.
MARKED_SCRIPTS = {"Inherited", "Latin", "Greek", "Cyrillic", "Hebrew", "Arabic", "Syriac"}


def properties(name):
    """Yields (first, last, value) of a file of ranges."""
    with open(os.path.join(UCD, name), encoding="utf-8") as file:
        for line in file:
            line = line.split("#")[0].strip()
            if line:
                points, value = [field.strip() for field in line.split(";")[:2]]
                first, _, last = points.partition("..")
                yield int(first, 16), int(last or first, 16), value


def by_scalar(name, wanted=None):
    result = {}
    for first, last, value in properties(name):
        if wanted is None or value in wanted:
            for scalar in range(first, last + 1):
                result[scalar] = value
    return result


class Characters:
    def __init__(self):
        self.category, self.ccc, self.decomposition = {}, {}, {}
        opening = None
        with open(os.path.join(UCD, "UnicodeData.txt"), encoding="utf-8") as file:
            for line in file:
                fields = line.rstrip("\n").split(";")
                scalar = int(fields[0], 16)
                for each in range(scalar if opening is None else opening, scalar + 1):
                    self.category[each] = fields[2]
                opening = scalar if fields[1].endswith("First>") else None
                if fields[3] != "0":
                    self.ccc[scalar] = int(fields[3])
                tag, points = re.match(r"(?:<(\w+)> )?(.*)", fields[5]).groups()
                if points and tag in (None, "wide", "narrow"):
                    self.decomposition[scalar] = [int(point, 16) for point in points.split()]

    def decomposed(self, scalar):
        if scalar not in self.decomposition:
            return [scalar]
        return [each for part in self.decomposition[scalar] for each in self.decomposed(part)]


def encode(numbers):
    """Numbers as digits of five bits, least significant first; the sixth bit: more follow."""
    text = []
    for number in numbers:
        while number >= 32:
            text.append(DIGITS[number % 32 + 32])
            number //= 32
        text.append(DIGITS[number])
    return "".join(text)


def literal(name, comment, numbers):
    text = encode(numbers)
    lines = [text[i:i + 98] for i in range(0, len(text), 98)]
    body = "".join(f"    {line}\\\n" for line in lines)[:-2]
    return f'  /// {comment}\n  static let {name}: StaticString = """\n{body}\n    """\n'


def runs(values, absent=0):
    """[gap after the last run, length - 1, value] of runs of equal values, flattened."""
    numbers, at, end = [], 0, 0
    scalars = sorted(values)
    while at < len(scalars):
        first, value = scalars[at], values[scalars[at]]
        last = first
        while at + 1 < len(scalars) and scalars[at + 1] == last + 1 and values[last + 1] == value:
            at, last = at + 1, last + 1
        at += 1
        if value != absent:
            numbers += [first - end, last - first, value]
            end = last + 1
    return numbers


def signed(number):
    return number * 2 if number >= 0 else -number * 2 - 1


def sequences(mapping):
    """[gap, length, differences of the scalars to their key], flattened."""
    numbers, last = [], 0
    for scalar in sorted(mapping):
        numbers += [scalar - last, len(mapping[scalar])]
        numbers += [signed(each - scalar) for each in mapping[scalar]]
        last = scalar
    return numbers


characters = Characters()
breaks = by_scalar("auxiliary/WordBreakProperty.txt")
pictographic = by_scalar("emoji/emoji-data.txt", {"Extended_Pictographic"})
scripts = by_scalar("Scripts.txt")
complex_breaks = by_scalar("LineBreak.txt", {"SA"})
version = re.search(r"-(\d+)\.(\d+)\.(\d+)\.txt", open(os.path.join(UCD, "Scripts.txt")).readline())

words = {}
for scalar in range(0x110000):
    category = characters.category.get(scalar, "Cn")
    kind = CLASSES.index(breaks.get(scalar, "Other"))
    if scalar in pictographic:
        kind |= PICTOGRAPHIC
    if category[0] in "LN":
        kind |= LETTER
        if (scripts.get(scalar) in UNSPACED_SCRIPTS or scalar in complex_breaks
                or breaks.get(scalar) == "Katakana"):
            kind |= UNSPACED
    if kind:
        words[scalar] = kind

decompositions = {scalar: characters.decomposed(scalar) for scalar in characters.decomposition}
folds = {}
for line in open(os.path.join(UCD, "CaseFolding.txt"), encoding="utf-8"):
    fields = [field.strip() for field in line.split("#")[0].split(";")]
    if len(fields) > 2 and fields[1] in "CF":
        folds[int(fields[0], 16)] = [int(point, 16) for point in fields[2].split()]
# 7, 8 and 9 are nuktas, the voicing of kana and viramas: parts of letters.
marks = {scalar: 1 for scalar, category in characters.category.items()
         if category in ("Mn", "Me") and scripts.get(scalar) in MARKED_SCRIPTS
         and characters.ccc.get(scalar, 0) not in (7, 8, 9) and not 0xFE00 <= scalar <= 0xFE0F}

with open(os.path.join(ROOT, "Sources/LatewoodText/Unicode/UnicodeData.swift"), "w") as out:
    out.write(f'''// Written by Tests/text/generate.py from the Unicode Character Database {version[1]}.{version[2]}.{version[3]},
// copyright Unicode, Inc., used under the Unicode License (https://www.unicode.org/license.txt).

/// The numbers of ``UnicodeTables``. Each is written in digits of five bits, least significant
/// first, as one of 64 characters; the sixth bit means that more digits follow.
enum UnicodeData {{
  static let version = "{version[1]}.{version[2]}.{version[3]}"

{literal("wordBreaks", "Runs of scalars with a `WordBreakClass`: gap, length less one, class.", runs(words))}
{literal("decompositions", "Decompositions, canonical, wide and narrow: gap, count, differences.", sequences(decompositions))}
{literal("caseFoldings", "Full case foldings: gap, count, differences.", sequences(folds))}
{literal("combiningClasses", "Runs of scalars with a combining class: gap, length less one, class.", runs(characters.ccc))}
{literal("diacritics", "Runs of marks that folding removes: gap, length less one, 1.", runs(marks))}}}
''')

with open(os.path.join(UCD, "auxiliary/WordBreakTest.txt"), encoding="utf-8") as test, \
        open(os.path.join(ROOT, "Tests/text/word-breaks.txt"), "w") as out:
    out.write(f"# From WordBreakTest.txt {version[1]}.{version[2]}.{version[3]}, copyright Unicode, Inc., used under the\n"
              "# Unicode License (https://www.unicode.org/license.txt). Without its comments, so modified:\n"
              "# the scalars of a text in hexadecimal, `|` where there is a boundary inside.\n")
    for line in test:
        line = line.split("#")[0].strip()
        if line:
            parts = re.findall(r"[0-9A-F]+|÷|×", line)[1:-1]
            out.write(" ".join("|" if part == "÷" else part for part in parts if part != "×") + "\n")
