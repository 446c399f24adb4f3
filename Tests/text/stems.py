#!/usr/bin/env python3
"""Writes words and their stems by others, which Latewood's stemmers are compared to.

    pip install snowballstemmer==3.1.1
    python3 Tests/text/stems.py 500 > Tests/text/stems.txt
    python3 Tests/text/stems.py 50000 > /tmp/stems.txt    # then run the test with
    LATEWOOD_STEMS=/tmp/stems.txt swift test --filter StemmerTests

English stems are those of PyPI's snowballstemmer, and Porter's those of SQLite's FTS5. Words whose
stems FTS5 finds by rules of its own are left out: words that are a suffix only, and those with "yy".

The words: those of ../shared/data, if it is there, and random ones made of syllables and of the
texts that Latewood's stemmer mentions.
"""
import glob
import os
import random
import re
import sqlite3
import sys

import snowballstemmer

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def made(texts, letters):
    vowels = [letter for letter in letters if letter in "aeiouy"]
    others = [letter for letter in letters if letter not in vowels]
    word = ""
    for _ in range(random.randint(0, 3)):
        word += random.choice(others) * random.choice([0, 1, 1, 1, 2])
        word += random.choice(vowels) * random.choice([1, 1, 1, 2])
    if random.random() < 0.5:
        word += random.choice(others)
    for _ in range(random.choice([0, 1, 1, 1, 2, 3])):
        word += random.choice(texts)
    return random.choice(texts) + word if random.random() < 0.2 else word


def english(words):
    stemmer = snowballstemmer.stemmer("english")
    return [(word, stemmer.stemWord(word)) for word in words]


def porter(words):
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
    database.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, instance)")
    database.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(words))
    stems = database.execute("SELECT doc, term FROM terms ORDER BY doc")
    return [(words[number], term) for number, term in stems]


def is_word_for_porter(word):
    return re.fullmatch("[a-z]+", word) and "yy" not in word and word not in ("eed", "ies", "sses")


count = int(sys.argv[1])
random.seed(1980)
known = set()
for path in glob.glob(os.path.join(ROOT, "../shared/data/*.json")):
    with open(path, encoding="utf-8") as file:
        known.update(word.lower() for word in re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", file.read()))
known = sorted(word for word in known if len(word) < 40)
print("# language, word, stem; written by Tests/text/stems.py")
for language, stems in [("english", english), ("porter", porter)]:
    path = f"Sources/LatewoodText/Stemming/{language.capitalize()}Stemmer.swift"
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        texts = sorted(set(re.findall(r"\"([a-z']+)\"", file.read())))
    letters = LETTERS if language == "porter" else LETTERS + "'é"
    is_word = is_word_for_porter if language == "porter" else bool
    words = {word for word in random.sample(known, min(len(known), count // 2)) if is_word(word)}
    while len(words) < count:
        word = made(texts, letters)
        if is_word(word):
            words.add(word)
    for word, stem in stems(sorted(words)):
        print(language, word, stem, sep="\t")
