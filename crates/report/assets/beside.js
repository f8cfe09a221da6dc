// Another report beside this one: a file that is dropped on the page, or chosen. It is read here and sent nowhere, and
// its text is only ever text. Figures are shown as the two records have them; ratios with intervals need the record's
// analysis, which a command makes.
(() => {
  "use strict";

  const dialog = find("beside");
  if (!dialog || !find("run")) return;
  const result = find("beside-result");
  const MOST_BYTES = 256 * 1024 * 1024;

  // Small things.

  const node = (name, text = "", className = "") => {
    const made = document.createElement(name);
    if (text !== "") made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const row = (cells, heads) => {
    const made = node("tr");
    cells.forEach((text, place) => {
      const cell = node(heads === "all" || place === 0 ? "th" : "td");
      if (cell.nodeName === "TH") cell.scope = heads === "all" ? "col" : "row";
      const isolated = node("bdi", text);
      cell.append(isolated);
      made.append(cell);
    });
    return made;
  };
  // Characters that would hide in a line or turn it around are spelled out, as everywhere on the page.
  const clean = (value) => {
    const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
    const shown = text.length > 400 ? `${text.slice(0, 400).trimEnd()}…` : text;
    return shown.replace(
      /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
      (letter) => (/\s/.test(letter) ? " " : `\\u{${letter.codePointAt(0).toString(16)}}`),
    );
  };
  // Numbers as the page writes them: never more digits than the record has.
  const fixed = (value, most, least = 0) => {
    const has = (String(value).split(".")[1] ?? "").length;
    const places = Math.max(Math.min(has, most), least);
    const scaled = value * 10 ** places;
    // Halves go to the even neighbour, as the page's own do; toFixed takes them up.
    const half = Number.isInteger(value * 2 ** (places + 1)) && Math.abs(scaled % 1) === 0.5;
    const rounded = half ? (2 * Math.round(scaled / 2)) / 10 ** places : value;
    return rounded.toFixed(places).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",");
  };
  const digits = (value) => (value >= 10 || value === 0 ? 1 : value >= 1 ? 2 : value >= 0.1 ? 3 : 4);
  const rate = (value) => (value >= 1000 ? fixed(value, 0) : fixed(value, digits(value), 1));
  const finer = (value) => (value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3);
  const ms = (value) => fixed(value, finer(value));
  const gap = (value) => fixed(value, finer(value), Math.min(finer(value), 1));
  const tokens = (count) => (count % 1024 === 0 ? `${count / 1024}K` : String(count));

  // What is shown.

  const QUANTITIES = [
    ["Total", "tok/s", (cell) => cell.throughput?.total, rate],
    ["Per request", "tok/s, median", (cell) => cell.per_request_rate?.p50, rate],
    ["TTFT", "ms, median", (cell) => cell.ttft_ms?.p50, ms],
    ["Time between tokens", "ms, median", (cell) => cell.time_between_tokens_ms?.p50, gap],
    ["Energy", "J per token", (cell) => cell.telemetry?.joules_per_token, (value) => fixed(value, digits(value), 1)],
    ["Prefill", "tok/s", (cell) => cell.prefill_rate, rate],
  ];
  const accelerators = (run) =>
    clean((run.hardware?.accelerators ?? []).map((one) => `${one.count} × ${one.name}`).join(", "));
  const SETTINGS = [
    ["Model", (run) => run.model?.id ?? run.model?.served_name],
    ["Precision", (run) => run.model?.quantization],
    ["Accelerators", (run) => accelerators(run)],
    ["Engine", (run) => [run.engine?.name, run.engine?.version, run.engine?.commit].filter(Boolean).join(" ")],
    ["Parallelism", (run) => run.engine?.parallelism],
    ["Speculative decoding", (run) => run.engine?.speculative],
    ["Prefix caching", (run) => run.engine?.prefix_caching],
    ["KV cache, tokens", (run) => run.capacity?.kv_tokens],
    ["Output asked, tokens", (run) => run.settings?.max_output_tokens],
    ["Time for each measurement, s", (run) => run.settings?.duration_seconds],
    ["Prompts", (run) => run.settings?.prompts],
    ["Method", (run) => `${run.method?.name} ${run.method?.version}`],
    ["Simulated", (run) => run.simulated],
  ];
  // A launch command as its flags with their values; the program is the first.
  const flags = (run) => (typeof run.launch_command === "string" ? run.launch_command.trim().split(/\s+(?=-{1,2}[A-Za-z])/) : []);
  const only = (mine, other) => {
    if (typeof mine.launch_command !== "string") return "not told";
    const others = new Set(flags(other));
    return flags(mine).filter((flag) => !others.has(flag)).map(clean).join(" ") || "nothing of its own";
  };
  const titleOf = (run) => {
    const title = clean(run.title ?? run.model?.id ?? run.model?.served_name ?? "unknown model");
    return run.simulated ? `SIMULATED · ${title}` : title;
  };
  const said = (value) => (value === null || value === undefined || value === "" ? "not told" : clean(value));
  const key = (cell) => [cell.phase, cell.context_nominal, cell.concurrency].join();

  const table = (name, head, rows) => {
    const box = node("div", "", "scroll");
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", name);
    box.tabIndex = 0;
    const made = node("table", "", "plain wrap");
    made.append(node("thead"), node("tbody"));
    made.tHead.append(row(head, "all"));
    made.tBodies[0].append(...rows.map((cells) => row(cells)));
    box.append(made);
    return box;
  };

  const show = (mine, other, file) => {
    const page = decodeURIComponent(location.pathname.split("/").pop() || "report.html");
    const differing = SETTINGS
      .map(([name, get]) => [name, said(get(mine)), said(get(other))])
      .filter(([, one, two]) => one !== two);
    if ((mine.launch_command ?? null) !== (other.launch_command ?? null)) {
      differing.push(["Launch command, what only one has", only(mine, other), only(other, mine)]);
    }
    const parts = [node("h3", "What differs in what the records tell")];
    parts.push(
      differing.length
        ? table("What differs", ["Setting", "This page", "The other"], differing)
        : node("p", "None of the settings that are looked at here.", "aside"),
    );
    const others = new Map((other.cells ?? []).map((cell) => [key(cell), cell]));
    for (const [name, unit, get, text] of QUANTITIES) {
      const figure = (cell) => {
        if (!cell) return "not in the record";
        if (cell.status !== "valid") return said(cell.status).replaceAll("_", " ");
        const value = get(cell);
        return typeof value === "number" && Number.isFinite(value) ? text(value) : "–";
      };
      const phase = name === "Prefill" ? "prefill" : "decode";
      const rows = mine.cells
        .filter((cell) => cell.phase === phase && (get(cell) ?? get(others.get(key(cell)) ?? {})) !== undefined)
        .filter((cell) => get(cell) !== null || (get(others.get(key(cell)) ?? {}) ?? null) !== null)
        .map((cell) => [
          phase === "prefill" ? tokens(cell.context_nominal) : `${tokens(cell.context_nominal)} × ${cell.concurrency}`,
          figure(cell),
          figure(others.get(key(cell))),
        ]);
      if (!rows.length) continue;
      const part = node("details", "", "behind");
      part.open = name === "Total";
      const summary = node("summary", `${name} `);
      summary.append(node("span", unit, "aside"));
      part.append(summary, table(name, [phase === "prefill" ? "Context" : "Cell", "This page", "The other"], rows));
      parts.push(part);
    }
    const quoted = (name) => (/^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
    const command = node("pre", "", "foreign");
    command.append(node("code", `tokometer compare ${quoted(clean(page))} ${quoted(clean(file))} --html comparison.html`));
    parts.push(
      node("h3", "Ratios with intervals"),
      node("p", "These are the figures of both records as they are. Whether they differ beyond chance, cell by cell, this command tells:", "aside"),
      command,
    );
    const names = node("p", "", "lead");
    const label = (run) => [titleOf(run), accelerators(run)].filter(Boolean).join(", ");
    names.append("This page: ", node("bdi", label(mine)), ". The other: ", node("bdi", label(other)), ".");
    result.replaceChildren(names, ...parts);
    say("The other report is shown beside this one");
  };

  const fail = (why) => {
    const line = node("p", why, "because");
    line.setAttribute("role", "alert");
    result.replaceChildren(line);
  };

  /** The run document of a report's page, or of a bare record. */
  const documentOf = (text) => {
    const start = '<script type="application/json" id="run">';
    const at = text.indexOf(start);
    if (at < 0) return JSON.parse(text);
    return JSON.parse(text.slice(at + start.length, text.indexOf("</" + "script>", at)));
  };
  const read = async (file) => {
    open();
    if (file.size > MOST_BYTES) return fail(`${clean(file.name)} is too large for a report.`);
    try {
      const other = documentOf(await file.text());
      if (!String(other.schema).startsWith("tokometer.run/1") || !Array.isArray(other.cells)) throw new Error("no run");
      show(JSON.parse(find("run").textContent), other, file.name);
    } catch {
      fail(`${clean(file.name)} is no report and no record of tokometer. Give a report.html or a run.json.`);
    }
    return undefined;
  };

  // Opening.

  function open() {
    if (!dialog.open && !document.querySelector("dialog[open]")) dialog.showModal();
    find("beside-title").focus();
  }
  find("beside-button").addEventListener("click", open);
  find("beside-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  find("beside-file").addEventListener("change", (event) => {
    const [file] = event.target.files;
    if (file) read(file);
    event.target.value = "";
  });
  document.addEventListener("keydown", (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "c" && plain && !event.target.closest("input, textarea")) open();
  });
  const brings = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    document.documentElement.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.documentElement.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    document.documentElement.classList.remove("dropping");
    if (!brings(event)) return;
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) read(file);
  });
})();
