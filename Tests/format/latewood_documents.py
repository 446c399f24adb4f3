#!/usr/bin/env python3
"""Checks the documents of Latewood files. Written from section 13 of FORMAT.md alone; shares no code with the library.

    latewood_documents.py FILE...    a line for each collection; exit code 3 if records, feed and bodies do not agree
"""

from latewood_checks import need, run, varint, varints
from latewood_digest import digest
from latewood_fleece import Fleece
from latewood_reader import Database, text

CONFLICTS, EXPIRES, HOLDS_BODY = 1, 2, 4
DELETION, BODY, LENGTH, ROOT, JOIN, TEXT = 1, 2, 4, 8, 16, 32


def is_hexadecimal(data):
    return 0 < len(data) <= 46 and len(data) % 2 == 0 and all(byte in b"0123456789abcdef" for byte in data)


def is_text_of_digest(data):
    try:
        characters = data.decode()
    except UnicodeDecodeError:
        return False
    controls = any(ord(one) < 0x20 or 0x7F <= ord(one) < 0xA0 for one in characters)
    return 0 < len(data) <= 46 and not controls and not is_hexadecimal(data)


class Revision:
    def __init__(self, generation, flags, digest, body):
        self.generation, self.stored, self.body = generation, digest, body
        self.is_text = bool(flags & TEXT)
        self.digest = digest if self.is_text else digest.hex().encode()
        self.is_deleted, self.is_leaf = bool(flags & DELETION), False
        self.parent, self.is_root = None, bool(flags & ROOT)

    def check_digest(self, body):
        """Checks the digest of a revision that was named by its value, if its parent is known."""
        if self.is_text or len(self.stored) != 17 or self.stored[0] != 2 or self.is_root and self.generation > 1:
            return 0
        known = self.parent and (self.parent.generation, self.parent.stored, self.parent.is_text)
        need(digest(known, self.is_deleted, body) == self.stored, "a revision is not named by its value")
        return 1

    def rank(self):
        return not self.is_deleted, self.generation, self.digest


class Record:
    def __init__(self, data):
        need(len(data) > 2 and data[0] == 1 and data[1] < 8, "a record of an unknown form")
        self.flags, at = data[1], 2
        self.sequence, at = varint(data, at)
        self.expiry, length = None, 0
        if self.flags & EXPIRES:
            self.expiry, at = varint(data, at)
        if self.flags & HOLDS_BODY:
            length, at = varint(data, at)
            need(0 < length <= len(data) - at, "the body of a record does not fit")
        self.body, data = data[len(data) - length:], data[:len(data) - length]
        self.revisions = []
        while True:
            at = self.branch(data, at)
            if at == len(data):
                break
        winner = self.revisions[0]
        if self.flags & HOLDS_BODY:
            need(all(one.body != self.sequence for one in self.revisions) and winner.body == 0, "a body in two places")
            winner.body = self.sequence
        leaves = [one for one in self.revisions if one.is_leaf]
        need(leaves == sorted(leaves, key=Revision.rank, reverse=True), "leaves out of order")
        need(len({(one.generation, one.digest) for one in self.revisions}) == len(self.revisions), "a revision twice")
        conflicts = any(not one.is_deleted for one in leaves[1:]) and not winner.is_deleted
        need(bool(self.flags & CONFLICTS) == conflicts, "conflicts are told wrongly")

    def branch(self, data, at):
        generation, at = varint(data, at)
        is_leaf, child = True, None
        while True:
            need(at < len(data), "a branch does not end")
            flags, at = data[at], at + 1
            need(flags < 64 and flags & (ROOT | JOIN) != ROOT | JOIN, "a revision of an unknown form")
            count, body = 20, 0
            if flags & LENGTH:
                count, at = data[at], at + 1
                need(1 <= count <= (46 if flags & TEXT else 32) and count != 20, "a digest of a wrong length")
            digest, at = data[at:at + count], at + count
            need(len(digest) == count, "a digest is cut")
            need(not flags & TEXT or is_text_of_digest(digest), "the text of a digest is not one")
            if flags & BODY:
                body, at = varint(data, at)
                need(body > 0, "a body is nowhere")
            revision = Revision(generation, flags, digest, body)
            revision.is_leaf = is_leaf
            if child:
                child.parent = revision
            child = revision
            if flags & JOIN:
                parent, at = varint(data, at)
                need(parent < len(self.revisions), "a branch joins what does not come before it")
                joined = self.revisions[parent]
                revision.parent = joined
                need(not joined.is_leaf and joined.generation == generation - 1, "a branch joins what it cannot")
            self.revisions.append(revision)
            if flags & (ROOT | JOIN):
                return at
            generation, is_leaf = generation - 1, False
            need(generation > 0, "a first revision has a parent")


def check_collection(collection, state, space):
    documents, feed, bodies = space(b"documents"), space(b"sequences"), space(b"bodies")
    superseded = space(b"superseded")
    needed, in_records, in_record_bytes, deleted, named = set(), 0, 0, 0, 0
    for identity, data in documents.items():
        record = Record(data)
        winner = record.revisions[0]
        deleted += winner.is_deleted
        for revision in record.revisions:
            body = record.body if record.flags & HOLDS_BODY and revision is winner else bodies.get(
                revision.body.to_bytes(8, "big"))
            named += revision.check_digest(body) if body else 0
        flags = winner.is_deleted | record.flags << 1 & 2 | winner.is_text << 2
        entry = bytes([flags, winner.generation, len(winner.stored)])
        need(winner.generation < 128 and feed.get(record.sequence.to_bytes(8, "big")) == entry + winner.stored + identity,
             "the feed does not have the document as it is")
        for leaf in (one for one in record.revisions if one.is_leaf and one.body):
            if record.flags & HOLDS_BODY and leaf is winner:
                in_records, in_record_bytes = in_records + 1, in_record_bytes + len(record.body)
                need(type(Fleece(record.body).root()) is dict, "a body in a record is no dictionary")
            else:
                needed.add(leaf.body.to_bytes(8, "big"))
    for body in bodies.values():
        need(type(Fleece(body).root()) is dict, "a body is no dictionary")
    need(not needed & set(superseded) and needed | set(superseded) == set(bodies), "bodies are not those that are named")
    numbers = varints(state, 17, 8 + state[0])
    need(len(feed) == len(documents) == numbers[1] + numbers[2] and numbers[2] == deleted, "documents are counted wrongly")
    need(numbers[3] == len(bodies) + in_records and numbers[5] == len(superseded)
         and numbers[4] == sum(map(len, bodies.values())) + in_record_bytes, "bodies are counted wrongly")
    return f"{len(documents)} documents, {deleted} deleted, {in_records} bodies in records, {len(bodies)} apart, {named} named by value"


def check(path):
    with open(path, "rb") as file:
        database = Database(file.read())
    spaces = database.keyspaces
    for key, state in sorted(dict(database.entries_of(spaces[b"database"])).items()):
        if key.startswith(b"collection/"):
            collection = key[len(b"collection/"):]
            found = check_collection(
                collection, state, lambda kind: dict(database.entries_of(spaces[kind + b"/" + collection])))
            print(f"{path}: {text(collection)}: {found}")


if __name__ == "__main__":
    run(check)
