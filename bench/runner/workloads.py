"""The tables of what is measured: the figures, and the workloads. A new workload is a row here, and perhaps a program.

What each program does, which arguments it has and which figures it prints stands at the head of its source file in
bench/programs/.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    key: str  # in the line of JSON that the program prints
    label: str
    better: str = "less"  # or "more"; "" where neither is
    divisor: float = 1
    digits: int = 0


def kib(key, label, better="less"):
    return Figure(key, f"{label}, MiB", better, 1024, 1)


SECONDS = Figure("seconds", "time, s", digits=2)
USER = Figure("user", "user time, s", digits=2)
SYSTEM = Figure("system", "system time, s", digits=2)
FAULTS = Figure("minor_faults", "page faults")
PEAK = kib("peak_kib", "peak resident")
RELEASES = Figure("release_calls", "release calls")
OPERATIONS = Figure("operations_per_second", "operations/s, millions", "more", 1e6, 2)

LOOPS = (RELEASES, FAULTS, PEAK)
EBIZZY = (
    Figure("records_per_second", "records/s", "more"),
    USER,
    SYSTEM,
    Figure("system_share", "system time, % of user time", digits=2),
    FAULTS,
    PEAK,
)
THREADS = (
    Figure("sequence_seconds", "one after another: time, s", digits=2),
    Figure("sequence_arenas", "one after another: arenas"),
    kib("sequence_peak_kib", "one after another: peak resident"),
    Figure("together_seconds", "at once: time, s", digits=2),
    Figure("together_arenas", "at once: arenas"),
    kib("together_peak_kib", "at once: peak resident"),
    kib("ended_kib", "all ended: resident"),
    kib("idle_kib", "after idle time: resident"),
    kib("idle_growth_kib", "after idle time: resident over the start"),
)
OVER_TIME = (
    kib("built_kib", "all built: resident"),
    kib("live_kib", "after frees: live", ""),
    kib("floor_kib", "after frees: pages with a live block"),
    kib("resident_kib", "after frees: resident"),
    kib("lazy_kib", "of this, lazily freed", ""),
    Figure("resident_to_live", "after frees: resident / live", digits=2),
    kib("freed_kib", "all freed: resident over the start, at once"),
    kib("idle_kib", "all freed: resident over the start, idle"),
    SECONDS,
)
ALL_FREED = (OVER_TIME[0], *OVER_TIME[-3:])
QUEUES = (
    kib("early_median_kib", "resident early, median"),
    kib("late_min_kib", "resident in the second half, least"),
    kib("late_median_kib", "resident in the second half, median"),
    kib("late_max_kib", "resident in the second half, most"),
    Figure("late_to_early_percent", "second half / early, %", digits=1),
    Figure("items_per_second", "items/s, millions", "more", 1e6, 2),
)
MAPPINGS = (
    Figure("start_lines", "mappings at the start", ""),
    Figure("most_lines", "mappings, most"),
    Figure("end_lines", "mappings in the end"),
    SECONDS,
    PEAK,
)
FORK = (
    Figure("fork_us", "fork, µs"),
    Figure("first_us", "first malloc in the child, µs", digits=1),
    Figure("second_us", "second malloc in the child, µs", digits=2),
    PEAK,
)
PATTERN = (SECONDS, OPERATIONS, USER, SYSTEM, PEAK)


@dataclass(frozen=True)
class Workload:
    suite: str
    name: str
    program: str
    arguments: str
    quick_arguments: str  # a short run: shows that all works, and little more
    about: str
    figures: tuple
    seconds: float  # how long a run takes, roughly, until one has been measured
    quick_seconds: float = 1
    traced: bool = False  # strace counts the calls that give memory back
    once: bool = False  # too long to be repeated: runs in the first round only


def memory(*row, **more):
    return Workload("memory", *row, **more)


def fork(*row, **more):
    return Workload("fork", *row, **more)


WORKLOADS = (
    memory("loop_same", "release_loops", "same", "same",
           "a second thread: 1024 x 192 KiB allocated, touched, freed", LOOPS, 1, traced=True),
    memory("loop_mixed", "release_loops", "mixed", "mixed",
           "a second thread: blocks of 0 to 57 pages, half freed at once, the rest at the end", LOOPS, 1, traced=True),
    *(memory(f"ebizzy_{threads}", "ebizzy", f"threads={threads} seconds=10", f"threads={threads} seconds=1",
             f"a server of {threads} thread(s) that copies, searches and frees tables", EBIZZY, 10)
      for threads in (1, 2, 4, 8)),
    memory("large_arrays", "large_arrays", "phases=20", "phases=3",
           "expressions on arrays of 0.5 to 32 MiB", (FAULTS, SECONDS, USER, SYSTEM, PEAK), 6),
    memory("threads", "threads", "sequence=10000 together=500 idle=10", "sequence=500 together=50 idle=1",
           "threads one after another, then at once, each with 1 MiB in mixed sizes", THREADS, 20, 2),
    memory("over_time", "over_time", "mib=1024 percent=90 idle=15", "mib=128 percent=90 idle=2",
           "built from blocks up to 16 KiB, 90 % freed at random, idle, the rest freed, idle", OVER_TIME, 33, 5),
    memory("over_time_medium", "over_time", "mib=1024 percent=90 idle=15 largest=131072",
           "mib=128 percent=90 idle=2 largest=131072",
           "the same, of blocks up to 128 KiB", OVER_TIME, 33, 5),
    memory("all_freed", "over_time", "mib=512 percent=100 idle=15", "mib=64 percent=100 idle=2",
           "built from blocks up to 16 KiB, all freed at random, idle", ALL_FREED, 32, 5),
    memory("queues", "queues", "seconds=600", "seconds=5",
           "messages from thread to thread for ten minutes", QUEUES, 600, 5, once=True),
    memory("mappings", "mappings", "allocations=1000000", "allocations=20000",
           "a million blocks of 64 KiB to 8 MiB, malloc_trim after each thousand", MAPPINGS, 10),
    *(memory(f"larson_{threads}", "larson", f"threads={threads}", f"threads={threads} operations=1000000",
             f"a server whose objects outlive their threads, {threads} at once", PATTERN, 3)
      for threads in (2, 16)),
    *(memory(f"mstress_{threads}", "mstress", f"threads={threads}", f"threads={threads} operations=1000000",
             f"all sizes and lifetimes, blocks exchanged by {threads} threads", PATTERN, 3)
      for threads in (2, 16)),
    fork("fork_4gib", "fork", "threads=64 mib=4096 forks=50", "threads=64 mib=256 forks=10",
         "forks of a process with 4 GiB in the arenas of 64 threads", FORK, 8, 1),
    fork("fork_small", "fork", "threads=1 mib=16 forks=1000", "threads=1 mib=16 forks=50",
         "forks of a process with 16 MiB and one thread more", FORK, 1),
)

SUITES = tuple(dict.fromkeys(workload.suite for workload in WORKLOADS))
