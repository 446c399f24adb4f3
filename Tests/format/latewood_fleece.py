#!/usr/bin/env python3
"""Reads Fleece by the rules of the format alone, and compares it with JSON.

usage: latewood_fleece.py FILE.fleece...     each is compared with FILE.json beside it, the canonical text of the value
       latewood_fleece.py --print FILE       prints the value as canonical JSON

Pure Python 3, made from the description of the format and from nothing of the Swift code:

  0000iiii iiiiiiii        small integer, 12 bits signed
  0001uccc ...             integer of ccc + 1 bytes, little-endian, padded; u: unsigned
  0010sx-- -- ...          float of 32 (s = 0) or 64 bits, little-endian
  0011ss-- --              null, false, true, undefined
  0100cccc, 0101cccc ...   string, data; cccc = 15: the count follows as a varint
  0110wccc, 0111wccc ...   array, dictionary; count 2047: the rest of it follows as a varint, padded; w: items of 4 bytes
  1ooooooo oooooooo        pointer back by o times two bytes; 31 bits in wide collections
"""
import base64
import json
import struct
import sys

sys.setrecursionlimit(5000)
UNDEFINED = object()
PARENT = -2048


class Damaged(Exception):
    pass


def need(condition, offset, what):
    if not condition:
        raise Damaged(f"{what} at byte {offset}")


class Fleece:
    def __init__(self, data):
        self.data = data

    def root(self):
        need(len(self.data) >= 2 and len(self.data) % 2 == 0, 0, "odd or no length")
        return self.item(len(self.data) - 2, 2)

    def varint(self, at, end):
        value = shift = 0
        while True:
            need(at < end and shift < 64, at, "varint")
            byte = self.data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value, at

    def item(self, at, width):
        """The value of an item of a collection, or of the last two bytes."""
        end = at + width
        while self.data[at] & 0x80:
            units = int.from_bytes(self.data[at : at + width], "big") & (0x7FFF if width == 2 else 0x7FFFFFFF)
            need(0 < 2 * units <= at, at, "pointer")
            end = at
            at -= 2 * units
            width = 4
        return self.value(at, end)

    def value(self, at, end):
        data = self.data
        first = data[at]
        tag, low = first >> 4, first & 0x0F
        if tag == 0:
            number = low << 8 | data[at + 1]
            return number - 4096 if number & 0x800 else number
        if tag == 1:
            size = (low & 7) + 1
            need(at + 1 + size <= end, at, "integer")
            return int.from_bytes(data[at + 1 : at + 1 + size], "little", signed=not low & 8)
        if tag == 2:
            size, form = (8, "<d") if low & 8 else (4, "<f")
            need(at + 2 + size <= end, at, "float")
            return struct.unpack(form, data[at + 2 : at + 2 + size])[0]
        if tag == 3:
            return (None, False, True, UNDEFINED)[low >> 2]
        if tag in (4, 5):
            count, begin = (low, at + 1) if low < 15 else self.varint(at + 1, end)
            need(begin + count <= end, at, "string")
            content = data[begin : begin + count]
            return content.decode("utf-8") if tag == 4 else base64.b64encode(content).decode("ascii")
        return self.collection(tag, at, end)

    def collection(self, tag, at, end):
        header = self.data[at] << 8 | self.data[at + 1]
        width = 4 if header & 0x0800 else 2
        count = header & 0x07FF
        begin = at + 2
        if count == 2047:
            rest, begin = self.varint(begin, end)
            count += rest
            begin += begin & 1
        slots = count if tag == 6 else 2 * count
        need(begin + slots * width <= end, at, "collection")
        values = [self.item(begin + index * width, width) for index in range(slots)]
        if tag == 6:
            return [None if value is UNDEFINED else value for value in values]
        return self.members(at, values[0::2], values[1::2])

    @staticmethod
    def members(at, keys, values):
        inherited = {}
        if keys and type(keys[0]) is int and keys[0] == PARENT:
            inherited = dict(values[0])
            keys, values = keys[1:], values[1:]
        need(all(type(key) is str for key in keys), at, "key that is no string")
        encoded = [key.encode("utf-8") for key in keys]
        need(all(a < b for a, b in zip(encoded, encoded[1:])), at, "keys out of order")
        inherited.update(zip(keys, values))
        return {key: value for key, value in inherited.items() if value is not UNDEFINED}


def in_order(value):
    """The same with members in the order of their keys' bytes."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-8"))}
    return [in_order(element) for element in value] if isinstance(value, list) else value


def canonical(value):
    return json.dumps(in_order(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def is_same(a, b):
    """Whether two values are the same; a whole number is the same as an integer or as a double."""
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None or isinstance(a, str):
        return type(a) is type(b) and a == b
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(is_same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(is_same, a, b))
    return isinstance(b, (int, float)) and a == b


def check(path):
    value = Fleece(open(path, "rb").read()).root()
    text = open(path[: -len(".fleece")] + ".json", encoding="utf-8", newline="").read()
    if not is_same(value, json.loads(text)):
        return "is not the value of the text"
    return None if canonical(value) == text else "has another canonical text"


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--print":
        print(canonical(Fleece(open(arguments[1], "rb").read()).root()))
        return 0
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    failures = 0
    for path in arguments:
        try:
            failure = check(path)
        except (Damaged, IndexError, UnicodeDecodeError, struct.error) as error:
            failure = f"cannot be read: {error}"
        if failure:
            failures += 1
            print(f"{path}: {failure}", file=sys.stderr)
    print(f"fleece: {len(arguments)} files, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
