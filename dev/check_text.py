#!/usr/bin/env python3
"""Checks all text files for what a machine or an unfinished change leaves behind."""

import pathlib
import re
import subprocess
import sys

RULES = [
    (re.compile(r"(?<![\w.}/)])/(?:home|root|Users|mnt|srv|work\w*)/\w"),
     "a path of one machine: make it relative, or a parameter"),
    (re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b"), "a note to oneself: do it, or file it"),
    (re.compile(r"^(?:<{7}|>{7}|={7})(?: |$)"), "a mark of a merge: finish the merge"),
    (re.compile(r"[ \t]+$"), "white space at the end of the line: delete it"),
]


def main():
    command = ["git", "ls-files", "-coz", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    found = False
    for name in sorted(set(listed.stdout.split("\0")) - {""}):
        path = pathlib.Path(name)
        if not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            for rule, message in RULES:
                if rule.search(line):
                    found = True
                    print(f"{name}:{number}: {message}: {line.strip()[:80]}")
        if data and not data.endswith(b"\n"):
            found = True
            print(f"{name}: no newline at the end of the file: add it")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
