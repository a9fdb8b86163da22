#!/usr/bin/env python3
"""Checks that tests/ mirrors src/: src/LAYER/NAME.cc, or a header with code and no .cc, has tests/LAYER/NAME_test.cc.

What has none stands in tests/mirror_exceptions.txt with a reason: `PATTERN: reason`, a line each; # starts a comment.
"""

import fnmatch
import pathlib
import re
import sys

EXCEPTIONS = pathlib.Path("tests/mirror_exceptions.txt")


def read_exceptions():
    """Yields line number, pattern, reason."""
    if not EXCEPTIONS.exists():
        return
    for number, line in enumerate(EXCEPTIONS.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition(":")
            yield number, pattern.strip(), reason.strip()


def has_code(header):
    return re.search(r"\breturn\b", header.read_text()) is not None


def main():
    problems = []
    exceptions = list(read_exceptions())
    used = set()
    sources = sorted(pathlib.Path("src").rglob("*.cc"))
    headers = sorted(h for h in pathlib.Path("src").rglob("*.h") if not h.with_suffix(".cc").exists() and has_code(h))
    for source in sources + headers:
        test = pathlib.Path("tests", *source.parts[1:]).with_name(source.stem + "_test.cc")
        matching = [e for e in exceptions if fnmatch.fnmatch(source.as_posix(), e[1])]
        if test.exists():
            continue
        used.update(matching)
        if not matching:
            problems.append(f"{source}: no {test}: write it, or name the file in {EXCEPTIONS} with the reason")
    for number, pattern, reason in exceptions:
        if not reason:
            problems.append(f"{EXCEPTIONS}:{number}: {pattern} has no reason: write it behind the colon")
        if (number, pattern, reason) not in used:
            problems.append(f"{EXCEPTIONS}:{number}: {pattern} excuses no file: delete the line")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
