#!/usr/bin/env python3
"""Names revisions by the value of their bodies. Written from section 13 of FORMAT.md alone; shares no code with the library.

    latewood_digest.py              prints the vectors of Tests/digests/vectors.jsonl
    latewood_digest.py --check FILE compares a file of vectors with what this program computes
"""

import json
import struct
import sys

from latewood_fleece import Fleece

MASK = (1 << 64) - 1
NULL, NO, YES, INTEGER, UNSIGNED, DOUBLE, TEXT, DATA, NAME = 1, 2, 3, 4, 5, 6, 8, 9, 10
BEGIN_ARRAY, END_ARRAY, BEGIN_OBJECT, END_OBJECT, REVISION = 11, 12, 13, 14, 15


class Bytes(Fleece):
    """Like Fleece, but data are bytes and not texts."""

    def value(self, at, end):
        if self.data[at] >> 4 != 5:
            return super().value(at, end)
        low = self.data[at] & 0x0F
        count, begin = (low, at + 1) if low < 15 else self.varint(at + 1, end)
        return self.data[begin:begin + count]


class Hash:
    def __init__(self):
        self.a, self.b, self.round = 0x243F6A8885A308D3, 0x13198A2E03707344, 0

    def absorb(self, x, y):
        self.round = self.round + 0x9E3779B97F4A7C15 & MASK
        rotated = self.round << 32 & MASK | self.round >> 32
        product = (self.a ^ x ^ self.round) * (self.b ^ y ^ rotated)
        self.a, self.b = (self.b + (product >> 64) & MASK) ^ x, (self.a + product & MASK) ^ y

    def bytes(self, tag, content):
        words = [tag | len(content) << 8]
        words += [int.from_bytes(content[at:at + 8], "little") for at in range(0, len(content), 8)]
        words += [0] * (len(words) % 2)
        for x, y in zip(words[0::2], words[1::2]):
            self.absorb(x, y)

    def value(self, value):
        if value is None:
            self.absorb(NULL, 0)
        elif isinstance(value, bool):
            self.absorb(YES if value else NO, 0)
        elif isinstance(value, (int, float)):
            self.number(value)
        elif isinstance(value, str):
            self.bytes(TEXT, value.encode())
        elif isinstance(value, bytes):
            self.bytes(DATA, value)
        elif isinstance(value, list):
            self.absorb(BEGIN_ARRAY, 0)
            for element in value:
                self.value(element)
            self.absorb(END_ARRAY, 0)
        else:
            self.absorb(BEGIN_OBJECT, 0)
            for name in sorted(value, key=lambda name: name.encode()):
                self.bytes(NAME, name.encode())
                self.value(value[name])
            self.absorb(END_OBJECT, 0)

    def number(self, number):
        is_whole = isinstance(number, int) or (
            number == number and abs(number) <= 2.0 ** 64 and number == int(number) and str(number) != "-0.0")
        if is_whole and -(1 << 63) <= int(number) < 1 << 64:
            number = int(number)
            self.absorb(UNSIGNED if number >= 1 << 63 else INTEGER, number & MASK)
        else:
            bits = struct.unpack("<Q", struct.pack("<d", number))[0]
            self.absorb(DOUBLE, bits if number == number else 0x7FF8000000000000)

    def finish(self):
        self.absorb(0xA4093822299F31D0, 0x082EFA98EC4E6C89)
        self.absorb(0x452821E638D01377, 0xBE5466CF34E90C6C)
        self.absorb(0xC0AC29B7C97C50DD, 0x3F84D5B5B5470917)
        return self.a.to_bytes(8, "big") + self.b.to_bytes(8, "big")


def digest(parent, is_deleted, body):
    """The digest of a revision; `parent` is None or its generation, its digest as stored, and whether that is a text."""
    generation, stored, is_text = parent or (0, b"", False)
    result = Hash()
    result.absorb(generation, is_deleted | is_text << 1 | (len(body) > 0) << 2)
    if parent:
        result.bytes(REVISION, stored)
    if body:
        result.value(Bytes(body).root())
    return b"\x02" + result.finish()


