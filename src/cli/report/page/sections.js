// SPDX-License-Identifier: BSD-3-Clause
// What each kind of document looks like. A section gets runs: {file, documents}, all of its kind.
"use strict";

// ---- bench: ratios to the machine's own limits, and peers

function bar(ratio) {
  if (!(ratio > 0)) return "";
  const width = Math.min(8, Math.max(0.1, ratio * 2));
  return element("span", {class: "bar", style: `width: ${width}rem`, "aria-hidden": "true"});
}

const BENCH_COLUMNS = [
  {name: "name", title: "what"},
  {name: "value"},
  {name: "unit"},
  {name: "raw", title: "machine's own"},
  {name: "ratio"},
  {name: "bar", title: "", value: () => "", cell: (row) => bar(row.ratio)},
  {
    name: "peer_ratio",
    title: "to a peer",
    value: (row) => row.peer_ratio,
    cell: (row) => (row.peer ? `${shown(row.peer_ratio)} (${row.peer})` : ""),
  },
  {name: "target"},
  {name: "ok", title: "reached", cell: (row) => verdict(row.ok, "yes", "missed")},
  {name: "rounds"},
  {name: "discarded"},
];

const UNITS = {"": 1, B: 1, K: 1024, M: 1048576, G: 1073741824};

// push-8, push-64, push-1M, or broadcast-8B, broadcast-8K: one curve.
function curves_by_size(rows) {
  const curves = new Map();
  for (const row of rows) {
    const parts = /^(.*)-(\d+)([BKMG]?)$/.exec(row.name);
    if (!parts || !(row.value > 0)) continue;
    const name = `${parts[1]}, ${row.unit}`;
    if (!curves.has(name)) curves.set(name, []);
    curves.get(name).push([Number(parts[2]) * UNITS[parts[3]], row.value]);
  }
  return [...curves]
    .filter(([, points]) => points.length > 2)
    .map(([name, points]) => ({name, points}));
}

function bench_section({file, documents}) {
  const measured = documents.filter((row) => row.value !== undefined);
  const has = (row, name) => row[name] !== undefined && row[name] !== null;
  const used = BENCH_COLUMNS.filter(
    (column) => column.name === "bar" || measured.some((row) => has(row, column.name)),
  );
  const lines = curves_by_size(measured);
  return [
    table(`${file}: medians; a ratio is to what the machine itself does`, used, measured),
    measured.length < documents.length
      ? element(
          "p",
          {class: "remark"},
          `${documents.length - measured.length} more had too few good rounds`,
        )
      : null,
    lines.length
      ? figure({
          title: `${file}: by size`,
          x: "size or ranks",
          y: "value",
          lines,
          log_x: true,
          log_y: true,
          base_x: 2,
        })
      : null,
  ];
}

// ---- thesis

function thesis_section({file, documents}) {
  const judged = documents.filter((row) => typeof row.error_percent === "number");
  const holding = documents.filter((row) => row.holds).length;
  const points = judged.map((row, index) => [index + 1, row.error_percent]);
  const columns = [
    {name: "id"},
    {name: "what"},
    {name: "thesis"},
    {name: "simulated"},
    {name: "unit"},
    {name: "class"},
    {name: "error_percent", title: "error, %"},
    {name: "holds", cell: (row) => verdict(row.holds)},
    {name: "status"},
  ];
  const groups = [...new Set(documents.map((row) => row.group))];
  const place = element("div");
  const show = (group) =>
    place.replaceChildren(
      table(
        `${file}: thesis against simulation`,
        columns,
        documents.filter((row) => !group || row.group === group),
      ),
    );
  show("");
  return [
    element("p", {}, `${holding} of ${documents.length} rows hold.`),
    points.length
      ? figure({
          title: `${file}: how far the simulation is off`,
          x: "row",
          y: "error, %",
          lines: [{name: "error", points}],
          no_lines: true,
        })
      : null,
    element(
      "p",
      {class: "tools"},
      element(
        "label",
        {},
        "Part ",
        element(
          "select",
          {onchange: (event) => show(event.target.value)},
          element("option", {value: ""}, "all"),
          groups.map((group) => element("option", {value: group}, group)),
        ),
      ),
    ),
    place,
  ];
}

// ---- simulation

const LATENCIES = [
  ["latency_median_us", "median"],
  ["latency_mean_us", "mean"],
  ["latency_p99_us", "99 %"],
  ["latency_p999_us", "99.9 %"],
];

function simulation_one(file, run) {
  const lines = LATENCIES.map(([name, title]) => ({
    name: title,
    points: run.points.filter((point) => point[name] > 0).map((point) => [point.load, point[name]]),
  }));
  const links = (run.links || []).map((link) => ({from: link.from, to: link.to, load: link.busy}));
  return [
    facts(run),
    figure({title: `${file}: latency`, x: "load offered", y: "us", lines}),
    figure({
      title: `${file}: throughput`,
      x: "load offered",
      y: "load accepted",
      lines: [{name: "accepted", points: run.points.map((point) => [point.load, point.accepted])}],
    }),
    table(`${file}: at each load`, plain_columns(run.points), run.points),
    links.length
      ? network_map({title: `${file}: how busy links are at the last load`, links})
      : null,
  ];
}

