"""Medians, and the tables that show them: one for each workload, a column for each allocator."""

import statistics


def values_of(runs, figure):
    values = [run.get(figure.key) for run in runs]
    return [value for value in values if value is not None]


def _text(value, figure):
    return f"{value / figure.divisor:,.{figure.digits}f}"


def _spread(values):
    """How far the rounds are apart, in per cent of their median."""
    middle = statistics.median(values)
    return 100 * (max(values) - min(values)) / abs(middle) if middle else 0.0


def _row(figure, results):
    cells, spreads = [], []
    for runs in results:
        values = values_of(runs, figure)
        cells.append(_text(statistics.median(values), figure) if values else "-")
        if len(values) > 1:
            spreads.append(_spread(values))
    label = figure.label + {"less": " ↓", "more": " ↑"}.get(figure.better, "")
    return [label, *cells, f"{max(spreads):.0f} %" if spreads else "-"]


def rows_of(workload, allocators, results):
    """`results` gives the runs by workload's and allocator's name. The first row is the head."""
    of_allocators = [results.get((workload.name, allocator.name), []) for allocator in allocators]
    head = ["", *(allocator.name for allocator in allocators), "spread"]
    rows = [head, *(_row(figure, of_allocators) for figure in workload.figures)]
    repeated = any(len(runs) > 1 for runs in of_allocators)
    return rows if repeated else [row[:-1] for row in rows]


def _command_of(workload, quick):
    return f"{workload.program} {workload.quick_arguments if quick else workload.arguments}"


def _columns(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield row[0].ljust(widths[0]), [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]


def terminal(workload, allocators, results, quick):
    lines = [f"{workload.name}: {workload.about} ({_command_of(workload, quick)})"]
    lines += ["  " + "  ".join([label, *cells]) for label, cells in _columns(rows_of(workload, allocators, results))]
    return "\n".join(lines) + "\n"


def markdown(workload, allocators, results, quick):
    rows = [f"| {label} | {' | '.join(cells)} |" for label, cells in
            _columns(rows_of(workload, allocators, results))]
    text = f"{workload.about[0].upper()}{workload.about[1:]} (`{_command_of(workload, quick)}`)"
    rule = "|---" + "|--:" * (rows[0].count("|") - 2) + "|"
    return "\n".join([f"### {workload.name}", "", f"{text}.", "", rows[0], rule, *rows[1:]]) + "\n"


def put_into(page, suite, text):
    """The text in place of what stands between the suite's marks in the page; alone in a page without marks."""
    begin, end = f"<!-- {suite}: begin -->\n", f"<!-- {suite}: end -->\n"
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    return f"{before}{begin}\n{text}\n{end}{after}" if found and found_end else text
