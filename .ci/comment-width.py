#!/usr/bin/env python3
"""Finds comment lines that are wider than 100 columns: of Swift, shell, Python and TOML.

Pictures in fences and rows of tables may be wider.

usage: .ci/comment-width.py FILE...
"""
import re
import sys

found = 0
for path in sys.argv[1:]:
    in_fence = False
    opening = r"\s*//" if path.endswith(".swift") else r"\s*# "
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            comment = re.match(opening, line)
            if not comment:
                in_fence = False
                continue
            if re.match(r"\s*/// ?\s*```", line):
                in_fence = not in_fence
            elif not in_fence and len(line) > 100 and not re.match(r"\s*/// \|", line):
                print(f"{path}:{number}: {len(line)} columns")
                found += 1
sys.exit(1 if found else 0)