function simulation_section({file, documents}) {
  return documents.flatMap((run) => simulation_one(file, run));
}

// ---- sweep: one picture a figure, a line for each combination of all axes but the first

function sweep_one(file, sweep) {
  const along = sweep.axes.find((axis) => axis.name === "load") || sweep.axes[0];
  const others = sweep.axes.filter((axis) => axis !== along);
  const pictures = sweep.figures.map((one) => {
    const lines = new Map();
    for (const point of sweep.points) {
      const value = point.figures[one.name];
      const name = others.map((axis) => `${axis.name} ${shown(point.at[axis.name])}`).join(", ");
      if (!value || !along) continue;
      if (!lines.has(name)) lines.set(name, []);
      lines.get(name).push([point.at[along.name], value.mean]);
    }
    return lines.size
      ? figure({
          title: `${file}: ${one.name}`,
          x: `${along.name} ${along.unit}`,
          y: one.unit,
          lines: [...lines].map(([name, points]) => ({name: name || one.name, points})),
        })
      : null;
  });
  const rows = sweep.points.flatMap((point) =>
    sweep.figures
      .filter((one) => point.figures[one.name])
      .map((one) => ({
        ...point.at,
        figure: one.name,
        unit: one.unit,
        ...point.figures[one.name],
      })),
  );
  return [
    element("p", {}, `${sweep.what}, ${sweep.seeds} ${sweep.seeds === 1 ? "seed" : "seeds"} each`),
    ...pictures,
    table(`${file}: all combinations`, plain_columns(rows), rows),
  ];
}

function sweep_section({file, documents}) {
  return documents.flatMap((sweep) => sweep_one(file, sweep));
}

// ---- sensitivity

function sensitivity_section({file, documents}) {
  const rows = documents.flatMap((row) =>
    row.effects.map((effect) => ({
      row: row.row,
      class: row.class,
      value: row.simulated,
      unit: row.unit,
      constant: effect.constant,
      origin: effect.origin,
      elasticity: effect.elasticity,
      size: Math.abs(effect.elasticity),
      then: effect.simulated,
    })),
  );
  const columns = plain_columns(rows).filter((column) => column.name !== "size");
  columns.push({name: "size", title: "", value: () => "", cell: (row) => bar(row.size)});
  return [table(`${file}: by how many % a row moves for 1 % of a constant`, columns, rows)];
}

// ---- routing

function routing_class(file, name, loads) {
  const width = loads.busiest_load / loads.histogram.length;
  const points = loads.histogram.map((count, index) => [(index + 0.5) * width, count]);
  return [
    element("p", {}, `Traffic ${name}: throughput ${number(loads.throughput)}.`),
    figure({
      title: `${file}: links by load, ${name}`,
      x: "load",
      y: "links",
      lines: [{name: "links", points}],
      bars: true,
    }),
    fold("Busiest links", () => [
      table(`${file}: busiest links`, plain_columns(loads.busiest), loads.busiest),
    ]),
  ];
}

function routing_map(file, routing) {
  if (!routing.links)
    return element("p", {class: "remark"}, "No map: `rhinet route compute --map` writes one.");
  const hosts = Object.entries(routing.hosts_at || {}).flatMap(([at, names]) =>
    names.map((name) => ({from: at, to: name, load: 0})),
  );
  return network_map({
    title: `${file}: load of links, and prohibited turns`,
    links: [...routing.links, ...hosts],
    turns: routing.prohibited,
    switches: new Set([
      ...routing.links.flatMap((link) => [link.from, link.to]),
      ...Object.keys(routing.hosts_at || {}),
    ]),
  });
}

function routing_section({file, documents}) {
  return documents.flatMap((routing) => [
    facts(routing),
    routing.check
      ? element(
          "p",
          {},
          "Check: ",
          verdict(routing.check.passed, "passed", "FAILED"),
          ` ${routing.check.problem || ""} ${routing.check.witness || ""}`,
        )
      : null,
    ...Object.entries(routing.traffic || {}).flatMap(([name, loads]) =>
      routing_class(file, name, loads),
    ),
    routing_map(file, routing),
  ]);
}

// ---- cache

function trial_name(trial) {
  return trial.plain
    ? "plain file system"
    : `cache, ${trial.groups} group${trial.groups === 1 ? "" : "s"}, singlets ${trial.singlets}`;
}

