#!/usr/bin/env python3
"""Makes docs/options.md from options.inc and hardening.inc in src/policy. usage: dev/options_doc.py [--check]"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "src/policy/options.inc"
FEATURES = ROOT / "src/policy/hardening.inc"
PAGE = ROOT / "docs/options.md"

HEAD = """# Options

*Made from `src/policy/options.inc` and `hardening.inc` by `dev/options_doc.py`.*

An option is set, in order, by its default, its `MALLOC_…` variable, `GLIBC_TUNABLES`, `ARENITE_OPTIONS`, and `mallopt`; the
last one counts. `ARENITE_OPTIONS` takes every option by name:

```sh
ARENITE_OPTIONS=arena_max=4:trim_threshold=1M COMMAND
```

An entry that is not understood is named in a line on stderr and passed over. The variables are read once, at the first call,
from the environment that the process was started with; a privileged process (set-uid, set-gid, raised capabilities) reads
none. `arenite_print_options(fd)` and `dev/run --check` print what is in force.

Sizes are in bytes; in `ARENITE_OPTIONS` a K, M or G may follow (times 1024, 1024², 1024³). Numbers are decimal, `0x`
hexadecimal or `0` octal.

Setting any of `mmap_max`, `mmap_threshold`, `top_pad` and `trim_threshold` ends the following of freed mappings for good.
"""

FEATURE_ROW = re.compile(r'ARENITE_FEATURE\((\w+),\s*(\d), "(.*)"\)')
ROW = re.compile(r'ARENITE_OPTION\((.*?)"\)\n', re.S)


def rows():
    for match in ROW.finditer(TABLE.read_text()):
        fields, doc = match.group(1).rsplit('"', 1)
        name, kind, value, least, most, parameter, variable, tunable = [
            field.strip().strip('"') for field in fields.rstrip().rstrip(",").split(",")]
        yield name, kind, value, least, most, parameter, variable, tunable, doc


def shown(text):
    return text.replace("_KiB", " KiB").replace("_MiB", " MiB").replace("kHeapSize", "64 MiB").replace("kMaxArenas", "1022").replace(
        "SIZE_MAX", "2⁶⁴ - 1").replace("INT_MAX", "2³¹ - 1")


def page():
    parts = [HEAD]
    for name, kind, value, least, most, parameter, variable, tunable, doc in rows():
        also = [f"`{other}`" for other in (variable, tunable, parameter) if other not in ("", "0")]
        if kind == "Features":
            parts.append(f"\n## `{name}`\n\n{doc[0].upper()}{doc[1:]}.\n\nDefault 1. Only in `ARENITE_OPTIONS`.\n\n")
            parts.extend(f"- `{feature}`, from level {level}: {what}\n"
                         for feature, level, what in FEATURE_ROW.findall(FEATURES.read_text()))
            continue
        parts.append(f"\n## `{name}`\n\n{doc[0].upper()}{doc[1:]}.\n\n"
                     f"Default {shown(value)}; from {shown(least)} to {shown(most)}."
                     + (f" Also {', '.join(also)}.\n" if also else "\n"))
    return "".join(parts)


def main():
    made = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != made:
            sys.exit("docs/options.md is not what src/policy/options.inc and hardening.inc say: run dev/options_doc.py")
        return
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(made)


main()