def fleece(tag, content):
    """A text (4) or data (5) as Fleece."""
    count, head = len(content), b""
    if count < 15:
        head = bytes([tag << 4 | count])
    else:
        head = bytes([tag << 4 | 15])
        while count > 127:
            head, count = head + bytes([count & 127 | 128]), count >> 7
        head += bytes([count])
    value = head + content
    value += bytes(len(value) % 2)
    return value if len(value) == 2 else value + (0x8000 | len(value) // 2).to_bytes(2, "big")


def number(form, value):
    encoded = struct.pack(form, value)
    return bytes([0x28 if len(encoded) == 8 else 0x20, 0]) + encoded + (0x8000 | len(encoded) // 2 + 1).to_bytes(2, "big")


def array(element, count):
    """An array of equal elements of two bytes."""
    begin = (0x6000 | count).to_bytes(2, "big")
    return begin + element.to_bytes(2, "big") * count + (0x8000 | count + 1).to_bytes(2, "big")


def simple_value(element):
    return {0x3000: None, 0x3400: False, 0x3800: True, 0x0000: 0, 0x4000: ""}[element]


def vectors():
    """Parent as text, deletion, body as Fleece; then canonical JSON of the same value, if there is one."""
    pattern = bytes((7 * at + 3) % 256 for at in range(300))
    letters = "abcdefghijklmnopqrstuvwxyz" * 12
    first, longest = "1-02" + "0123456789abcdef" * 2, "9-" + "x" * 46
    yield None, False, b"", None
    yield first, True, b"", None
    yield "1-5ac", True, b"", None
    yield "1-356163", True, b"", None
    yield longest, False, b"\x70\x00", "{}"
    yield "281474976710655-" + "f" * 64, False, b"\x70\x00", "{}"
    yield "3-01" + "ab" * 19, False, b"\x70\x00", "{}"
    for simple, text in ((0x3000, "null"), (0x3400, "false"), (0x3800, "true"), (0x0000, "0"), (0x0001, "1"),
                         (0x0FFF, "-1"), (0x07FF, "2047"), (0x0800, "-2048"), (0x6000, "[]"), (0x7000, "{}"), (0x4000, '""')):
        yield None, False, simple.to_bytes(2, "big"), text
    for value, text in ((1.0, "1"), (0.5, "0.5"), (-2.0, "-2"), (2.0 ** 62, str(2 ** 62)), (2.0 ** 63, str(2 ** 63))):
        yield None, False, number("<d", value), text
        yield None, False, number("<f", value), text
    for value in (-0.0, 2.0 ** 64, -(2.0 ** 63), -(2.0 ** 64), 1e300, 5e-324, float("inf"), float("-inf"), float("nan")):
        yield None, False, number("<d", value), None
    for bits in (0x7FF8000000000001, 0xFFF0000000000001):
        yield None, False, number("<d", struct.unpack("<d", struct.pack("<Q", bits))[0]), None
    for count in [*range(35), 127, 128, 129, 300]:
        yield None, False, fleece(4, letters[:count].encode()), json.dumps(letters[:count])
        yield None, False, fleece(5, pattern[:count]), None
    yield None, False, fleece(4, "grüße 🍐".encode()), '"grüße 🍐"'
    for element in (0x3000, 0x3400, 0x3800, 0x0000, 0x4000):
        for count in (64, 640):
            yield None, False, array(element, count), json.dumps([simple_value(element)] * count, separators=(",", ":"))
    # Undefined values: null in an array, and absent in an object.
    yield None, False, bytes.fromhex("700241610001416200028005"), '{"a":1,"b":2}'
    yield None, False, bytes.fromhex("6003000130003c008004"), "[1,null,null]"
    yield first, False, bytes.fromhex("70024161000141623c008005"), '{"a":1}'


def parse(revision):
    if revision is None:
        return None
    generation, text = revision.split("-", 1)
    is_text = not (0 < len(text) <= 64 and len(text) % 2 == 0 and all(one in "0123456789abcdef" for one in text))
    return int(generation), text.encode() if is_text else bytes.fromhex(text), is_text


def lines():
    for parent, is_deleted, body, text in vectors():
        known = parse(parent)
        revision = f"{known[0] + 1 if known else 1}-{digest(known, is_deleted, body).hex()}"
        facts = {"parent": parent, "deleted": is_deleted, "fleece": body.hex(), "json": text, "revision": revision}
        yield json.dumps({key: fact for key, fact in facts.items() if fact is not None}, ensure_ascii=False) + "\n"


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--check":
        with open(arguments[1], encoding="utf-8", newline="") as file:
            is_same = file.read() == "".join(lines())
        print(f"{arguments[1]}: {'the same' if is_same else 'other'} vectors")
        return 0 if is_same else 1
    sys.stdout.writelines(lines())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