function cache_trial_section({file, documents}) {
  const experiments = [...new Set(documents.map((trial) => trial.experiment))];
  return experiments.flatMap((experiment) => {
    const trials = documents.filter((trial) => trial.experiment === experiment);
    const like = ["nodes", "read_length", "data_bytes"]; // the same but for the cache
    const plain = (trial) =>
      trials.find((other) => other.plain && like.every((name) => other[name] === trial[name]));
    const names = [...new Set(trials.map(trial_name))];
    const lines = names.map((name) => ({
      name,
      points: trials
        .filter((trial) => trial_name(trial) === name)
        .map((trial) => [trial.nodes, trial.mib_per_s]),
    }));
    const ratio = (trial) => (plain(trial) ? trial.mib_per_s / plain(trial).mib_per_s : null);
    return [
      new Set(trials.map((trial) => trial.nodes)).size > 1
        ? figure({title: `${file}: ${experiment}`, x: "nodes", y: "MiB/s", lines})
        : null,
      table(
        `${file}: ${experiment}`,
        [
          {name: "nodes"},
          {name: "read_length", title: "bytes a read"},
          {name: "data_bytes", title: "bytes of data"},
          {name: "how", value: trial_name},
          {name: "mib_per_s", title: "MiB/s"},
          {name: "ratio", title: "to plain", value: ratio, cell: (trial) => shown(ratio(trial))},
          {name: "bar", title: "", value: () => "", cell: (trial) => bar(ratio(trial) / 4)},
          ...["local_hits", "remote_hits", "loads", "evictions", "fallbacks"].map((name) => ({
            name,
          })),
        ],
        trials,
      ),
    ];
  });
}

// ---- top

const RATES = [
  ["ops_per_s", "operations each second"],
  ["bytes_per_s", "bytes each second"],
  ["waits_per_s", "waits each second"],
];

function top_section({file, documents}) {
  const start = documents[0].time;
  const ranks = documents[0].ranks.map((rank) => rank.rank).slice(0, 16);
  const of = (sample, rank, name) => (sample.ranks.find((one) => one.rank === rank) || {})[name];
  let at = 0;
  const times = documents.map((sample) => {
    at += sample.interval_s;
    return at;
  });
  return [
    element(
      "p",
      {},
      `Job ${documents[0].job}, from ${new Date(start * 1000).toISOString()}, ${
        documents.length
      } samples.`,
    ),
    ...RATES.map(([name, title]) =>
      figure({
        title: `${file}: ${title}`,
        x: "seconds",
        y: title,
        lines: ranks.map((rank) => ({
          name: `rank ${rank}`,
          points: documents
            .map((sample, index) => [times[index], of(sample, rank, name)])
            .filter(([, y]) => y !== undefined),
        })),
      }),
    ),
    table(
      `${file}: ranks in the last sample`,
      plain_columns(documents.at(-1).ranks),
      documents.at(-1).ranks,
    ),
  ];
}

// ---- what has no picture

function any_document(title, document) {
  const parts = [facts(document)];
  for (const [name, value] of Object.entries(document)) {
    if (Array.isArray(value) && value.length && typeof value[0] === "object")
      parts.push(table(`${title}: ${words(name)}`, plain_columns(value), value));
    else if (Array.isArray(value) && value.length)
      parts.push(element("p", {}, `${words(name)}: ${value.map(shown).join(", ")}`));
    else if (value && typeof value === "object" && !Array.isArray(value))
      parts.push(fold(words(name), () => any_document(words(name), value)));
  }
  return parts;
}

function rows_section({file, documents}) {
  return [table(file, plain_columns(documents), documents)];
}

// Shares of a link's bandwidth are called so.
function comparison_section({file, documents}) {
  const columns = plain_columns(documents);
  for (const column of columns)
    if (["inside", "between"].includes(column.name)) column.title = `${column.name}/link`;
  return [table(file, columns, documents)];
}

// Shares of the time in percent; of a FIFO it is how many packets were in it.
function usage_column(name, value) {
  if (name === "node" || typeof value !== "number") return [name, value];
  return name.endsWith("FIFO") ? [`${name}, packets`, value] : [`${name} %`, value * 100];
}

function usage_section({file, documents}) {
  const part = (row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => usage_column(name, value)));
  const link = ({busy, ...rest}) => ({...rest, "busy %": busy * 100});
  return documents.flatMap((usage) =>
    any_document(file, {
      ...usage,
      parts: (usage.parts || []).map(part),
      links: (usage.links || []).map(link),
    }),
  );
}

function any_section({file, documents}) {
  return documents.flatMap((document) => any_document(file, document));
}

const SECTIONS = {
  bench: ["Measured", bench_section],
  "cache trial": ["File cache", cache_trial_section],
  "cache stat": ["File cache: nodes", any_section],
  routing: ["Routing", routing_section],
  comparison: ["Routing: algorithms compared", comparison_section],
  simulation: ["Simulated network", simulation_section],
  thesis: ["Thesis against simulation", thesis_section],
  "time line": [
    "Module time lines",
    ({file, documents}) => documents.map((document) => time_line(file, document.traceEvents)),
  ],
  sweep: ["Sweep", sweep_section],
  sensitivity: ["What moves the figures", sensitivity_section],
  usage: ["Where the time went", usage_section],
  "sim speed": ["Speed of the simulator", rows_section],
  top: ["A job over time", top_section],
  doctor: ["What ranks wait for", any_section],
  job: ["A job", any_section],
  check: ["Routing: checked", any_section],
  repair: ["Routing: repaired", any_section],
  info: ["The machine", any_section],
};
