#!/usr/bin/env python3
"""Writes python.jsonl: regular expressions of the common subset, and where Python's re finds them.

    python3 Tests/patterns/generate.py > Tests/patterns/python.jsonl

Each line is [expression, [texts that match], [texts that do not]]. The expressions and texts avoid
what Python and Latewood mean differently on purpose: `$` before a final newline, `.` and carriage
return, `\\Z`, `{,}`, and digits and combining marks outside of ASCII.
"""
import json
import random
import re

WRITTEN = r"""
abc
^abc
abc$
^abc$
\Aabc
a.c
a\.c
a*
^a*$
a+
^a+$
ab?c
^ab?c$
a{3}
^a{3}$
^a{2,}$
^a{2,4}$
^a{,2}$
^a{0}$
^(ab){2}$
^(?:ab){1,2}c$
a|b
^(a|b)$
^a|b$
^(?:a|bc|def)$
(a|ab)(c|bcd)
^(a|ab)(c|bcd)$
(a*)*
^(a*)*$
(a*)+b
(a|b)*c
^(?:a|b)*c$
(a+|b)*
(a+|b)+c
(?:(?:a)|b)+
()
a()b
(|a)b
(a|)b
a||b
^$
^
$
[abc]
[^abc]
[a-z]
[^a-z]
[a-zA-Z0-9]
[a-]
[-a]
[\]]
[\[]
[a\]]
[\\]
[.]
[*+?]
[$]
[a^]
[^^]
[\d]
[^\d]
[\w-]
[\s,]
[\n]
[\x41-\x43]
[\u0041-\u0043]
[é-ü]
[^é]
[а-я]
[à-ü]+
\d
\D
\d+
^\d+$
^\d{4}-\d{2}-\d{2}$
\w
\W
\w+
^\w+$
\s
\S
\s+
^\s*$
\bfoo\b
\bfoo
foo\b
\Bfoo
foo\B
\b
a\b
\bb
\b\d+\b
\.\d
\$
\^
\*
\+
\?
\(
\)
\[
\]
\{
\}
\|
\\
\/
\-
\n
\t
\x41
\x61b
\u0061
\u00e9
é
é+
^é{2}$
(é|a)b
я
(?i)abc
(?i)ABC
(?i)é
(?i)я
(?i)[a-c]
(?i)[^a-c]
(?i)a|B
(?i:a)b
a(?i:b)c
(?i:abc)|d
(?s)a.b
(?s:a.)b
a.b
(?m)^b
(?m)a$
(?m)^a$
(?m:^b)
(?im)^B$
(?s).*
(?x) a b
(?x)a\ b
(?x) a # comment
(?x)a b | c
(?P<name>a)b
(?P<first>a)(?P<second>b)
(?#comment)a
a(?#comment)b
a*?
^a*?$
a+?b
a??b
a{1,2}?b
(?:a{2}){2}
^(?:a{2}){2}$
^(a{1,2}){2}$
(a{0,1}){3}b
a{2}b{2}
(foo|bar)+
^(foo|bar)+$
^(foo|bar){2}$
foo(?:bar)?baz
^[^@\s]+@[^@\s]+\.[a-z]{2,}$
^(?:\+?1[-. ]?)?\(?\d{3}\)?[-. ]?\d{3}[-. ]?\d{4}$
^#?[0-9a-fA-F]{6}$
^(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$
^https?://[\w.-]+(?:/\S*)?$
^[A-Z][a-z]+(?: [A-Z][a-z]+)*$
^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$
^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)$
<[^>]+>
"[^"]*"
"(?:[^"\\]|\\.)*"
^\s*$|^#
^.*foo.*bar.*$
^(?:(?:a|b)(?:c|d))+$
x*y*z*
^x*y*z*$
(x+x+)+y
(a+)+$
(a|aa)+$
(a|a?)+b
([a-z]+)*\d
^(([a-z])+.)+[A-Z]([a-z])+$
^(a?){10}a{10}$
(.*)(.*)(.*)x
.*.*=.*
a{1}b
a{01}b
{
}
a{
a{b}
a{1
a{1,
-
,
a,b
a b
 
#
&
~
!
%
=
<
>
:
;
@
'
`
_
"""

