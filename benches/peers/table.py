"""The figures as lines and as Markdown tables."""

import tools
import truth as truths

DASH = "–"


def number(value, digits=1):
    return DASH if value is None else f"{value:,.{digits}f}"


def error_cell(row, quantity):
    """`+0.1 / +0.4` for median and p99; the mean where a tool tells no more."""
    told, true = ((row.get(side) or {}).get(quantity) for side in ("told", "true"))
    both = [truths.off(told, true, figure) for figure in ("p50", "p99")]
    if all(one is None for one in both):
        mean = truths.off(told, true, "mean")
        return DASH if mean is None else f"{mean:+,.2f} (mean)"
    return " / ".join(DASH if one is None else f"{one:+,.2f}" for one in both)


def per_event(row):
    return (row.get("window") or {}).get("client_us_per_event")


def spread(row, seconds):
    """CPU of a run, or of a part of it, per event that the server sent; µs."""
    events = (row.get("server") or {}).get("events")
    return 1e6 * row[seconds] / events if events and row.get(seconds) else None


def ratio(value, base, least=False):
    return ("≥ " if least and value and base else "") + number(value / base if value and base else None, 2)


def saturated(row):
    """True if the tool fell behind: it used its whole core, or left more in its sockets than some events of each stream.
    Then the window shows less than an event costs it."""
    window = row.get("window") or {}
    unread = window.get("unread_bytes", 0) / max(1, row.get("streams", 1))
    return (window.get("client_core_share") or 0) > 0.97 or unread > 2000


def counted(row):
    told, true = (row.get("told") or {}).get("tokens"), (row.get("true") or {}).get("tokens")
    return DASH if told is None or not true else f"{told / true:.4f}"


def in_order(rows):
    """As the tools stand in the list of all, whichever ran first."""
    names = [tool.name for tool in tools.ALL]
    return sorted(rows, key=lambda row: names.index(row["tool"]))


def line(row):
    """One line on the terminal while it runs."""
    if row.get("failed"):
        return f"{row['tool']}{' ' + row['fault'] if row.get('fault') else ''}: {row['failed']}"
    if row.get("fault"):
        return f"{row['tool']}, {row['fault']}: {said(row)}"
    return (
        f"{row['tool']}: TTFT error {error_cell(row, 'ttft')} ms, gap error {error_cell(row, 'gap')} ms, tokens ÷ true "
        f"{counted(row)}, {number(per_event(row))} µs per event, {number(row['peak_mib'], 0)} MiB, first request after "
        f"{number(row['first_request_s'], 2)} s"
    )


def said(row):
    told = row.get("told") or {}
    words = [f"{told.get('completed')} ended, {told.get('failed')} failed"] if told.get("completed") is not None else []
    if told.get("verdict"):
        words.append(told["verdict"])
    if row.get("exit"):
        words.append(f"exit code {row['exit']}")
    return "; ".join(words) or "nothing"


def markdown(results):
    load, floor = results["load"], results.get("floor") or {}
    low = floor.get("client_us_per_event")
    own = next((row for row in results["rows"] if row["tool"] == "tokometer"), {})
    lines = [
        f"{load['streams']} streams × {load['rate']:g} events/s, {load['tokens']} tokens a request; {results['machine']}, "
        f"{results['date']}.",
        "",
        "| tool | TTFT error, median / p99, ms | gap error, median / p99, ms | time between tokens error, median / p99, ms "
        "| tokens told ÷ sent | events/s in the window | its core, busy | CPU per event in the window ÷ floor | ÷ ours "
        "| from its first request to its end ÷ ours | whole run ÷ ours | whole run: CPU, s "
        "| peak memory, MiB | start to first connection / stream, s |",
        "|" + "---|" * 14,
    ]
    for row in in_order(results["rows"]):
        name = f"{row['tool']} {row.get('version', '')}".strip()
        if not row.get("told"):
            lines.append(f"| {name} | {row.get('failed', 'no result')} |" + " |" * 12)
            continue
        cost, window = per_event(row), row.get("window") or {}
        lines.append(
            f"| {name} | {error_cell(row, 'ttft')} | {error_cell(row, 'gap')} | {error_cell(row, 'between')} | {counted(row)} "
            f"| {number(window.get('events_per_s'), 0)} "
            f"| {number(100 * window['client_core_share'], 0) + ' %' if window else DASH} "
            f"| {ratio(cost, low, saturated(row))} | {ratio(cost, per_event(own), saturated(row))} "
            f"| {ratio(spread(row, 'load_cpu_s'), spread(own, 'load_cpu_s'))} "
            f"| {ratio(spread(row, 'cpu_s'), spread(own, 'cpu_s'))} | {number(row['cpu_s'])} "
            f"| {number(row['peak_mib'], 0)} | {number(row['first_connection_s'], 3)} / {number(row['first_request_s'], 2)} |"
        )
    for name, why in tools.ABSENT.items():
        lines.append(f"| {name} | {why} |" + " |" * 12)
    truth = next((row["true"] for row in results["rows"] if row.get("true")), None)
    if truth:
        lines += ["", f"Floor: {number(low, 2)} µs per event. Notes:", ""]
        lines += [f"- {row['tool']}: {row['note']}" for row in in_order(results["rows"]) if row.get("note")]
    return "\n".join(lines) + "\n"


def faults(results):
    kinds = list(dict.fromkeys(row["fault"] for row in results["rows"] if row.get("fault")))
    lines = ["| tool | " + " | ".join(kinds) + " |", "|---|" + "---|" * len(kinds)]
    for tool in dict.fromkeys(row["tool"] for row in in_order(results["rows"])):
        cells = []
        for kind in kinds:
            row = next((r for r in results["rows"] if r["tool"] == tool and r.get("fault") == kind), None)
            text = DASH if row is None else row["failed"] if row.get("failed") else said(row)
            cells.append(text.replace("|", "/").replace("\n", " "))
        lines.append(f"| {tool} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
