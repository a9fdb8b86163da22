"""One run of one program on one allocator."""

import json
import os
import re
import signal
import subprocess
import tempfile

from . import project

# Settings of allocators in the caller's environment would go into the figures without a word.
SETTINGS = re.compile(r"LD_PRELOAD$|MALLOC_|GLIBC_TUNABLES$|ARENITE_|MIMALLOC_|_RJEM_|TCMALLOC_")
# What gives memory back; madvise has other uses too.
RELEASE = re.compile(
    r"\d+ +(madvise)\(.*MADV_(?:DONTNEED|FREE|REMOVE|COLD|PAGEOUT)|\d+ +(munmap|mremap)\(|\d+ +(mmap)\(.*MAP_FIXED\b")


class RunFailed(Exception):
    """The run gave no figures; the text says why."""


def _environment(allocator):
    environment = {name: value for name, value in os.environ.items() if not SETTINGS.match(name)}
    environment.update(allocator.variables)
    if allocator.library:
        environment["LD_PRELOAD"] = allocator.library
    return environment


def _finish(command, environment, timeout):
    """The command in a process group of its own, so that all of it ends when it has to."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise RunFailed(f"not done after {timeout:.0f} seconds") from None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        how = f"signal {-process.returncode}" if process.returncode < 0 else f"exit status {process.returncode}"
        raise RunFailed(" ".join([how, *errors.strip().splitlines()[-1:]]))
    return output


def _release_calls(trace):
    """Counts, by kind, the calls between the program's two marks, of whatever thread."""
    counts = {"madvise": 0, "munmap": 0, "mremap": 0, "mmap": 0}
    counting = ended = False
    for line in trace:
        if '"loop begins"' in line:
            counting = True
        elif '"loop ends"' in line:
            counting, ended = False, True
        elif counting and (match := RELEASE.match(line)):
            counts[match.group(match.lastindex)] += 1
    if not ended:
        raise RunFailed("strace shows no end of the loop")
    return counts


def _traced(command, environment, timeout):
    # strace itself stays on the system's malloc.
    preload = environment.pop("LD_PRELOAD", "")
    with tempfile.NamedTemporaryFile("r", prefix="bench-trace-") as trace:
        strace = ["strace", "-f", "-qq", "-o", trace.name, "-e", "trace=madvise,munmap,mremap,mmap,write"]
        if preload:
            strace += ["-E", f"LD_PRELOAD={preload}"]
        output = _finish(strace + command, environment, timeout)
        counts = _release_calls(trace)
    return output, {"release_calls": sum(counts.values()), "release_calls_by_kind": counts}


def run_program(program, arguments, allocator, timeout, traced=False):
    """Gives the figures that the program prints."""
    command = [str(project.PROGRAMS / program), *arguments]
    environment = _environment(allocator)
    counted = {}
    if traced:
        output, counted = _traced(command, environment, timeout)
    else:
        output = _finish(command, environment, timeout)
    try:
        return {**json.loads(output), **counted}
    except ValueError:
        raise RunFailed(f"did not print a line of JSON but {output[:80]!r}") from None
