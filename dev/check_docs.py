#!/usr/bin/env python3
"""Checks that the files and links which README.md, docs/ and other .md files name exist."""

import pathlib
import re
import subprocess
import sys

# A path of this repository in running text or code: `src/heap/span.h`, dev/run, docs/how-to/.
PATH = re.compile(r"(?<![\w./$-])(?:src|include|tests|tools|bench|dev|docs)/[\w./+*{},<>-]*")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def problems_of(page):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        links = LINK.findall(line)
        for name in set(PATH.findall(line)) - set(links):
            name = name.rstrip(".,")
            # Patterns and stand-ins such as src/<layer>/ name no one file; /dev/… of the system is not ours.
            if re.search(r"[*{}<>]|[A-Z]{3,}", name):
                continue
            if not pathlib.Path(name).exists():
                yield number, f"{name} does not exist: correct the path, or write the file"
        for target in links:
            if re.match(r"[a-z]+:|#", target):
                continue
            if not (page.parent / target.split("#")[0]).exists():
                yield number, f"the link to {target} leads nowhere: correct it"


def main():
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    found = False
    for name in sorted(set(listed.stdout.split("\n")) - {""}):
        page = pathlib.Path(name)
        if not page.exists():
            continue
        for number, problem in problems_of(page):
            found = True
            print(f"{page}:{number}: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
