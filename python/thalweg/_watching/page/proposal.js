"use strict";
// A window of energies that is dragged in a histogram, or typed: the server counts what it would give. It is changed for
// the run, on all pages, when it is applied.

const Proposal = (() => {
  const byId = id => document.getElementById(id);
  const { Chart, axes, colour } = Charts;
  let send = () => {}, found = null, blocks = [];

  const chart = new Chart(byId("proposal-chart"), () => ({
    data: found?.times ? [found.times, found.now.counts, found.then.counts] : [[], [], []],
    label: "coincidences of all pairs of detectors, with the windows of the configuration and with the proposed one",
    options: () => ({
      axes: axes("stop − start (ns)", "coincidences"), scales: { x: { time: false } },
      series: [{ label: "ns" },
        { label: "now", stroke: colour("first"), width: 1, points: { show: false } },
        { label: "proposal", stroke: colour("second"), width: 2, points: { show: false } }],
    }),
  }));

  // `energies`: the histograms that have windows.
  function offer(energies) {
    blocks = energies;
    byId("proposal-section").hidden = blocks.length === 0;
    const chosen = byId("proposal-table").value;
    byId("proposal-table").replaceChildren(...blocks.map(block => new Option(block.table, block.table)));
    if (blocks.some(block => block.table === chosen)) byId("proposal-table").value = chosen;
    if (blocks.length && !byId("proposal-from").value) fill();
  }

  function fill() {
    const block = blocks.find(each => each.table === byId("proposal-table").value);
    const window_ = block?.windows[byId("proposal-kind").value];
    if (!window_) return;
    byId("proposal-unit").textContent = block.unit;
    [byId("proposal-from").value, byId("proposal-to").value] = window_.map(each => String(Number(each.toPrecision(6))));
  }

  function dragged(block, from, to) {
    const middle = (from + to) / 2;
    const distance = kind => Math.abs((block.windows[kind][0] + block.windows[kind][1]) / 2 - middle);
    byId("proposal-table").value = block.table;
    byId("proposal-kind").value = distance("start") <= distance("stop") ? "start" : "stop";
    fill();
    byId("proposal-from").value = String(Number(from.toPrecision(6)));
    byId("proposal-to").value = String(Number(to.toPrecision(6)));
    ask();
  }

  const given = () => ({ kind: byId("proposal-kind").value, table: byId("proposal-table").value,
    from: byId("proposal-from").valueAsNumber, to: byId("proposal-to").valueAsNumber });

  function ask() {
    byId("proposal-words").textContent = "The newest hits are counted with this window.";
    send(JSON.stringify(given()));
  }

  function apply(what) {
    byId("apply-answer").textContent = "";
    send(JSON.stringify({ apply: what }));
  }

  const answered = answer => {
    byId("apply-answer").textContent = answer.problem ? `Nothing is applied: ${answer.problem}.`
      : `${answer.windows} will be shown on all pages.`;
  };

  function allow(readOnly) {
    for (const id of ["proposal-apply", "applied-return"]) byId(id).disabled = Boolean(readOnly);
    byId("apply-words").textContent = readOnly ? `No window can be applied here: ${readOnly}.`
      : "To apply a window counts the whole run again, for all who watch it. The configuration file is not changed.";
  }

  function applied(toml) {
    byId("applied").hidden = toml.length === 0;
    const text = toml.join("\n");
    if (byId("applied-toml").textContent === text) return;
    byId("applied-toml").textContent = text;
    byId("apply-answer").textContent = ""; // what was to be shown is shown
  }

  const count = n => n.toLocaleString("en");
  const sentence = (name, each) => `${name} ${count(each.coincidences)} coincidences`
    + (each.true == null ? "" : `, of which ${count(each.true)} are true`);

  function show(answer) {
    found = answer;
    byId("proposal-result").hidden = Boolean(answer.problem);
    byId("proposal-words").textContent = answer.problem ? `There is no answer: ${answer.problem}`
      : `This is a proposal, counted over the newest ${count(answer.hits)} hits, and not over the run. `
        + `${sentence("The windows of the spectra give", answer.now)}; ${sentence("the proposal gives", answer.then)}.`;
    byId("proposal-toml").textContent = answer.toml ?? "";
    chart.changed();
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {  // a page without TLS on another machine has no clipboard
      getSelection().selectAllChildren(text);
    }
  }

  byId("proposal-ask").addEventListener("click", ask);
  for (const id of ["proposal-from", "proposal-to"]) {
    byId(id).addEventListener("keydown", event => { if (event.key === "Enter") ask(); });
  }
  byId("proposal-apply").addEventListener("click", () => apply(given()));
  byId("applied-return").addEventListener("click", () => apply("configuration"));
  byId("proposal-copy").addEventListener("click", () => copy(byId("proposal-toml")));
  byId("applied-copy").addEventListener("click", () => copy(byId("applied-toml")));
  for (const id of ["proposal-kind", "proposal-table"]) byId(id).addEventListener("change", fill);
  return { offer, dragged, show, answered, allow, applied, sendBy: by => { send = by; } };
})();
