#!/usr/bin/env python3
"""Checks that src/ keeps its layers: who includes whom, where the system's headers and #if may stand.

docs/architecture.md says what the layers are. Prints file:line: what is wrong: how to mend it.
"""

import pathlib
import re
import sys

LAYERS = ["base", "os", "policy", "heap", "arena", "cache", "observe", "malloc"]

# Headers that need neither Linux nor libc behind them: any layer may use these.
FREE_HEADERS = set("""
    algorithm array atomic bit climits compare concepts cstdarg cstddef cstdint cstring initializer_list iterator limits
    new numeric optional span string_view tuple type_traits utility variant version
    limits.h stdarg.h stddef.h stdint.h string.h
""".split())
# Layers that may use any header: base wraps the compiler, os the system.
SYSTEM_LAYERS = {"base", "os"}
# What malloc/ may use besides, since it implements these interfaces.
INTERFACE_HEADERS = {"errno.h", "malloc.h", "stdio.h", "stdlib.h", "cerrno", "cstdio", "cstdlib"}
# Layers that implement the public headers, and so include them.
PUBLIC_LAYERS = {"observe", "malloc"}
# Where the preprocessor may decide: the compiler's attributes, the build's configuration, the system.
CONDITIONAL_FILES = {"src/base/attributes.h", "src/base/build.h"}

INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else)\b")


def check_include(layer, quoted, angled):
    """What is wrong with an include by a file of the layer, or None."""
    if angled is not None:
        if layer in SYSTEM_LAYERS or angled in FREE_HEADERS:
            return None
        if layer == "malloc" and angled in INTERFACE_HEADERS:
            return None
        return f"<{angled}> is the system's: put what you need of it into src/os/ and include that"
    target = quoted.split("/")[0]
    if target == "arenite":
        if layer in PUBLIC_LAYERS:
            return None
        return f'"{quoted}" is a public header: only {" and ".join(sorted(PUBLIC_LAYERS))} implement those'
    if not quoted.endswith(".h") and not quoted.endswith(".inc"):
        return f'"{quoted}" is not a header: give what you need of it a header'
    if target not in LAYERS:
        return f'"{quoted}" names no layer: include by the path below src/, as in "heap/span.h"'
    if LAYERS.index(target) > LAYERS.index(layer):
        return f'"{quoted}" lies above {layer}: pass the value down, or move the code up to {target}'
    return None


def is_guard(lines, index):
    """Whether the #ifndef is the include guard of a header: the next line defines the same name."""
    name = re.match(r"\s*#\s*ifndef\s+(\w+)", lines[index])
    following = lines[index + 1] if index + 1 < len(lines) else ""
    return name is not None and re.match(rf"\s*#\s*define\s+{name.group(1)}\s*$", following) is not None


def check_file(path):
    layer = path.parts[1]
    if layer not in LAYERS:
        yield 1, f"src/{layer} is not a layer: the layers are {' '.join(LAYERS)}"
        return
    lines = path.read_text().splitlines()
    may_decide = layer == "os" or path.as_posix() in CONDITIONAL_FILES
    for index, line in enumerate(lines):
        if include := INCLUDE.match(line):
            if problem := check_include(layer, *include.groups()):
                yield index + 1, problem
        elif CONDITION.match(line) and not may_decide and not is_guard(lines, index):
            yield index + 1, "#if stands here: make it a constant of base/build.h and use `if constexpr`"


def main():
    problems = 0
    for path in sorted(pathlib.Path("src").rglob("*")):
        if path.suffix not in {".cc", ".h", ".inc"}:
            continue
        for line, problem in check_file(path):
            problems += 1
            print(f"{path}:{line}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
