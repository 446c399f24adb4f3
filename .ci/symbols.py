#!/usr/bin/env python3
"""Finds names in Sources/README.md that the sources no longer have.

Words in backticks outside of fences count as symbols if they begin like one: `Type`, `Type.member`,
`File.swift` or a lower-case member name. Names of queues and of targets are looked up as text.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
files = sorted((root / "Sources").rglob("*.swift"))
text = "\n".join(file.read_text(encoding="utf-8") for file in files)
names = {file.name for file in files}

page = (root / "Sources/README.md").read_text(encoding="utf-8")
page = re.sub(r"^```.*?^```", "", page, flags=re.S | re.M)
missing = []
count = 0
for name in sorted(set(re.findall(r"`([^`]+)`", page))):
    if name in ("code",):
        continue
    count += 1
    if "/" in name or name.endswith(".md"):
        found = (root / name).exists()
    elif name.endswith(".swift"):
        found = name in names
    elif name.startswith("latewood."):
        found = f'"{name}"' in text
    elif name.startswith("Latewood"):
        found = (root / "Sources" / name).is_dir()
    elif name in ("Mutex", "deinit"):
        found = True
    else:
        found = True
        parts = name.split(".")
        if parts[0][0].isupper():
            kind = r"(?:class|struct|enum|protocol|typealias|extension)"
            found = re.search(rf"\b{kind}\s+{parts[0]}\b", text) is not None
        if found and (len(parts) > 1 or parts[0][0].islower()):
            found = re.search(rf"\b(?:func|var|let|case)\s+{parts[-1]}\b", text) is not None
    if not found:
        missing.append(name)
for name in missing:
    print(f"Sources/README.md names `{name}`, which the sources do not have")
print(f"{count} names")
sys.exit(1 if missing else 0)
