#!/usr/bin/env python3
"""Writes fts5.jsonl: documents, queries, and what SQLite's FTS5 finds with which rank.

    python3 Tests/text/fts5.py > Tests/text/fts5.jsonl

The words are made of Latin letters, so that FTS5 and Latewood divide texts into the same words. Two
differences are left out: FTS5 takes the stem of a prefix, and of the parts of OR and NOT
that a document does not meet, it counts the words that it happens to have read.
"""
import json
import random
import sqlite3

random.seed(5)
WORDS = """the of film night running runs runner ran city cities car cars Paris café Café ÉCOLE école Zürich
naïve señor love loved lovely loving war wars king kings kingdom queen dark darkness darker light lights
lightning story stories star stars starring murder murders murderer house houses housing train trains training
flies fly flying happily happy happiness relational conditional nation national nationality organize
organizer electricity electric general generally communism community 1984 2001 42""".split()
WEIGHTS = [1 / (rank + 1) for rank in range(len(WORDS))]
COLUMNS = ["title", "plot"]


def text(most):
    return " ".join(random.choices(WORDS, WEIGHTS, k=random.randint(0, most)))


def phrase(prefixes):
    word = random.choices(WORDS, WEIGHTS)[0] if random.random() < 0.7 else random.choice(WORDS)
    kind = random.random()
    if kind < 0.65:
        return word
    if kind < 0.8 and prefixes:
        return word[:random.randint(1, len(word))] + "*"
    return '"' + " ".join(random.choices(WORDS, WEIGHTS, k=random.randint(2, 3))) + '"'


def query(depth, prefixes, is_alternative=False):
    kind = random.random()
    if depth == 0 or kind < 0.3:
        return phrase(prefixes)
    if kind < 0.4:
        return f"{random.choice(COLUMNS)} : {phrase(prefixes)}"
    if not is_alternative:
        if kind < 0.5:
            return f"NEAR({phrase(prefixes)} {phrase(prefixes)}, {random.randint(0, 6)})"
        if kind < 0.6:
            return f"{phrase(prefixes)} {phrase(prefixes)}"
        if kind < 0.7:
            return f"({query(depth - 1, prefixes)}) AND ({query(depth - 1, prefixes)})"
        if kind < 0.8:
            return f"({query(depth - 1, prefixes)}) NOT ({query(depth - 1, prefixes, True)})"
    return f"({query(depth - 1, prefixes, True)}) OR ({query(depth - 1, prefixes, True)})"


documents = [[text(8), text(60)] for _ in range(60)]
print(json.dumps({"documents": documents}, ensure_ascii=False))
for tokenizer, language in [("unicode61 remove_diacritics 2", None), ("porter unicode61 remove_diacritics 2", "porter")]:
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE t USING fts5(title, plot, tokenize='{tokenizer}')")
    database.executemany("INSERT INTO t(rowid, title, plot) VALUES (?, ?, ?)",
                         [(number, *document) for number, document in enumerate(documents)])
    for _ in range(200):
        text_of_query = query(3, language is None)
        rows = database.execute("SELECT rowid, bm25(t, 5.0, 1.0) FROM t WHERE t MATCH ? ORDER BY rowid",
                                (text_of_query,)).fetchall()
        print(json.dumps({"language": language, "query": text_of_query,
                          "ids": [row[0] for row in rows], "scores": [-row[1] for row in rows]}))
