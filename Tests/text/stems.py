#!/usr/bin/env python3
"""Writes words and their stems by others, which Latewood's stemmers are compared to.

    pip install snowballstemmer==3.1.1
    python3 Tests/text/stems.py 500 > Tests/text/stems.txt
    python3 Tests/text/stems.py 50000 > /tmp/stems.txt    # then run the test with
    LATEWOOD_STEMS=/tmp/stems.txt swift test --filter StemmerTests

English stems are those of PyPI's snowballstemmer, and Porter's those of SQLite's FTS5. Words whose
stems FTS5 finds by rules of its own are left out: words that are a suffix only, and those with "yy".

    python3 Tests/text/stems.py 300 german french spanish portuguese italian dutch swedish russian

writes only some languages; their words are half from Debian's word lists, such as those of the
package wngerman, and half made of the suffixes that the stemmer mentions.

The words of English: those of ../shared/data, if it is there, and random ones made of syllables and of the
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


LISTS = {
    "german": "ngerman", "french": "french", "spanish": "spanish", "portuguese": "portuguese",
    "italian": "italian", "dutch": "dutch", "swedish": "swedish",
}


def listed(language):
    """The words of a dictionary."""
    path = "/usr/share/dict/" + LISTS.get(language, language)
    if language == "russian":
        path = "/usr/share/hunspell/ru_RU.dic"
    encoding = "iso-8859-1" if language == "swedish" else "utf-8"
    with open(path, encoding=encoding) as file:
        words = {line.split("/")[0].strip().lower() for line in file}
    return sorted(word for word in words if re.fullmatch(r"[^\W\d_]+(?:'[^\W\d_]+)?", word))


def snowball(language, count):
    """Half words of a dictionary, half beginnings of such words with suffixes of the stemmer."""
    path = f"Sources/LatewoodText/Stemming/{language.capitalize()}Stemmer.swift"
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        tables = file.read().split("private static let vowels", 1)[1]
    texts = sorted(set(re.findall(r"(?<![^\W\d_.])[^\W\d_A-Z]{1,9}(?=[ \"])", tables)))
    known = listed(language)
    words = set(random.sample(known, count // 2))
    while len(words) < count:
        words.add(random.choice(known)[: random.randint(0, 9)] + random.choice(texts) * random.choice([1, 1, 1, 2]))
    stemmer = snowballstemmer.stemmer(language)
    for word in sorted(words):
        print(language, word, stemmer.stemWord(word), sep="\t")


count = int(sys.argv[1])
random.seed(1980)
if len(sys.argv) > 2:
    for language in sys.argv[2:]:
        snowball(language, count)
    sys.exit()
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
