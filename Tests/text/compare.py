#!/usr/bin/env python3
"""Compares what a build of the tool finds by words, and with which scores, with SQLite's FTS5 and with
BM25 in this script, which shares no code with either.

    Tests/text/compare.py .build/release/latewood [--texts 200000] [--queries 1000] [--seed 7]

The corpora are texts by Zipf's law, which this script makes, and the films of ../shared/data, if they
are there. Both are indexed with whole words and with the stems of Porter. Texts consist of Latin
words, which FTS5 (`unicode61 remove_diacritics 2`, and with `porter`) and Latewood divide alike.

Compared are the documents of every query. Scores must agree within 1e-9 of their value: those of FTS5
unless a query has conditions within OR or NOT, of which FTS5 counts the words that it happens to have
read; those of this script unless a query has NEAR. FTS5 takes the stem of a prefix, so stems and
prefixes are not combined.
"""
import argparse
import bisect
import collections
import glob
import itertools
import json
import math
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
WEIGHTS = [5.0, 1.0]
COLUMNS = ["title", "plot"]
# Letters that FTS5 folds as Latewood does: a letter of ASCII, with marks at most.
WORD = re.compile(r"[A-Za-zÀ-ÅÇ-ÏÑ-ÖÙ-Ýà-åç-ïñ-öù-ýÿ]+")


def folded(word):
    parts = unicodedata.normalize("NFD", word.lower())
    return "".join(part for part in parts if not unicodedata.combining(part))


def zipf_texts(count):
    letters = "abcdefghijklmnoprstuvwyzé"
    words = sorted({"".join(random.choices(letters, k=random.randint(2, 9))) for _ in range(20_000)})
    random.shuffle(words)
    sums = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(words))))

    def text(most):
        return " ".join(random.choices(words, cum_weights=sums, k=random.randint(0, most)))

    return [[text(6), text(30)] for _ in range(count)]


def film_texts():
    films = []
    for path in sorted(glob.glob(os.path.join(ROOT, "../shared/data/movies-*.json"))):
        with open(path, encoding="utf-8") as file:
            films += json.load(file)
    return [[" ".join(WORD.findall(film.get(name) or "")) for name in ("title", "extract")] for film in films]


class Corpus:
    """Documents, and the places of their words."""

    def __init__(self, documents, stem):
        self.documents = documents
        self.stem = stem
        self.places = collections.defaultdict(dict)
        self.lengths = []
        for number, fields in enumerate(documents):
            position = 0
            for field, text in enumerate(fields):
                words = text.split()
                position += len(words)
                for place, word in enumerate(words):
                    self.places[stem(folded(word))].setdefault(number, ([], []))[field].append(place)
            self.lengths.append(position)
        self.average = sum(self.lengths) / len(self.lengths)
        self.terms = sorted(self.places)
        self.known = {}

    def word(self):
        """A word of the texts: of those at random half by how often it occurs."""
        while True:
            words = random.choice(random.choice(self.documents)).split()
            if words:
                return random.choice(words) if random.random() < 0.2 else min(
                    random.sample(words, min(3, len(words))), key=lambda word: len(self.places[self.stem(folded(word))]))

    def neighbours(self, count):
        while True:
            words = random.choice(random.choice(self.documents)).split()
            if len(words) >= count:
                start = random.randint(0, len(words) - count)
                return words[start:start + count]

    def phrase_counts(self, words, is_prefix, fields):
        """How often a phrase is in the fields of each document that has it in one of them."""
        key = (tuple(words), is_prefix, tuple(fields))
        if key in self.known:
            return self.known[key]
        if is_prefix:
            prefix = folded(words[0])
            first = bisect.bisect_left(self.terms, prefix)
            lists = [self.places[term] for term in itertools.takewhile(
                lambda term: term.startswith(prefix), self.terms[first:])]
        else:
            lists = [self.places.get(self.stem(folded(words[0])), {})]
        rest = [self.places.get(self.stem(folded(word)), {}) for word in words[1:]]
        counts = {}
        for number in set().union(*lists).intersection(*rest) if rest else set().union(*lists):
            found = [0, 0]
            for field in fields:
                starts = sorted(itertools.chain(*(places[number][field] for places in lists if number in places)))
                others = [set(places[number][field]) for places in rest]
                found[field] = sum(
                    all(start + step in other for step, other in enumerate(others, 1)) for start in starts)
            if any(found):
                counts[number] = found
        self.known[key] = counts
        return counts


