"use strict";
// Charts that draw only while they are on the screen, with as many points as it has.

const Charts = (() => {
  const known = new Set();
  const byElement = new WeakMap();
  let asked = false;

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) byElement.get(entry.target).isSeen = entry.isIntersecting;
    ask();
  }, { rootMargin: "100px" });
  const sized = new ResizeObserver(entries => {
    for (const entry of entries) byElement.get(entry.target).resize();
  });

  function ask() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      for (const chart of known) chart.drawIfNeeded();
    });
  }

  // describes(width) returns { data, label, options }. It is called when the chart must be drawn, and `options` when it
  // is made.
  class Chart {
    constructor(element, describes) {
      this.element = element;
      this.describes = describes;
      this.isSeen = false;
      this.isOld = true;
      this.plot = null;
      known.add(this);
      byElement.set(element, this);
      seen.observe(element);
      sized.observe(element);
    }
    changed() { this.isOld = true; ask(); }
    remake() { this.plot?.destroy(); this.plot = null; this.changed(); }
    resize() {
      const width = this.element.clientWidth, height = this.element.clientHeight;
      if (this.plot && width && (width !== this.plot.width || height !== this.wanted)) this.remake();
      else if (!this.plot) this.changed();
    }
    remove() {
      this.plot?.destroy();
      known.delete(this);
      seen.unobserve(this.element);
      sized.unobserve(this.element);
    }
    drawIfNeeded() {
      const width = this.element.clientWidth;
      if (!this.isOld || !this.isSeen || !width || document.hidden) return;
      this.isOld = false;
      const { options, data, label } = this.describes(width);
      if (label) { this.element.setAttribute("role", "img"); this.element.setAttribute("aria-label", label); }
      if (this.plot) { this.plot.setData(data); return; }
      this.wanted = this.element.clientHeight;
      const made = options();
      const legend = made.legend?.show === false ? 0 : 28;
      this.plot = new uPlot({ width, height: Math.max(60, this.wanted - legend), ...made }, data, this.element);
    }
  }

  function axes(x, y, small) {
    const common = { stroke: colour("quiet"), grid: { stroke: colour("grid"), width: 1 },
      ticks: { stroke: colour("grid"), width: 1 }, font: (small ? "10px" : "12px") + " system-ui" };
    return [
      { ...common, label: x || undefined, labelSize: 18, labelFont: "12px system-ui", size: small ? 24 : 30,
        space: small ? 45 : 60 },
      { ...common, label: y || undefined, labelSize: 18, labelFont: "12px system-ui", size: small ? 38 : 52,
        space: small ? 25 : 35 },
    ];
  }

  function band(u, from, to, name, leans) {
    const left = u.valToPos(from, "x", true), right = u.valToPos(to, "x", true);
    const { top, height } = u.bbox, c = u.ctx;
    c.save();
    c.beginPath();
    c.rect(left, top, right - left, height);
    c.clip();
    c.strokeStyle = colour(name);
    c.globalAlpha = 0.8;
    c.beginPath();
    for (let x = left - height; x < right + height; x += 6 * devicePixelRatio) {
      c.moveTo(x, leans > 0 ? top + height : top);
      c.lineTo(x + height, leans > 0 ? top : top + height);
    }
    c.stroke();
    c.restore();
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of known) chart.remake();
  });
  document.addEventListener("visibilitychange", ask);
  return { Chart, axes, band, colour };
})();
