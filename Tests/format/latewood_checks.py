"""What the checks of documents and of views share: numbers as FORMAT.md writes them, and how they report."""

import sys


class Bad(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Bad(what)


def varint(data, at):
    value, shift = 0, 0
    while True:
        need(at < len(data) and shift < 64, "a varint does not end")
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def varints(data, at, count):
    values = []
    for _ in range(count):
        value, at = varint(data, at)
        values.append(value)
    need(at == len(data), "bytes follow the last number")
    return values


def run(check):
    """Calls `check` with each argument of the command line; exit code 3 at the first that is bad."""
    for argument in sys.argv[1:]:
        try:
            check(argument)
        except Bad as error:
            print(f"{argument}: {error}", file=sys.stderr)
            sys.exit(3)