class Query:
    """A random query: its text, and the documents that it finds with their scores."""

    def __init__(self, corpus, with_prefixes):
        self.corpus = corpus
        self.with_prefixes = with_prefixes
        self.has_near = self.has_parts_in_alternative = False
        self.text, self.found = self.node(3, [0, 1], False)

    def score(self, counts):
        """The contribution of a phrase to the scores of documents, by BM25."""
        documents = len(self.corpus.documents)
        weight = math.log((documents - len(counts) + 0.5) / (len(counts) + 0.5))
        weight = weight if weight > 0 else 1e-6
        scores = {}
        for number, found in counts.items():
            often = sum(factor * count for factor, count in zip(WEIGHTS, found))
            length = self.corpus.lengths[number] / self.corpus.average
            scores[number] = weight * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length))
        return scores

    def phrase(self, fields):
        kind = random.random()
        if kind < 0.65:
            words, prefix = [self.corpus.word()], False
        elif kind < 0.8 and self.with_prefixes:
            word = self.corpus.word()
            words, prefix = [word[:random.randint(2, len(word)) if len(word) > 2 else len(word)]], True
        else:
            words, prefix = self.corpus.neighbours(random.randint(2, 3)), False
        text = words[0] + "*" if prefix else words[0] if len(words) == 1 else f'"{" ".join(words)}"'
        if text in ("AND", "OR", "NOT", "NEAR"):
            text = f'"{text}"'
        return text, words, prefix, self.score(self.corpus.phrase_counts(words, prefix, fields))

    def near(self):
        """The scores of NEAR are not computed here, only the documents."""
        self.has_near = True
        first, second = self.phrase([0, 1]), self.phrase([0, 1])
        if first[2] or second[2]:
            return self.node(0, [0, 1], False)
        distance = random.randint(0, 8)
        found = {}
        for number in first[3].keys() & second[3].keys():
            for field in (0, 1):
                if self.is_near(number, field, first[1], second[1], distance):
                    found[number] = 0.0
        return f"NEAR({first[0]} {second[0]}, {distance})", found

    def starts(self, number, field, words):
        lists = [self.corpus.places[self.corpus.stem(folded(word))].get(number, ([], []))[field] for word in words]
        return [start for start in lists[0]
                if all(start + step in places for step, places in enumerate(lists[1:], 1))]

    def is_near(self, number, field, first, second, distance):
        ends = [(start, start + len(first)) for start in self.starts(number, field, first)]
        others = [(start, start + len(second)) for start in self.starts(number, field, second)]
        return any(max(a[0], b[0]) - min(a[1], b[1]) <= distance for a in ends for b in others)

    def node(self, depth, fields, is_alternative):
        kind = random.random()
        if depth == 0 or kind < 0.3:
            text, _, _, scores = self.phrase(fields)
            return text, scores
        if kind < 0.4:
            field = random.randint(0, 1)
            text, _, _, scores = self.phrase([field] if field in fields else [])
            return f"{COLUMNS[field]} : {text}", scores
        self.has_parts_in_alternative |= is_alternative and not 0.7 <= kind < 0.9
        if kind < 0.48:
            return self.near()
        left = self.node(depth - 1, fields, is_alternative)
        right = self.node(depth - 1, fields, is_alternative or kind >= 0.6)
        if kind < 0.6:
            both = left[1].keys() & right[1].keys()
            return f"({left[0]}) AND ({right[0]})", {key: left[1][key] + right[1][key] for key in both}
        if kind < 0.7:
            return f"({left[0]}) NOT ({right[0]})", {
                key: score for key, score in left[1].items() if key not in right[1]}
        self.has_parts_in_alternative |= " AND " in left[0] or " NOT " in left[0] or "NEAR(" in left[0]
        return f"({left[0]}) OR ({right[0]})", {
            key: left[1].get(key, 0.0) + right[1].get(key, 0.0) for key in left[1].keys() | right[1].keys()}


def porter_stems(documents):
    """The stems of all words, as FTS5 computes them."""
    words = sorted({folded(word) for document in documents for text in document for word in text.split()})
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
    database.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, instance)")
    database.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(words))
    stems = {words[number]: term for number, term in database.execute("SELECT doc, term FROM terms")}
    return lambda word: stems.get(word, word)