TEXTS = [
    "", "a", "b", "c", "ab", "ba", "abc", "abcd", "aab", "aaa", "aaaa", "aaaaa", "bc", "ac", "abab",
    "ababc", "abbc", "a.c", "a-c", "a c", "a b", "a,b", "ABC", "aBc", "Ab", "AB", "B", "D", "é", "É",
    "éé", "éb", "ü", "à", "я", "Я", "яя", "foo", "foo bar", "foobar", "foofoo", "xfoo", "fooo", "foobaz",
    "foobarbaz", "barfoo", "x foo y", "1", "12", "2024-01-31", "a1", "1a", "x1y", "-1.5e10", ".5",
    "user@example.com", "user@example", "+1 (555) 123-4567", "555-1234", "#a0b1c2", "a0b1cg",
    "192.168.0.1", "256.1.1.1", "http://example.com/a?b", "https://x", "ftp://x", "Ada Lovelace",
    "ada", "Mon", "Monday", "<b>x</b>", '"a"', '"a\\"b"', '"', "# x", " ", "  ", "\t", "a\tb", "a\nb",
    "b\na", "a\nb\na", "\n", "xxyyzz", "zyx", "xxxx", "xxxxy", "aaaaaaaaaa", "a=b", "=", "$", "^", "*",
    "+", "?", "(", ")", "[", "]", "{", "}", "|", "\\", "/", "-", "_", "a_b", "a{", "a{b}", "a{1", "a{1,",
    "x{}", "&", "~", "!", "%", "<", ">", ":", ";", "@", "'", "`", "#", ",", "acd", "bcd", "abcbcd",
]

SOME = ["a", "b", "c", "A", "B", "1", "2", " ", "_", "-", "é", "É", "я", "."]


def atom(random, depth):
    kind = random.randrange(20)
    if kind < 8:
        return random.choice(["a", "b", "c", "A", "1", "é", "я"])
    if kind == 8:
        return "."
    if kind == 9:
        return random.choice([r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\b", r"\B"])
    if kind == 10:
        return random.choice(
            ["[a-c]", "[^a]", "[a-cé-я]", r"[\d_]", r"[^\w]", "[A-C1]", "[-a]", r"[a\]]", r"[^\s\d]"])
    if kind == 11:
        return random.choice(["^", "$", r"\A"])
    if kind == 12:
        return random.choice([r"\x41", r"\u00E9", r"\.", r"\-", r"\n"])
    if kind < 17 and depth > 0:
        return random.choice(["(", "(?:", "(?i:", "(?s:", "(?m:"]) + made(random, depth - 1) + ")"
    return "ab"


def made(random, depth):
    text = ""
    for place in range(random.randint(1, 4)):
        if place and random.randrange(6) == 0:
            text += "|"
        part = atom(random, depth)
        text += part
        if part in ("^", "$", r"\A", r"\b", r"\B"):
            continue
        kind = random.randrange(12)
        if kind < 8:
            text += ["", "", "", "", "*", "+", "?", "{2}"][kind]
        elif kind == 8:
            text += random.choice(["{1,2}", "{0}", "{,2}", "{2,}", "*?", "+?", "??"])
    return text


def line(pattern, texts):
    expression = re.compile(pattern)
    # Python finds no \B in an empty text.
    texts = [text for text in dict.fromkeys(texts) if text or r"\B" not in pattern]
    found = [text for text in texts if expression.search(text)]
    others = [text for text in texts if text not in found]
    choice = random.Random(pattern)
    few = [choice.sample(list, min(len(list), 10)) for list in (found, others)]
    print(json.dumps([pattern] + few, ensure_ascii=False))


def main():
    source = random.Random(33)
    known = [pattern for pattern in WRITTEN.split("\n")[1:-1]]
    for pattern in known:
        # `$` and a final newline differ.
        line(pattern, [text for text in TEXTS if "$" not in pattern or not text.endswith("\n")])
    count = 0
    while count < 250:
        pattern = made(source, 3)
        try:
            re.compile(pattern)
        except re.error:
            continue
        if pattern in known:
            continue
        known.append(pattern)
        count += 1
        line(pattern, ["".join(source.choice(SOME) for _ in range(source.randrange(8))) for _ in range(6)])


main()
