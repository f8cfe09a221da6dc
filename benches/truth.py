"""What the server did, as figures to hold against what a client says."""


def distribution(samples):
    """Mean and percentiles, by linear interpolation at (n - 1) * p."""
    samples = sorted(samples)
    if not samples:
        return {}

    def at(p):
        place = (len(samples) - 1) * p
        below = int(place)
        above = min(below + 1, len(samples) - 1)
        return samples[below] + (place - below) * (samples[above] - samples[below])

    return {"n": len(samples), "mean": sum(samples) / len(samples), "p50": at(0.5), "p99": at(0.99)}


def gaps(truth, requests, window=None):
    """Gaps of these requests, ms; with a window (two times of the monotonic clock, ns) those that end in it."""
    log, ids = truth["gaps"], set(requests)
    from_at, to_at = [(ns - truth["began_ns"]) / 1e5 for ns in window] if window else (float("-inf"), float("inf"))
    return [
        log[at + 1] / 1e4 for at in range(0, len(log), 3) if log[at] in ids and from_at <= log[at + 2] < to_at
    ]


def figures(truth, requests=None, window=None):
    """Over the last `requests` streamed requests, or over all; gaps in a window where one is given."""
    rows = [row for row in truth["rows"] if row["events"]]
    rows = rows[-requests:] if requests else rows
    return {
        "requests": len(rows),
        "tokens": sum(row["tokens"] for row in rows),
        "events": sum(row["events"] for row in rows),
        "ttft": distribution([(row["first_before_ns"] - row["received_ns"]) / 1e6 for row in rows]),
        "gap": distribution(gaps(truth, [row["request"] for row in rows], window)),
        "between": distribution(
            [(row["last_before_ns"] - row["first_before_ns"]) / 1e6 / (row["tokens"] - 1) for row in rows if row["tokens"] > 1]
        ),
    }


def window_of(cell, started_ns):
    """The window of a cell on the monotonic clock. A run's clock starts a few ms behind its process, which moves no
    more than the window's edges."""
    window = cell.get("window") or {}
    if window.get("start_ns") is None:
        return None
    return started_ns + window["start_ns"], started_ns + window["end_ns"]


def off(told, true, figure):
    """What was told - what was, ms; None where either is not known."""
    told, true = (told or {}).get(figure), (true or {}).get(figure)
    return None if told is None or true is None else told - true
