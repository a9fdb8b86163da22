"""The command line of dev/bench, and the rounds."""

import argparse
import fnmatch
import json
import pathlib
import sys
import time

from . import allocators as allocators_module
from . import machine as machine_module
from . import measure, project, tables
from .workloads import SUITES, WORKLOADS

HELP = """\
Runs the benchmark programs on each allocator in turn, round by round, and prints the medians. Each round runs a
workload on all allocators one after another, so that what the machine does besides hits all alike. What is missing
for that is built or installed."""

EXAMPLES = """\
examples: dev/bench memory                                  all of the suite, three rounds: under two hours
          dev/bench memory --quick                          short runs, to see that all works
          dev/bench memory --only 'ebizzy*' --rounds 7
          dev/bench memory --allocator glibc --allocator arenite --json build/figures.json
          dev/bench memory --allocator mine=./libmine.so    all allocators and one more
          dev/bench memory --allocator one=arenite,MALLOC_ARENA_MAX=1 --only 'larson*'
          dev/bench memory --rounds 7 --markdown bench/RESULTS.md
          dev/bench memory --list

In the tables, ↓ means that less is better, ↑ that more is; spread is the widest distance between the rounds of one
allocator, in per cent of its median. Variables that set an allocator (MALLOC_…, ARENITE_OPTIONS and others) are taken
out of the environment; --allocator NAME=PATH,VARIABLE=VALUE sets them.

exit status: 0, also if arenite is worse; 1 a run failed; 2 the command was wrong, or something could not be built"""


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1")
    return value


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="dev/bench", description=HELP, epilog=EXAMPLES, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", metavar="SUITE", help=f"which workloads: {', '.join(SUITES)}")
    parser.add_argument("--only", metavar="PATTERN", action="append", default=[],
                        help="only workloads of this name, * and ? allowed; may be repeated")
    parser.add_argument("--allocator", metavar="NAME[=PATH[,VARIABLE=VALUE]…]", action="append", default=[],
                        help="NAME: only this allocator; NAME=PATH: one more, where PATH is a library with a / in it, "
                        "or the name of another allocator; may be repeated")
    parser.add_argument("--rounds", metavar="K", type=_positive, help="how often (3; with --quick 1)")
    parser.add_argument("--quick", action="store_true", help="short runs: the figures show little")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write all figures of all runs there")
    parser.add_argument("--markdown", metavar="FILE", type=pathlib.Path, help="write the tables there, in a page with the suite's marks between them")
    parser.add_argument("--list", action="store_true", help="print the workloads and end")
    return parser.parse_args(arguments)


def _workloads(suite, patterns):
    if suite not in SUITES:
        raise project.Failure(f"no suite is called {suite}; there is {', '.join(SUITES)}")
    of_suite = [workload for workload in WORKLOADS if workload.suite == suite]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(workload.name, pattern) for workload in of_suite):
            names = ", ".join(workload.name for workload in of_suite)
            raise project.Failure(f"no workload of {suite} is called {pattern}; there are {names}")
    return [workload for workload in of_suite
            if not patterns or any(fnmatch.fnmatchcase(workload.name, pattern) for pattern in patterns)]


class Rounds:
    """All runs of a command: does them, keeps their figures, says on stderr how far it is."""

    def __init__(self, workloads, allocators, count, quick):
        self.quick = quick
        self.results = {}
        self.failures = []
        self._times = {}
        self._runs = [(number, workload, allocator) for number in range(1, count + 1) for workload in workloads
                      if number == 1 or not workload.once for allocator in allocators]
        self.count = count

    def run_all(self):
        for index, (number, workload, allocator) in enumerate(self._runs):
            left = sum(self._expected(run[1], run[2]) for run in self._runs[index:])
            print(f"[{index + 1}/{len(self._runs)}] round {number}/{self.count}, {_minutes(left)} left: "
                  f"{workload.name} on {allocator.name} … ", end="", file=sys.stderr, flush=True)
            start = time.monotonic()
            try:
                self._run(workload, allocator)
                print(f"{time.monotonic() - start:.1f} s", file=sys.stderr)
            except measure.RunFailed as failure:
                print(f"failed: {failure}", file=sys.stderr)
                self.failures.append({"workload": workload.name, "allocator": allocator.name, "why": str(failure)})
            self._times[workload.name, allocator.name] = time.monotonic() - start

    def _run(self, workload, allocator):
        arguments = (workload.quick_arguments if self.quick else workload.arguments).split()
        timeout = 60 + 10 * self._estimate(workload)
        figures = measure.run_program(workload.program, arguments, allocator, timeout, workload.traced)
        self.results.setdefault((workload.name, allocator.name), []).append(figures)

    def _estimate(self, workload):
        return workload.quick_seconds if self.quick else workload.seconds

    def _expected(self, workload, allocator):
        return self._times.get((workload.name, allocator.name), self._estimate(workload))


def _minutes(seconds):
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _as_json(machine, workloads, allocators, rounds):
    return {
        "machine": machine,
        "quick": rounds.quick,
        "allocators": [{"name": allocator.name, "version": allocator.version, "variables": allocator.variables}
                       for allocator in allocators],
        "workloads": [{"name": workload.name, "program": workload.program,
                       "arguments": workload.quick_arguments if rounds.quick else workload.arguments,
                       "runs": {allocator.name: rounds.results.get((workload.name, allocator.name), [])
                                for allocator in allocators}} for workload in workloads],
        "failures": rounds.failures,
    }


def _write(options, machine, workloads, allocators, rounds):
    print(machine_module.text_of(machine, allocators, rounds.count))
    for workload in workloads:
        print(tables.terminal(workload, allocators, rounds.results, options.quick))
    for failure in rounds.failures:
        print(f"failed: {failure['workload']} on {failure['allocator']}: {failure['why']}")
    if options.json:
        figures = _as_json(machine, workloads, allocators, rounds)
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        texts = [tables.markdown(workload, allocators, rounds.results, options.quick) for workload in workloads]
        page = options.markdown.read_text(encoding="utf-8") if options.markdown.is_file() else ""
        text = "\n".join([machine_module.text_of(machine, allocators, rounds.count), *texts])
        options.markdown.write_text(tables.put_into(page, options.suite, text), encoding="utf-8")


def _prepare(workloads, allocators):
    for workload in workloads:
        if workload.traced:
            project.need("strace", "strace")
            break
    project.build("bench", "bench_programs")
    for allocator in allocators:
        print(f"preparing {allocator.name}", file=sys.stderr)
        try:
            allocators_module.prepare(allocator)
        except measure.RunFailed as failure:
            raise project.Failure(f"{allocator.name}: a program does not run on it: {failure}") from None


def _run(options):
    workloads = _workloads(options.suite, options.only)
    if options.list:
        for workload in workloads:
            print(f"{workload.name:18} {workload.about}")
        return 0
    for path in (options.json, options.markdown):
        if path and not path.parent.is_dir():
            raise project.Failure(f"{path}: there is no such folder")
    allocators = allocators_module.chosen(options.allocator)
    _prepare(workloads, allocators)
    machine = machine_module.describe()
    rounds = Rounds(workloads, allocators, options.rounds or (1 if options.quick else 3), options.quick)
    status = 0
    try:
        rounds.run_all()
    except KeyboardInterrupt:
        print("\ninterrupted: these are the figures so far", file=sys.stderr)
        status = 130
    _write(options, machine, workloads, allocators, rounds)
    return status or (1 if rounds.failures else 0)


def main(arguments):
    try:
        return _run(_parse(arguments))
    except project.Failure as failure:
        print(f"dev/bench: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
