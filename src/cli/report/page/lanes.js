// SPDX-License-Identifier: BSD-3-Clause
// What each module did when: a lane for each thread of a trace, as the trace viewers have them.
"use strict";

const LANE = 26,
  NAMES = 130;

function lanes_of(events) {
  const names = new Map(),
    lanes = new Map();
  const key = (event) => `${event.pid} ${event.tid}`;
  for (const event of events) {
    if (event.ph === "M" && event.name === "process_name") names.set(event.pid, event.args.name);
    if (event.ph === "M" && event.name === "thread_name")
      lanes.set(key(event), {process: event.pid, name: event.args.name, spans: []});
  }
  for (const event of events) {
    if (event.ph !== "X") continue;
    if (!lanes.has(key(event)))
      lanes.set(key(event), {process: event.pid, name: `thread ${event.tid}`, spans: []});
    lanes.get(key(event)).spans.push(event);
  }
  const used = [...lanes.values()].filter((lane) => lane.spans.length > 0);
  used.forEach((lane) => {
    lane.title = `${names.get(lane.process) || lane.process}: ${lane.name}`;
  });
  return used;
}

function lanes_draw(lanes, context, view) {
  const colors = LINE_COLORS[theme()],
    height = LANE - 8;
  lanes.forEach((lane, index) => {
    const top = index * LANE;
    context.fillStyle = color("--raised");
    context.fillRect(0, top, view.width, height);
    context.fillStyle = colors[index % colors.length];
    for (const span of lane.spans) {
      const left = (span.ts - view.x) * view.sx,
        width = Math.max(1, span.dur * view.sx);
      if (left + width >= 0 && left <= view.width) context.fillRect(left, top, width, height);
    }
    context.fillStyle = color("--back");
    context.fillRect(0, top, NAMES - 8, LANE);
    context.fillStyle = color("--front");
    context.fillText(lane.title, 4, top + height / 2 + 4);
  });
  const foot = lanes.length * LANE + 16,
    step = 120;
  for (let at = NAMES; at < view.width - step / 2; at += step)
    context.fillText(`${number(at / view.sx + view.x)} us`, at, foot);
}

function lanes_find(lanes, x, y) {
  const lane = lanes[Math.floor(y / LANE)];
  if (!lane) return null;
  const span = lane.spans.find((one) => x >= one.ts && x <= one.ts + one.dur);
  return span
    ? `${lane.title}: ${span.name}, from ${number(span.ts)} us, ${number(span.dur * 1000)} ns`
    : null;
}

const SPAN_COLUMNS = [
  {name: "lane"},
  {name: "step"},
  {name: "begin_us", title: "begin, us"},
  {name: "ns", title: "length, ns"},
];

function time_line(title, events) {
  const lanes = lanes_of(events);
  const spans = lanes.flatMap((lane) =>
    lane.spans.map((span) => ({
      lane: lane.title,
      step: span.name,
      begin_us: span.ts,
      ns: span.dur * 1000,
    })),
  );
  const first = spans.reduce((least, span) => Math.min(least, span.begin_us), Infinity);
  const last = spans.reduce((most, span) => Math.max(most, span.begin_us + span.ns / 1000), 0);
  const view = viewer({
    label: `${title}: ${lanes.length} lanes, ${spans.length} steps`,
    height: lanes.length * LANE + 28,
    flat: true,
    left: NAMES,
    world: {x: first, y: 0, width: last - first, height: lanes.length * LANE},
    draw: (context, at) => lanes_draw(lanes, context, at),
    find: (x, y) => lanes_find(lanes, x, y),
  });
  return element(
    "section",
    {"aria-label": title},
    element("h3", {}, title),
    view.element,
    fold("Values", () => [table(title, SPAN_COLUMNS, spans)]),
  );
}
