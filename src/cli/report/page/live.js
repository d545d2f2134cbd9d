// SPDX-License-Identifier: BSD-3-Clause
// The page of `rhinet top --web`: asks again and again how the job goes.
"use strict";

const KEPT = 300; // samples
const CURVES = 16; // ranks that get one
const live = {samples: [], parts: {}, plots: [], token: ""};

function live_columns() {
  const rank_wait = (row) => (live.waits || new Map()).get(row.rank) || "";
  return [
    {name: "rank"},
    {name: "state"},
    {name: "pid", cell: (row) => String(row.pid)},
    {name: "ops_per_s", title: "operations/s"},
    {name: "bytes_per_s", title: "bytes/s"},
    {name: "waits_per_s", title: "waits/s"},
    {name: "denials", title: "refused"},
    {name: "does", title: "what it does", value: rank_wait},
  ];
}

function live_lines(name) {
  const start = live.samples[0].time_s;
  return live.samples[0].ranks.slice(0, CURVES).map(({rank}) => ({
    name: `rank ${rank}`,
    points: live.samples.map((sample) => [sample.time_s - start, sample.ranks[rank][name]]),
  }));
}

function live_figures() {
  const both = [
    ["ops_per_s", "operations each second"],
    ["bytes_per_s", "bytes each second"],
  ];
  live.plots = both.map(([name, title]) => ({
    title,
    x: "seconds",
    y: title,
    lines: live_lines(name),
    name,
    is_live: true,
  }));
  live.parts.rates.append(...live.plots.map(figure));
  plots_draw();
}

// The same curves with more points; what was magnified stays so.
function live_curves() {
  if (live.plots.length === 0) live_figures();
  for (const plot of live.plots) {
    const times = plot.chart.data[0],
      seen = plot.chart.scales.x;
    const is_magnified = seen.min > times[0] || seen.max < times.at(-1);
    plot.lines = live_lines(plot.name);
    plot.chart.setData(joined(plot.lines), !is_magnified);
    if (is_magnified) plot.chart.redraw();
  }
}

// A table that was there gets new rows, and keeps its order.
function live_fill(caption, place, columns, rows) {
  if (place.firstChild) place.firstChild.refill(rows);
  else place.append(table(caption, columns(), rows));
}

function live_cache(nodes) {
  live.parts.cache.hidden = nodes.length === 0;
  if (nodes.length > 0)
    live_fill(
      "nodes of caches on this host",
      live.parts.cache_table,
      () => plain_columns(nodes),
      nodes,
    );
}

const VERDICTS = {
  fine: "Nothing is stuck.",
  dead: "A rank has died; the others go on.",
  waiting: "Somebody has waited for long.",
  stopped: "A rank is stopped.",
  deadlock: "Deadlock: ranks wait for each other.",
};

function live_show(state) {
  const last = live.samples.at(-1);
  if (last && last.number === state.number) return;
  live.samples.push({...state.sample, number: state.number, time_s: performance.now() / 1000});
  live.samples.splice(0, Math.max(0, live.samples.length - KEPT));
  live.waits = new Map(
    (state.doctor ? state.doctor.ranks : []).map((rank) => [
      rank.rank,
      rank.waits.length ? rank.waits.map((wait) => wait.text).join("; ") : rank.text,
    ]),
  );
  live.parts.verdict.textContent = state.doctor ? VERDICTS[state.doctor.verdict] : "";
  live.parts.verdict.className = state.doctor && state.doctor.stuck ? "bad" : "good";
  live_fill("ranks", live.parts.ranks, () => live_columns(), state.sample.ranks);
  live_curves();
  live_cache(state.cache);
}

async function live_look() {
  try {
    const answer = await fetch(`state?token=${live.token}`);
    if (answer.status === 410) {
      live.parts.said.textContent = "The job has ended.";
      return;
    }
    if (!answer.ok) throw new Error(`the answer is ${answer.status}`);
    if (answer.status !== 204) live_show(await answer.json()); // 204: there is no sample yet
    live.parts.said.textContent = "";
  } catch (error) {
    live.parts.said.textContent = `No answer: ${error.message}. It is tried again.`;
  }
  setTimeout(live_look, 1000);
}

function page_fill(data) {
  const part = (id, title, ...inside) =>
    element(
      "section",
      {id, "aria-labelledby": `${id}-title`},
      element("h2", {id: `${id}-title`}, title),
      ...inside,
    );
  live.token = new URLSearchParams(window.location.search).get("token") || "";
  live.parts = {
    said: element("p", {role: "status", class: "bad"}),
    verdict: element("p", {role: "status"}),
    ranks: element("div"),
    rates: element("div"),
    cache_table: element("div"),
  };
  live.parts.cache = part("cache", "File cache", live.parts.cache_table);
  live.parts.cache.hidden = true;
  page_head(data, "; looks once a second");
  document
    .getElementById("content")
    .append(
      live.parts.said,
      live.parts.verdict,
      part("ranks", "Ranks", live.parts.ranks),
      part("rates", "Rates", live.parts.rates),
      live.parts.cache,
    );
  live_look();
}

page_start();
