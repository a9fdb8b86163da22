"""What the figures were measured on, as far as it bears on them."""

import datetime
import os
import pathlib
import platform
import re

from . import project


def _first_line(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


def _processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _huge_pages():
    match = re.search(r"\[(\w+)\]", _first_line("/sys/kernel/mm/transparent_hugepage/enabled"))
    return match.group(1) if match else "unknown"


def describe():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": datetime.date.today().isoformat(),
        "commit": project.output_of("git", "describe", "--always", "--dirty", "--abbrev=10"),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1),
        "kernel": platform.release().partition("-")[0],
        "overcommit_mode": _first_line("/proc/sys/vm/overcommit_memory"),
        "huge_pages": _huge_pages(),
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def text_of(machine, allocators, rounds):
    versions = ", ".join(f"{allocator.name} {allocator.version}" for allocator in allocators)
    repeats = "one round" if rounds == 1 else f"medians of {rounds} rounds"
    return (f"{machine['date']}, {repeats}; {machine['processors']} x {machine['processor']}, {machine['memory_gib']} GiB, "
            f"Linux {machine['kernel']}, overcommit mode {machine['overcommit_mode']}, transparent huge pages "
            f"{machine['huge_pages']}, load {machine['load_at_start']} at the start\n\n{versions}\n")
