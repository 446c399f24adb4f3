#!/usr/bin/env python3
"""Checks the full-text indexes of Latewood files. Written from section 13 of FORMAT.md alone; shares no code with the library.

    latewood_texts.py FILE...    a line for each index; exit code 3 if its entries do not agree with each other or,
                                 for texts in ASCII without a language, with the documents
"""

import re
import struct

from latewood_checks import need, run, varint, varints
from latewood_documents import Record
from latewood_fleece import Fleece
from latewood_reader import Database, text

GAP = 16
INFINITE = 1 << 64


class Numbers:
    """The varints of a value, one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def next(self):
        value, self.at = varint(self.data, self.at)
        return value

    def list(self, count):
        return [self.next() for _ in range(count)]

    def text(self):
        length = self.next()
        need(length <= len(self.data) - self.at, "a text is cut")
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def byte(self):
        need(self.at < len(self.data), "a value is cut")
        self.at += 1
        return self.data[self.at - 1]

    def end(self):
        need(self.at == len(self.data), "a value is too long")


def number_of_key(data):
    if data == b"\xff":
        return INFINITE
    need(data and data[0] == len(data) - 1 and (len(data) == 2 or data[1]), "a number in a key is not one")
    return int.from_bytes(data[1:], "big")


class Definition:
    def __init__(self, data):
        need(data[0] == 1 and data[1] < 3, "a definition of an unknown form")
        source = Numbers(data)
        source.at = 2
        self.number, self.unicode, self.stemmers = source.next(), source.text(), source.next()
        self.language, self.folding = source.text(), source.byte()
        self.stop_words = [source.text() for _ in range(source.next())]
        need(self.stop_words == sorted(self.stop_words, key=str.encode), "stop words out of order")
        self.fields = []
        for _ in range(source.byte()):
            weight, = struct.unpack_from(">d", data, source.at)
            source.at += 8
            need(0 <= weight <= 1e6, "a weight that is none")
            self.fields.append(source.text())
        need(1 <= len(self.fields) <= 64, "no fields, or too many")
        self.is_ready, self.has_all, self.through = data[1] == 1, data[1] > 0, data[source.at:]
        need(not self.has_all or not self.through, "a definition is too long")

    def includes(self, identity):
        return self.has_all or identity <= self.through

    def texts(self, body, path):
        """Follows a path of plain names."""
        values = [body]
        for step in re.findall(r"\[\]|[^.\[\]]+", path):
            if step == "[]":
                values = [one for value in values if type(value) is list for one in value]
            else:
                values = [value[step] for value in values if type(value) is dict and step in value]
        return [value for value in values if type(value) is str]


class Words:
    """The entries of an index."""

    def __init__(self, entries, count):
        self.entries, self.count = entries, count
        self.used = {b"s"} & set(entries)
        # A term: {number of a document: [positions of each field]}
        self.terms = {}
        # A term: a list of the points and the postings of each block
        self.points = {}
        for key, value in entries.items():
            if key[:1] == b"t":
                self.terms[key[1:]] = self.term(key[1:], value)
        self.segment_count = 0
        # The documents of each term whose postings segments have replaced.
        self.replaced = {}
        self.read_segments()
        self.documents = {key[1:]: varints(value, 0, 1 + count) for key, value in self.of_kind(b"i")}
        self.statistics = varints(entries[b"s"], 0, 3 + count) if b"s" in entries else [0, 1, count] + [0] * count

    def of_kind(self, kind):
        return [(key, value) for key, value in self.entries.items() if key[:1] == kind]

    def take(self, key):
        need(key in self.entries, "an entry is missing: " + repr(key))
        self.used.add(key)
        return self.entries[key]

    def term(self, term, value):
        self.used.add(b"t" + term)
        source = Numbers(value)
        documents = source.next()
        if documents & 1 == 0:
            postings = self.postings(source, documents >> 1)
            return postings
        occurrences, by_field = source.next(), source.list(self.count if self.count > 1 else 0)
        source.end()
        postings, previous = {}, 0
        self.points[term] = []
        directories = sorted((number_of_key(key[len(term) + 2:]), value) for key, value in self.of_kind(b"d")
                             if key[1:len(term) + 2] == term + b"\0")
        for bound, data in directories:
            self.used |= {key for key, value in self.of_kind(b"d") if value is data}
            part = Numbers(data)
            for _ in range(part.next()):
                gap, count = part.next(), part.next()
                limit = previous + gap if gap else INFINITE
                points = [part.list(1 + self.count) for _ in range(part.next())]
                key = b"\xff" if limit == INFINITE else bytes([(limit.bit_length() + 7) // 8]) + \
                    limit.to_bytes((limit.bit_length() + 7) // 8, "big")
                block = Numbers(self.take(b"p" + term + b"\0" + key))
                need(block.next() == count, "a block has another number of postings")
                found = self.postings(block, count)
                need(all(previous < number <= limit for number in found), "a block has other documents")
                need(limit <= bound, "a block is in another part")
                postings.update(found)
                previous = limit
                self.points[term].append((points, found))
            part.end()
        need(len(postings) == documents >> 1, "a term has another number of documents")
        need(occurrences == sum(len(places) for one in postings.values() for places in one), "occurrences")
        need(self.count == 1 or by_field == [sum(bool(one[field]) for one in postings.values())
                                             for field in range(self.count)], "documents of fields")
        return postings

    def read_segments(self):
        if b"r" not in self.entries:
            return
        source, previous = Numbers(self.take(b"r")), 0
        following, merged = source.next(), source.next()
        need(merged < following, "a merge of segments that do not exist")
        self.segment_count = source.next()
        for _ in range(self.segment_count):
            number, length = source.next(), source.next()
            need(previous < number < following, "segments out of order")
            previous = number
            size = (number.bit_length() + 7) // 8
            self.read_segment(b"r" + bytes([size]) + number.to_bytes(size, "big"), length)
        source.end()
        need(self.segment_count > 0, "a list of no segments")
        self.terms = {term: postings for term, postings in self.terms.items() if postings}

    def read_segment(self, prefix, length):
        last = None
        for key, value in sorted((key, value) for key, value in self.entries.items() if key.startswith(prefix)):
            self.used.add(key)
            length -= len(value)
            source, term = Numbers(value), b""
            while source.at < len(value):
                shared, count = source.next(), source.next()
                need(shared <= len(term) and count <= len(value) - source.at, "a term of a segment is cut")
                term = term[:shared] + value[source.at:source.at + count]
                need(last is None or last < term, "terms of a segment out of order")
                last, source.at = term, source.at + count
                end = source.next() + source.at
                need(end <= len(value), "changes are cut")
                self.change(term, Numbers(value[source.at:end]))
                source.at = end
            need(term == key[len(prefix):], "a part of a segment ends in another term than its key")
        need(length == 0, "a segment has another length")

    def change(self, term, source):
        differences = [source.next() for _ in range(2 + (self.count if self.count > 1 else 0))]
        differences = [-(one >> 1) if one & 1 else one >> 1 for one in differences]
        postings = self.terms.setdefault(term, {})
        before = self.counts(postings)
        mentioned, number = set(), 0
        for _ in range(source.next()):
            number += source.next() + 1
            need(number in postings, "a document loses a term that it does not have")
            del postings[number]
            mentioned.add(number)
        count = source.next()
        added = self.postings(source, count) if count else {}
        source.end()
        need(not mentioned & set(added), "a document loses a term and gets it")
        postings.update(added)
        self.replaced.setdefault(term, set()).update(mentioned, added)
        need(differences == [after - one for after, one in zip(self.counts(postings), before)],
             "the difference of counts")

    def counts(self, postings):
        """Documents, occurrences and, if there are several fields, documents of each."""
        of_fields = [sum(bool(one[field]) for one in postings.values()) for field in range(self.count)]
        return [len(postings), sum(len(places) for one in postings.values() for places in one)] + (
            of_fields if self.count > 1 else [])

    def postings(self, source, count):
        usual = source.next() if self.count > 1 else 0
        number, found = 0, []
        for _ in range(count):
            code = source.next()
            number += (code >> 1) + 1
            frequencies = [0] * self.count
            if code & 1:
                frequencies[usual] = 1
            else:
                follows = True
                while follows:
                    shape = source.next()
                    follows, shape = shape & 1, shape >> 1
                    frequencies[shape % self.count] = shape // self.count + 1
            found.append((number, frequencies))
        postings = {}
        for number, frequencies in found:
            places = []
            for frequency in frequencies:
                positions = []
                for _ in range(frequency):
                    gap = source.next()
                    positions.append(positions[-1] + gap + 1 if positions else gap)
                places.append(positions)
            postings[number] = places
        source.end()
        return postings

    def check(self):
        numbers = {number: identity for identity, (number, *_) in self.documents.items()}
        need(len(numbers) == len(self.documents), "two documents have one number")
        lengths = {}
        for key, value in self.of_kind(b"l"):
            source, at = Numbers(value), number_of_key(key[1:]) * 128
            while source.at < len(value):
                length = source.next()
                if length:
                    lengths[at] = length - 1
                at += 1
            self.used.add(key)
        for identity, (number, *by_field) in self.documents.items():
            self.used.add(b"i" + identity)
            size = bytes([(number.bit_length() + 7) // 8])
            need(self.take(b"n" + size + number.to_bytes(size[0], "big")) == identity, "a number of another document")
            need(lengths.pop(number, None) == sum(by_field), "the length of a document")
        need(not lengths, "lengths of no documents")
        need(self.statistics[0] == len(self.documents) and self.statistics[1] > max(numbers, default=0)
             and self.statistics[2] == self.count, "the statistics")
        need(self.statistics[3:] == [sum(one[1 + field] for one in self.documents.values())
                                     for field in range(self.count)], "the words of fields")
        for term, points, postings in [(term, *one) for term, blocks in self.points.items() for one in blocks]:
            for number, places in postings.items():
                if number in self.replaced.get(term, ()):
                    continue
                length = sum(self.documents[numbers[number]][1:])
                need(any(one[0] <= length and all(a >= len(b) for a, b in zip(one[1:], places)) for one in points),
                     "a posting without a point")
        need(self.used == set(self.entries), "entries that belong to nothing")
        return numbers


def check_texts(definition, words, documents):
    """Compares the terms with the documents, if these are in ASCII."""
    wanted, lengths = {}, {}
    for identity, body in documents.items():
        places, counts = {}, []
        for field, path in enumerate(definition.fields):
            start = total = 0
            for one in definition.texts(body, path):
                found = re.findall(r"[A-Za-z0-9]+", one)
                for position, word in enumerate(found):
                    if word.lower() not in definition.stop_words:
                        places.setdefault(word.lower().encode(), [[] for _ in definition.fields])[field].append(
                            start + position)
                total, start = total + len(found), start + len(found) + GAP
            counts.append(total)
        lengths[identity] = counts
        for term, of_fields in places.items():
            wanted.setdefault(term, {})[words.documents[identity][0]] = of_fields
    need({identity: one[1:] for identity, one in words.documents.items()} == lengths, "other lengths than the texts")
    need(words.terms == wanted, "other words than the texts")


def check(path):
    with open(path, "rb") as file:
        database = Database(file.read())
    spaces = database.keyspaces
    if b"database" not in spaces:
        return
    facts = dict(database.entries_of(spaces[b"database"]))

    def space(name):
        need(name in spaces, "a keyspace is missing: " + text(name))
        return dict(database.entries_of(spaces[name]))

    for key, state in sorted(facts.items()):
        if not key.startswith(b"collection/"):
            continue
        collection = key[len(b"collection/"):]
        prefix = b"text/" + collection + b"/"
        found = [(text(name[len(prefix):]), Definition(data)) for name, data in sorted(facts.items())
                 if name.startswith(prefix)]
        need((state[0] == 3) == bool(found), "full-text indexes are counted wrongly")
        if not found:
            continue
        numbers = varints(state, 17, 11)
        need(numbers[10] == len(found), "full-text indexes are counted wrongly")
        bodies = space(b"bodies/" + collection)
        for name, definition in found:
            need(definition.number <= numbers[8], "a number was not given out")
            words = Words(space(b"words/" + collection + b"/" + str(definition.number).encode()),
                          len(definition.fields))
            words.check()
            documents = {}
            for identity, data in space(b"documents/" + collection).items():
                winner = Record(data).revisions[0]
                if definition.includes(identity) and not winner.is_deleted:
                    stored = Record(data)
                    body = stored.body if stored.flags & 4 else bodies[winner.body.to_bytes(8, "big")]
                    documents[identity] = Fleece(body).root()
            need(set(documents) == set(words.documents), "other documents than there are")
            is_plain = not definition.language and all(
                one.isascii() and not re.search(r"[A-Za-z0-9]['_.,:;]+[A-Za-z0-9]", one) for body in documents.values()
                for field in definition.fields for one in definition.texts(body, field))
            if is_plain:
                check_texts(definition, words, documents)
            print(f"{path}: {text(collection)}: {name}, Unicode {definition.unicode}: {len(words.documents)} documents, "
                  f"{len(words.terms)} terms, {words.segment_count} segments, {'ready' if definition.is_ready else 'not ready'}"
                  f"{', compared with the texts' if is_plain else ''}")


if __name__ == "__main__":
    run(check)
