// Everything on the page of a run can be read without this script. It adds a drawer for cells, keys for the matrix,
// sorting, and limits that can be changed. It asks for nothing outside of the page.
(() => {
  "use strict";

  // The drawer of a cell.

  const drawer = find("drawer");
  const body = drawer.querySelector(".drawer-body");
  const sheets = all(".sheet");
  const homes = new Map(sheets.map((sheet) => [sheet, sheet.parentElement]));
  let shown = null;
  let origin = null;
  const address = (hash) => {
    try {
      history.replaceState(null, "", hash || location.href.split("#")[0]);
    } catch {
      // Some places do not allow it; the drawer works without.
    }
  };
  const putBack = () => {
    if (shown) homes.get(shown).append(shown);
    shown = null;
  };
  const open = (sheet) => {
    putBack();
    shown = sheet;
    body.append(sheet);
    body.scrollTop = 0;
    find("drawer-title").textContent = sheet.dataset.title;
    if (!drawer.open) {
      origin = document.activeElement;
      drawer.showModal();
    }
    find("drawer-title").focus();
    address(`#${sheet.id}`);
  };
  const step = (by) => {
    const next = sheets[sheets.indexOf(shown) + by];
    if (next) open(next);
  };
  const sheetOf = (hash) => (hash.startsWith("#cell-") ? sheets.find((sheet) => `#${sheet.id}` === hash) : undefined);
  const close = () => {
    if (!shown) return;
    const cell = find(shown.id.slice("cell-".length));
    putBack();
    drawer.close();
    address("");
    // Back to where the drawer was opened, or to the cell it was moved on to.
    if (cell && cell.matches("[role=gridcell]")) focusCell(cell);
    else if (origin && origin.isConnected) origin.focus();
  };
  drawer.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  drawer.addEventListener("close", close);
  find("drawer-close").addEventListener("click", close);
  find("drawer-before").addEventListener("click", () => step(-1));
  find("drawer-after").addEventListener("click", () => step(1));
  // A click beside a dialog is one on the dialog itself.
  drawer.addEventListener("click", (event) => { if (event.target === drawer) close(); });
  find("help").addEventListener("click", (event) => { if (event.target === find("help")) find("help").close(); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#cell-']");
    const sheet = link && sheetOf(link.getAttribute("href"));
    if (!sheet || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(sheet);
  });
  const openAddressed = () => {
    const sheet = sheetOf(location.hash);
    if (sheet && sheet !== shown) open(sheet);
  };
  addEventListener("hashchange", openAddressed);

  // The matrix as a grid: one stop for Tab, arrows within.

  const matrix = document.querySelector("table.matrix");
  const rows = matrix ? [...matrix.tBodies[0].rows].map((row) => [...row.cells].slice(1)) : [];
  const placeOf = (cell) => {
    const row = rows.findIndex((cells) => cells.includes(cell));
    return [row, rows[row].indexOf(cell)];
  };
  let current = null;
  const focusCell = (cell) => {
    if (current) current.tabIndex = -1;
    current = cell;
    cell.tabIndex = 0;
    cell.focus();
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  if (matrix && rows.length && rows[0].length) {
    matrix.setAttribute("role", "grid");
    matrix.setAttribute("aria-labelledby", "decode-title");
    for (const part of [matrix.tHead, ...matrix.tBodies]) part.setAttribute("role", "rowgroup");
    for (const row of matrix.rows) row.setAttribute("role", "row");
    for (const head of matrix.tHead.rows[0].cells) head.setAttribute("role", "columnheader");
    for (const row of matrix.tBodies[0].rows) row.cells[0].setAttribute("role", "rowheader");
    for (const cell of rows.flat()) {
      cell.setAttribute("role", "gridcell");
      cell.tabIndex = -1;
      for (const link of all("a", cell)) link.tabIndex = -1;
    }
    current = rows[0][0];
    current.tabIndex = 0;
    matrix.parentElement.removeAttribute("tabindex");
    matrix.addEventListener("keydown", (event) => {
      const cell = event.target.closest("[role=gridcell]");
      if (!cell || event.altKey || event.metaKey) return;
      const [row, column] = placeOf(cell);
      const [lastRow, lastColumn] = [rows.length - 1, rows[0].length - 1];
      const to = {
        ArrowLeft: [row, column - 1],
        ArrowRight: [row, column + 1],
        ArrowUp: [row - 1, column],
        ArrowDown: [row + 1, column],
        Home: event.ctrlKey ? [0, 0] : [row, 0],
        End: event.ctrlKey ? [lastRow, lastColumn] : [row, lastColumn],
      }[event.key];
      if (to) {
        event.preventDefault();
        const next = rows[to[0]] && rows[to[0]][to[1]];
        if (next) focusCell(next);
      } else if (event.key === "Enter" || event.key === " ") {
        const sheet = sheetOf(`#cell-${cell.id}`);
        if (!sheet || event.target !== cell) return;
        event.preventDefault();
        open(sheet);
      }
    });
    matrix.addEventListener("click", (event) => {
      const cell = event.target.closest("[role=gridcell]");
      const sheet = cell && !event.target.closest("a") && sheetOf(`#cell-${cell.id}`);
      if (!sheet || String(getSelection())) return;
      focusCell(cell);
      open(sheet);
    });
  }

  // Help.

  const help = () => { if (!document.querySelector("dialog[open]")) find("help").showModal(); };
  find("help-button").addEventListener("click", help);
  find("help-close").addEventListener("click", () => find("help").close());
  document.addEventListener("keydown", (event) => {
    if (event.key === "?" && !event.target.closest("input, textarea")) help();
  });

  // Sorting the table of all measurements: up, down, as recorded.

  const table = document.querySelector("table.all");
  if (table) {
    const recorded = [...table.tBodies[0].rows];
    const heads = [...table.tHead.rows[0].cells];
    const key = (row, column) => {
      const cell = row.cells[column];
      const text = cell.dataset.value ?? cell.textContent.trim();
      const number = Number(text.replaceAll(",", ""));
      return text === "" || text === "–" ? null : Number.isNaN(number) ? text : number;
    };
    const compare = (one, other) =>
      typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const now = { ascending: "descending", descending: null }[before];
        const order = before ? now : "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        let sorted = recorded;
        if (order) {
          head.setAttribute("aria-sort", order);
          const sign = order === "ascending" ? 1 : -1;
          sorted = recorded.toSorted((one, other) => {
            const [a, b] = [key(one, column), key(other, column)];
            // Missing comes last either way.
            if (a === null || b === null) return (a === null) - (b === null);
            return sign * compare(a, b);
          });
        }
        table.tBodies[0].append(...sorted);
      });
    });
  }

  // Limits of the users served.

  const users = find("users");
  if (users) {
    // What each cell is judged by, and the words for it, as the record's analysis has them.
    const judged = JSON.parse(find("limits").textContent);
    const update = () => {
      const least = Number(find("least-rate").value);
      const most = Number(find("most-ttft").value) * 1000;
      // What stops a cell, and whether that settles it; null for cells within the limits.
      const stop = ({ ttft_ms: ttft, rate, stopped, settled }) => {
        if (stopped !== null) return [stopped, settled];
        if (ttft === null) return ["no median TTFT", false];
        if (ttft[0] > most) return [ttft[1], true];
        if (rate === null) return ["no median rate", false];
        return rate[0] < least ? [rate[1], true] : null;
      };
      for (const entry of all("[data-context]", users)) {
        const cells = judged
          .filter((cell) => cell.context === Number(entry.dataset.context))
          .sort((one, other) => one.concurrency - other.concurrency)
          .map((cell) => [cell.concurrency, stop(cell)]);
        const best = cells.findLastIndex(([, stopped]) => stopped === null);
        const none = cells.length > 0 && cells[0][1] !== null && cells[0][1][1];
        const next = cells[best + 1];
        const lines = next ? [`at ${next[0]}:`, next[1][0]] : ["highest", "measured"];
        const below = cells.slice(0, Math.max(best, 0)).filter(([, stopped]) => stopped);
        if (below.length === 1) lines.push(`not at ${below[0][0]}: ${below[0][1][0]}`);
        if (below.length > 1) lines.push(`not at ${below.map(([at]) => at).join(", ")}`);
        entry.querySelector("b").textContent = best >= 0 ? cells[best][0] : none ? "none" : "–";
        for (const line of all("span", entry)) line.remove();
        lines.forEach((text, place) => {
          const line = document.createElement("span");
          line.textContent = text;
          if (place > 1) line.className = "but";
          entry.querySelector("dd").append(line);
        });
      }
      say("Users served updated");
    };
    find("least-rate").addEventListener("input", update);
    find("most-ttft").addEventListener("input", update);
  }

  openAddressed();
})();