def make_database(tool, folder, documents):
    path = os.path.join(folder, "texts.latewood")
    source = os.path.join(folder, "texts.jsonl")
    with open(source, "w", encoding="utf-8") as file:
        for number, (title, plot) in enumerate(documents):
            json.dump({"id": f"{number:07}", "title": title, "plot": plot}, file, ensure_ascii=False)
            file.write("\n")
    run = lambda *arguments: subprocess.run([tool, *arguments], check=True, stdout=subprocess.DEVNULL)
    run("import", path, source, "--id", "id")
    run("index", "create", path, "plain", "title^5,plot", "--text")
    run("index", "create", path, "porter", "title^5,plot", "--text", "--language", "porter")
    run("verify", path)
    return path


class Tool:
    """The tool's shell, which answers one query after the other."""

    def __init__(self, tool, path):
        self.errors = open(path + ".errors", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [tool, "shell", path, "--no-history"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, text=True, encoding="utf-8")

    def find(self, index, query):
        query = query.replace("'", "''")
        self.process.stdin.write(
            f"SELECT RAW [meta().id, RANK({index})] FROM _ WHERE MATCH({index}, '{query}');\nSELECT RAW 'end';\n")
        self.process.stdin.flush()
        found = {}
        for line in self.process.stdout:
            row = json.loads(line)
            if row == "end":
                return found
            found[int(row[0])] = row[1]
        self.errors.seek(0)
        sys.exit(f"the tool has ended at the query {query}: {self.errors.read().splitlines()[-1:]}")


def differences(scores, others):
    return [number for number, score in scores.items() if abs(score - others[number]) > 1e-9 * max(1, abs(score))]


def compare(tool, name, documents, count):
    with tempfile.TemporaryDirectory() as folder:
        shell = Tool(tool, make_database(tool, folder, documents))
        rows = scored = 0
        for index, tokenizer in [("plain", "unicode61 remove_diacritics 2"), ("porter", "porter unicode61 remove_diacritics 2")]:
            corpus = Corpus(documents, porter_stems(documents) if index == "porter" else lambda word: word)
            peer = sqlite3.connect(":memory:")
            peer.execute(f"CREATE VIRTUAL TABLE t USING fts5(title, plot, tokenize='{tokenizer}')")
            peer.executemany("INSERT INTO t(rowid, title, plot) VALUES (?, ?, ?)", (
                (number, *document) for number, document in enumerate(documents)))
            for _ in range(count // 2):
                query = Query(corpus, index == "plain")
                found = shell.find(index, query.text)
                by_peer = {row[0]: -row[1] for row in peer.execute(
                    "SELECT rowid, bm25(t, ?, ?) FROM t WHERE t MATCH ?", (*WEIGHTS, query.text))}
                where = f"{name}, {index}: {query.text}"
                if found.keys() != by_peer.keys():
                    sys.exit(f"{where}: other documents than FTS5: {sorted(found.keys() ^ by_peer.keys())[:9]}")
                if found.keys() != query.found.keys():
                    sys.exit(f"{where}: other documents than here: {sorted(found.keys() ^ query.found.keys())[:9]}")
                if not query.has_parts_in_alternative and (wrong := differences(found, by_peer)):
                    sys.exit(f"{where}: {wrong[0]} has the score {found[wrong[0]]}, in FTS5 {by_peer[wrong[0]]}")
                if not query.has_near and (wrong := differences(found, query.found)):
                    sys.exit(f"{where}: {wrong[0]} has the score {found[wrong[0]]}, here {query.found[wrong[0]]}")
                rows += len(found)
                scored += not query.has_near or not query.has_parts_in_alternative
        shell.process.stdin.close()
        if shell.process.wait() != 0 or scored < count // 4 or rows < count:
            sys.exit(f"{name}: {scored} queries with scores, {rows} documents, status {shell.process.returncode}")
        print(f"{name}: {len(documents)} texts, {count} queries, {rows} documents, {scored} queries with scores")


try:
    sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE t USING fts5(text)")
except sqlite3.OperationalError as error:
    print(f"SKIPPED: nothing is compared, because this Python's SQLite has no FTS5 ({error})")
    sys.exit()
parser = argparse.ArgumentParser()
parser.add_argument("tool")
parser.add_argument("--texts", type=int, default=3000)
parser.add_argument("--queries", type=int, default=300)
parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
arguments = parser.parse_args()
print(f"seed {arguments.seed}")
random.seed(arguments.seed)
compare(arguments.tool, "Zipf", zipf_texts(arguments.texts), arguments.queries)
films = film_texts()
if films:
    compare(arguments.tool, "films", films, arguments.queries)
else:
    print("films: not compared, because ../shared/data is not there")
