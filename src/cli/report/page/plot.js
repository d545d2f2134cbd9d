// SPDX-License-Identifier: BSD-3-Clause
// Curves, by uPlot: hover reads values, dragging zooms, buttons do what the mouse does.
"use strict";

const LINE_COLORS = {
  light: ["#0b5fad", "#b3450b", "#0a6b3d", "#7a2f9e", "#8a6d00", "#b0206a", "#3c4650", "#007a87"],
  dark: ["#6cb2f5", "#ff9e5e", "#5fca93", "#cf9bf0", "#e0c04a", "#ff8ac0", "#b8c2cc", "#4fd0dd"],
};
const DASHES = [[], [6, 3], [2, 3], [10, 4, 2, 4]];
const plots = []; // to be drawn again when colours or the width change

function theme() {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

function plot_width(place) {
  return Math.max(260, Math.min(place.clientWidth || 900, 1100));
}

// lines: {name, points: [[x, y], ...]}. All have their own x; uPlot wants one for all.
function joined(lines) {
  const xs = [...new Set(lines.flatMap((line) => line.points.map(([x]) => x)))].sort(
    (a, b) => a - b,
  );
  const at = new Map(xs.map((x, index) => [x, index]));
  return [
    xs,
    ...lines.map((line) => {
      const ys = new Array(xs.length).fill(null);
      for (const [x, y] of line.points) ys[at.get(x)] = y;
      return ys;
    }),
  ];
}

function plot_options(plot, place) {
  const axis = {
    stroke: color("--front"),
    grid: {stroke: color("--line")},
    ticks: {stroke: color("--line")},
  };
  const short = (u, values) => values.map((value) => (value === null ? "" : short_number(value)));
  const colors = LINE_COLORS[theme()];
  return {
    width: plot_width(place),
    height: 320,
    scales: {
      x: {time: false, distr: plot.log_x ? 3 : 1, log: plot.base_x || 10},
      y: {distr: plot.log_y ? 3 : 1},
    },
    axes: [
      {...axis, label: plot.x, values: short},
      {...axis, label: plot.y, values: short, size: 64},
    ],
    series: [
      {label: plot.x, value: (u, value) => shown(value)},
      ...plot.lines.map((line, index) => ({
        label: line.name,
        stroke: colors[index % colors.length],
        width: plot.no_lines ? 0 : 2,
        dash: DASHES[Math.floor(index / colors.length) % DASHES.length],
        spanGaps: true,
        points: {show: true, size: plot.no_lines ? 7 : 5, fill: colors[index % colors.length]},
        paths: plot.bars ? uPlot.paths.bars({size: [0.9, 100]}) : undefined,
        fill: plot.bars ? colors[index % colors.length] : undefined,
        value: (u, value) => shown(value),
      })),
    ],
  };
}

function plot_draw(plot) {
  const place = plot.place;
  if (plot.chart) plot.chart.destroy();
  plot.chart = new uPlot(plot_options(plot, place), joined(plot.lines), place);
  place.querySelector("canvas").setAttribute("aria-hidden", "true");
  place.querySelector("table").setAttribute("aria-label", `Values of ${plot.title} at the pointer`);
}

// Nearer to, or away from, the middle of what is seen.
function plot_zoom(plot, factor) {
  const scale = plot.chart.scales.x;
  const log = plot.log_x;
  const [low, high] = log ? [Math.log(scale.min), Math.log(scale.max)] : [scale.min, scale.max];
  const middle = (low + high) / 2,
    half = ((high - low) / 2) * factor;
  const [min, max] = [middle - half, middle + half].map((x) => (log ? Math.exp(x) : x));
  plot.chart.setScale("x", {min, max});
}

// Whether a logarithmic axis would show more.
function is_wide(lines, which) {
  const values = lines.flatMap((line) => line.points.map((point) => point[which]));
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  return least > 0 && values.some((value) => value >= 4 * least);
}

function plot_values(plot) {
  const columns = [
    {name: "line", title: "curve"},
    {name: "x", title: plot.x},
    {name: "y", title: plot.y},
  ];
  const rows = plot.lines.flatMap((line) => line.points.map(([x, y]) => ({line: line.name, x, y})));
  return table(plot.title, columns, rows);
}

// plot: {title, x, y, lines, log_x, log_y, base_x, no_lines, bars, is_live}.
function figure(plot) {
  plot.place = element("div", {
    class: "plot",
    role: "img",
    "aria-label": `${plot.title}: ${plot.y} against ${plot.x}; the table has the values`,
  });
  const again = (name) => (down) => {
    plot[name] = down;
    plot_draw(plot);
  };
  plots.push(plot);
  return element(
    "section",
    {"aria-label": plot.title},
    element("h3", {}, plot.title),
    plot.place,
    element(
      "p",
      {class: "tools"},
      button("Zoom in", () => plot_zoom(plot, 0.5)),
      button("Zoom out", () => plot_zoom(plot, 2)),
      button("All", () => plot_draw(plot)),
      is_wide(plot.lines, 0) ? toggle("Log x", again("log_x"), Boolean(plot.log_x)) : null,
      is_wide(plot.lines, 1) ? toggle("Log y", again("log_y"), Boolean(plot.log_y)) : null,
    ),
    plot.is_live ? null : fold("Values", () => [plot_values(plot)]),
  );
}

// One that cannot be drawn does not keep the others from it.
function drawn(all, draw) {
  for (const one of all) {
    try {
      draw(one);
    } catch (error) {
      console.error(error);
    }
  }
}

function plots_draw() {
  drawn(plots, plot_draw);
}
