"use strict";
// Keeps what the server sends, and shows it. A message has the bins that have changed since the last one.

(() => {
  const byId = id => document.getElementById(id);
  const { Chart, axes, band, colour } = Charts;
  const MOST_PAUSE_MS = 10_000, STALE_MS = 4000;
  let values = new Float64Array(0), blocks = [], charts = [], scopes = {}, fit = {}, status = null;
  let lastMessage = 0, pause = 500, updates = 0;

  // ---- messages

  function take(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const numbers = (at, count) => head.kind === "f8" ? new Float64Array(buffer, at, count)
      : new Uint32Array(buffer, at, count);
    let at = 4 + length;
    if (head.layout) lay(head.layout);
    if (head.whole) {
      values.set(numbers(at, head.count));
      for (const block of blocks) block.chart?.changed();
    } else {
      const places = new Uint32Array(buffer, at, head.count);
      at += places.byteLength;
      if (head.kind === "f8") at += (8 - at % 8) % 8;
      const news = numbers(at, head.count);
      let block = 0, last = -1;
      for (let i = 0; i < places.length; i++) {
        values[places[i]] = news[i];
        while (places[i] >= blocks[block].at + blocks[block].length) block++;
        if (block !== last) { blocks[block].chart?.changed(); last = block; }
      }
    }
    if (head.status) showStatus(head.status);
    if (head.scopes) showScopes(head.scopes);
    if (head.fit) showFit(head.fit);
    if (head.proposal) Proposal.show(head.proposal);
    if (head.applied) Proposal.answered(head.applied);
    if (head.read_only != null) Proposal.allow(head.read_only);
    for (const [name, part] of Object.entries(head)) if (name.startsWith("stream:")) showStream(name.slice(7), part);
    lastMessage = performance.now();
    updates++;
    document.documentElement.dataset.updates = updates;
    connected();
  }

  function lay(layout) {
    for (const chart of charts) chart.remove();
    charts = [];
    byId("energies").replaceChildren();
    byId("pairs").replaceChildren();
    let at = 0;
    blocks = layout.map(each => { const block = { ...each, at }; at += each.length; return block; });
    values = new Float64Array(at);
    for (const block of blocks) {
      const name = block.of === "pair" ? `${block.start} → ${block.stop}` : block.table;
      const card = document.createElement("div"), title = document.createElement("h3");
      const total = document.createElement("span"), chart = document.createElement("div");
      card.className = "card";
      chart.className = "chart";
      title.append(name, total);
      card.append(title, chart);
      byId(block.of === "pair" ? "pairs" : "energies").append(card);
      block.chart = new Chart(chart, width => histogram(block, name, total, width));
      charts.push(block.chart);
    }
    Proposal.offer(blocks.filter(each => each.windows?.start));
    byId("energies-section").hidden = !blocks.some(each => each.of === "energies");
    byId("pairs-section").hidden = !blocks.some(each => each.of === "pair");
    byId("window-words").hidden = !blocks.some(each => each.windows?.start);
  }

  // ---- histograms

  function histogram(block, name, total, width) {
    const merge = Math.max(1, Math.ceil(block.length / Math.max(40, width - 60)));
    const count = Math.ceil(block.length / merge);
    const xs = new Float64Array(count), ys = new Float64Array(count);
    const isLog = byId("counts-scale").value === "log";
    let sum = 0;
    for (let i = 0; i < count; i++) {
      let n = 0;
      const end = Math.min(block.length, (i + 1) * merge);
      for (let j = i * merge; j < end; j++) n += values[block.at + j];
      sum += n;
      xs[i] = block.begin + (i + 0.5) * merge * block.width;
      ys[i] = isLog ? Math.log10(Math.max(n, 0.5)) : n;
    }
    total.textContent = sum.toLocaleString("en");
    return {
      data: [xs, ys],
      label: `${name}: ${sum.toLocaleString("en")} counts`,
      options: () => optionsOfHistogram(block, isLog),
    };
  }

  function optionsOfHistogram(block, isLog) {
    const windows = Object.entries(block.windows || {});
    const [x, y] = axes("", "", true);
    y.values = (_, ticks) => ticks.map(t => isLog ? (Number.isInteger(t) && t >= 0 ? short(10 ** t) : "") : short(t));
    const bands = u => windows.forEach(([kind, [from, to]]) =>
      band(u, from, to, kind === "start" ? "third" : "second", kind === "start" ? 1 : -1));
    return {
      legend: { show: false }, axes: [x, y],
      cursor: windows.length ? { x: false, y: false, points: { show: false }, drag: { x: true, setScale: false } }
        : { show: false },
      scales: { x: { time: false }, y: { range: (_, low, high) => isLog ? [-0.31, Math.max(1, high)] : [0, high || 1] } },
      series: [{}, { stroke: colour("first"), width: 1, points: { show: false } }],
      hooks: windows.length ? { drawClear: [bands], setSelect: [u => propose(u, block)] } : {},
    };
  }

  function propose(u, block) {
    const { left, width } = u.select;
    if (width > 2) Proposal.dragged(block, u.posToVal(left, "x"), u.posToVal(left + width, "x"));
  }

  const short = n => n >= 1e6 ? n / 1e6 + "M" : n >= 1e3 ? n / 1e3 + "k" : String(n);

  // ---- R(t), its fit, and waveforms

  const ratio = new Chart(byId("ratio"), () => {
    const [times, measured, errors] = fit.ratio || [[], [], []];
    const curve = new Map(), model = fit.model || [[], []];
    model[0].forEach((t, i) => curve.set(t, model[1][i]));
    const all = [...new Set([...times, ...model[0]])].sort((a, b) => a - b);
    const at = new Map(times.map((t, i) => [t, i]));
    const points = all.map(t => at.has(t) ? measured[at.get(t)] : null);
    const bars = all.map(t => at.has(t) ? errors[at.get(t)] : null);
    bars.forEach((each, i) => { ratioBars[i] = each; });
    ratioBars.length = bars.length;
    return {
      data: [all, points, all.map(t => curve.get(t) ?? null)],
      label: `R(t): ${times.length} points` + (model[0].length ? ", with its fit" : ", without a fit"),
      options: () => ({
        axes: axes("time since the start (ns)", "R(t)"), scales: { x: { time: false } },
        series: [{ label: "ns" },
          { label: "R(t)", stroke: colour("first"), paths: () => null, points: { show: true, size: 4 } },
          { label: "fit", stroke: colour("second"), width: 2, spanGaps: true, points: { show: false } }],
        hooks: { drawSeries: [(u, series) => { if (series === 1) drawBars(u); }] },
      }),
    };
  });
  const ratioBars = [];

  function drawBars(u) {
    const c = u.ctx, { left, top, width, height } = u.bbox;
    c.save();
    c.beginPath();
    c.rect(left, top, width, height);
    c.clip();
    c.strokeStyle = colour("first");
    c.globalAlpha = 0.6;
    c.beginPath();
    u.data[0].forEach((t, i) => {
      if (u.data[1][i] == null || ratioBars[i] == null) return;
      const x = u.valToPos(t, "x", true);
      c.moveTo(x, u.valToPos(u.data[1][i] - ratioBars[i], "y", true));
      c.lineTo(x, u.valToPos(u.data[1][i] + ratioBars[i], "y", true));
    });
    c.stroke();
    c.restore();
  }

  const residuals = new Chart(byId("residuals"), () => ({
    data: fit.model ? [fit.model[0], fit.model[2]] : [[], []],
    label: "residuals of the fit, in errors",
    options: () => ({
      legend: { show: false }, axes: axes("", "residual / error", true), scales: { x: { time: false } },
      series: [{}, { stroke: colour("first"), paths: () => null, points: { show: true, size: 3 } }],
    }),
  }));

  const frequencies = new Chart(byId("frequencies"), () => ({
    data: fit.frequencies || [[], []],
    label: "frequencies in R(t)",
    options: () => ({
      axes: axes("ω (rad/ns)", "amplitude"), scales: { x: { time: false } },
      series: [{ label: "rad/ns" }, { label: "amplitude", stroke: colour("first"), width: 1.5, points: { show: false } }],
    }),
  }));

  const scope = new Chart(byId("scope"), () => {
    const shown = scopes[byId("scope-table").value] || { times: [], values: [] };
    return {
      data: [shown.times, shown.values],
      label: "newest waveform of " + byId("scope-table").value,
      options: () => ({
        axes: axes(shown.has_times ? "time (ns)" : "sample", shown.unit || "value"), scales: { x: { time: false } },
        series: [{ label: "at" }, { label: "value", stroke: colour("first"), width: 1, points: { show: false } }],
      }),
    };
  });

  function showScopes(found) {
    scopes = found;
    const names = Object.keys(found), select = byId("scope-table");
    byId("scope-section").hidden = names.length === 0;
    if (select.options.length !== names.length) select.replaceChildren(...names.map(name => new Option(name, name)));
    scope.changed();
  }

  const streams = new Map();

  function showStream(name, found) {
    let stream = streams.get(name);
    if (!stream) {
      stream = { name, newest: document.createElement("span") };
      const card = document.createElement("div"), title = document.createElement("h3");
      const chart = document.createElement("div");
      card.className = "card";
      chart.className = "chart";
      title.append(name, stream.newest);
      card.append(title, chart);
      byId("streams").append(card);
      byId("streams-section").hidden = false;
      stream.chart = new Chart(chart, () => drawing(stream));
      streams.set(name, stream);
    }
    stream.found = found;
    stream.newest.textContent = valueWords(found) + (found.gaps ? `, gaps: ${found.gaps.toLocaleString("en")}` : "");
    stream.chart.changed();
  }

  const valueWords = found => found.newest == null ? "no value" : `${found.newest} ${found.unit}`.trim();

  function drawing({ name, found }) {
    const line = { stroke: colour("first"), width: 1, points: { show: found.times.length < 40, size: 3 } };
    const [x, y] = axes("", "", true);
    y.size = 52; // for numbers such as 1.503
    return {
      data: [found.times, found.low, found.high],
      label: `${name}: ${valueWords(found)}`,
      options: () => ({
        legend: { show: false }, cursor: { show: false }, axes: [x, y], scales: { x: { time: true } },
        series: [{}, line, line], bands: [{ series: [2, 1], fill: colour("first") + "40" }],
      }),
    };
  }

  function showFit(found) {
    fit = found;
    byId("ratio-charts").hidden = !found.ratio && !found.fits?.length;
    for (const id of ["ratio", "residuals", "frequencies"]) byId(id).hidden = !found.ratio;
    byId("ratio-words").textContent = found.ratio ? `R(t) is drawn in bins of ${found.ratio_bin_ns} ns.`
      : found.fits?.length ? "R(t) needs more coincidences, of pairs of detectors at 180 and at 90 degrees." : "";
    const rows = [];
    for (const each of found.fits || []) {
      const title = document.createElement("dt");
      title.textContent = !each.converged ? `${each.name}: the fit has not converged`
        : each.name + (each.reduced_chi2 == null ? "" : `, χ²/n = ${each.reduced_chi2.toFixed(2)}`);
      rows.push(title);
      for (const [name, [value, error]] of Object.entries(each.values)) {
        const term = document.createElement("dd"), number = document.createElement("dd");
        term.textContent = name;
        number.textContent = withError(value, error) + unitOf(name);
        rows.push(term, number);
      }
    }
    byId("fits").replaceChildren(...rows);
    byId("fit-notes").replaceChildren(...(found.notes || []).map(text => item(text)));
    ratio.changed();
    residuals.changed();
    frequencies.changed();
  }

  const unitOf = name => /^(time_zero|resolution|delay)/.test(name) ? " ps" : name === "half_life" ? " ns"
    : /^(omega0|larmor)/.test(name) ? " rad/ns" : "";

  function withError(value, error) {
    if (error === null) return `${value.toPrecision(4)} (its limit)`;
    if (!(error > 0)) return value.toPrecision(4);
    const digits = Math.min(8, Math.max(0, 1 - Math.floor(Math.log10(error))));
    return `${value.toFixed(digits)} ± ${error.toFixed(digits)}`;
  }

  // ---- status

  function item(text, className) {
    const made = document.createElement("li");
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function showStatus(found) {
    status = found;
    const name = found.file.split("/").pop();
    byId("file").textContent = name + (found.files > 1 ? ` (file ${found.files})` : "");
    document.title = (found.alarms.length ? `(${found.alarms.length}) ` : "") + name;
    byId("tables").replaceChildren(...found.tables.map(tableRow));
    byId("writing").textContent = writingWords(found.writing);
    Proposal.applied(found.applied);
    byId("computed").textContent = [found.calibrating, found.computed].filter(Boolean).join(" ");
    showRescan(found.rescan);
    const alarms = found.alarms.map(alarm => {
      const made = item("", "alarm"), kind = document.createElement("b");
      kind.textContent = alarm.kind;
      made.append(kind, `: ${alarm.text} (since ${alarm.since.slice(11, 19)} UTC)`);
      return made;
    });
    replaceIfNew(byId("alarm-list"), alarms.length ? alarms : [item("There are none.", "quiet")]);
    if (found.log.length) replaceIfNew(byId("log"), found.log.slice().reverse().map(line => item(line)));
    byId("ratio-section").hidden = found.coincidences == null;
    if (found.coincidences != null) {
      const rejected = found.tables.reduce((sum, table) => sum + table.rejected, 0);
      byId("pairs-words").textContent = `${found.coincidences.toLocaleString("en")} coincidences of all pairs, with those `
        + "of one detector with itself, which are not drawn. Times are stop − start, in ns."
        + (rejected ? ` ${rejected.toLocaleString("en")} pulses are left out by their flags.` : "");
      byId("fit-age").textContent = found.fit_age_s == null ? "Nothing is fitted yet."
        : `The fit is ${duration(found.fit_age_s)} old, of ${found.fit_coincidences.toLocaleString("en")} coincidences.`;
    }
  }

  function showRescan(rescan) {
    byId("rescan-section").hidden = !rescan;
    if (!rescan) return;
    const windows = rescan.of_configuration ? "the windows of the configuration" : rescan.windows.join(" and ");
    const words = `It is counted with ${windows}, from its first row on. `
      + "What is shown stays until the new spectra have as many rows, and is replaced then.";
    if (byId("rescan-words").textContent !== words) byId("rescan-words").textContent = words;
    byId("rescan-progress").max = Math.max(1, rescan.of);
    byId("rescan-progress").value = rescan.rows;
    byId("rescan-rows").textContent = `${rescan.rows.toLocaleString("en")} of ${rescan.of.toLocaleString("en")} rows`;
  }

  function writingWords(writing) {
    if (!writing) return "";
    const lag = writing.durable_lag_s == null ? ""
      : ` A power cut would lose at most the last ${duration(writing.durable_lag_s)}.`;
    if (writing.state === "unknown") return `It is not known whether the run is still written: ${writing.why}.`;
    if (writing.state === "closing") return "The run is being completed." + lag;
    return lag.trim();
  }

  // What a screen reader has read is not said again.
  function replaceIfNew(list, items) {
    if (list.textContent !== items.map(each => each.textContent).join("")) list.replaceChildren(...items);
  }

  function tableRow(table) {
    const row = document.createElement("tr"), first = document.createElement("th");
    first.scope = "row";
    first.textContent = table.name;
    row.append(first);
    const numbers = [table.rows.toLocaleString("en"), table.rate == null ? "" : table.rate.toLocaleString("en"),
      table.behind_s == null ? "" : duration(table.behind_s),
      table.dead_time == null ? "" : `${(100 * table.dead_time).toPrecision(2)} %`,
      table.lost == null ? "" : table.lost.toLocaleString("en")];
    for (const text of numbers) {
      const cell = document.createElement("td");
      cell.className = "number";
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  }

  const duration = s => s < 1 ? `${Math.round(s * 1000)} ms` : s < 120 ? `${s.toFixed(1)} s`
    : s < 7200 ? `${(s / 60).toFixed(0)} min` : `${(s / 3600).toFixed(1)} h`;

  function connected() {
    const quiet = performance.now() - lastMessage;
    const isStale = quiet > STALE_MS || !status;
    document.body.classList.toggle("stale", isStale);
    const badge = byId("state");
    badge.textContent = isStale ? "no connection" : status.state;
    badge.classList.toggle("bad", isStale || status.state === "failed");
    byId("age").textContent = !status ? "" : isStale ? `The page has heard nothing for ${duration(quiet / 1000)}.`
      : `The newest rows came ${duration(status.data_age_s)} ago.`;
  }

  // ---- connection

  function connect() {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live`);
    socket.binaryType = "arraybuffer";
    Proposal.sendBy(text => { if (socket.readyState === 1) socket.send(new TextEncoder().encode(text)); });
    socket.onmessage = event => { pause = 500; take(event.data); };
    socket.onclose = () => {
      connected();
      setTimeout(connect, pause);
      pause = Math.min(MOST_PAUSE_MS, pause * 2);
    };
  }

  byId("counts-scale").addEventListener("change", () => { for (const chart of charts) chart.remake(); });
  byId("scope-table").addEventListener("change", () => scope.remake());
  window.addEventListener("error", event => { document.documentElement.dataset.error = event.message; });
  setInterval(connected, 1000);
  connect();
})();
