// SPDX-License-Identifier: BSD-3-Clause
// A network as a map: switches by level where it has levels, else where springs put them; cables
// coloured by their load; prohibited turns at the switch that is chosen.
"use strict";

const SPRING_ROUNDS = 60;

// links: {from, to, load}; one for each direction. Without switch_names, who has a single neighbour
// is a host.
function network_of(links, switch_names) {
  const nodes = new Map();
  const node = (name) => {
    if (!nodes.has(name)) nodes.set(name, {name, near: new Set(), x: 0, y: 0, level: 0});
    return nodes.get(name);
  };
  const cables = new Map();
  for (const link of links) {
    const from = node(link.from),
      to = node(link.to);
    from.near.add(to);
    to.near.add(from);
    const key = link.from < link.to ? `${link.from}\n${link.to}` : `${link.to}\n${link.from}`;
    if (!cables.has(key)) cables.set(key, {a: from, b: to, load: 0, links: []});
    const cable = cables.get(key);
    cable.load = Math.max(cable.load, link.load);
    cable.links.push(link);
  }
  for (const one of nodes.values())
    one.is_host = switch_names ? !switch_names.has(one.name) : one.near.size === 1;
  return {nodes: [...nodes.values()], cables: [...cables.values()]};
}

// Levels are distances from the nearest host; a network that has only one level has none.
function network_levels(network) {
  const switches = network.nodes.filter((node) => !node.is_host);
  const edge = switches.filter((node) => [...node.near].some((other) => other.is_host));
  const seen = new Set(edge);
  let row = edge,
    level = 1;
  while (row.length > 0) {
    row.forEach((node) => {
      node.level = level;
    });
    const next = new Set();
    for (const node of row) {
      for (const other of node.near) if (!other.is_host && !seen.has(other)) next.add(other);
    }
    next.forEach((node) => seen.add(node));
    row = [...next];
    level++;
  }
  return switches.every((node) => node.level > 0) ? level - 1 : 0;
}

function middle(values) {
  return values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
}

function place_by_level(network, level_count) {
  const rows = [];
  for (let level = 1; level <= level_count; level++)
    rows.push(network.nodes.filter((node) => node.level === level && !node.is_host));
  const widest = Math.max(...rows.map((row) => row.length));
  const spread = (row, y) =>
    row.forEach((node, index) => {
      node.x = ((index + 0.5) * widest) / row.length;
      node.y = y;
    });
  const step = Math.max(1, widest / (2 * level_count));
  rows.forEach((row, index) => spread(row, -index * step));
  for (let round = 0; round < 4; round++) {
    // near what one is cabled to
    for (const row of rows.slice(1)) {
      const y = row.length ? row[0].y : 0;
      const wish = new Map(
        row.map((node) => [
          node,
          middle([...node.near].filter((other) => !other.is_host).map((other) => other.x)),
        ]),
      );
      spread(
        row.sort((a, b) => wish.get(a) - wish.get(b)),
        y,
      );
    }
  }
  return widest;
}

function place_by_springs(network) {
  const nodes = network.nodes.filter((node) => !node.is_host),
    count = nodes.length;
  const radius = Math.sqrt(count) + 1;
  nodes.forEach((node, index) => {
    node.x = radius * Math.cos((index * 2 * Math.PI) / count);
    node.y = radius * Math.sin((index * 2 * Math.PI) / count);
  });
  for (let round = 0; round < (count > 1500 ? 0 : SPRING_ROUNDS); round++) {
    const step = 0.3 * (1 - round / SPRING_ROUNDS);
    for (const node of nodes) {
      node.fx = 0;
      node.fy = 0;
    }
    for (let i = 0; i < count; i++) {
      for (let j = i + 1; j < count; j++) spring_push(nodes[i], nodes[j]);
    }
    for (const {a, b} of network.cables) if (!a.is_host && !b.is_host) spring_pull(a, b);
    for (const node of nodes) {
      const size = Math.hypot(node.fx, node.fy) || 1,
        far = Math.min(size, 1) * step * 2;
      node.x += (node.fx / size) * far;
      node.y += (node.fy / size) * far;
    }
  }
  return radius * 2;
}

function spring_push(a, b) {
  const x = a.x - b.x,
    y = a.y - b.y,
    far = x * x + y * y + 0.01;
  a.fx += x / far;
  a.fy += y / far;
  b.fx -= x / far;
  b.fy -= y / far;
}

function spring_pull(a, b) {
  const x = b.x - a.x,
    y = b.y - a.y,
    far = Math.hypot(x, y);
  a.fx += x * far * 0.3;
  a.fy += y * far * 0.3;
  b.fx -= x * far * 0.3;
  b.fy -= y * far * 0.3;
}

// Below their switch, or around it.
function place_hosts(network, level_count) {
  for (const node of network.nodes) {
    if (node.is_host) continue;
    const hosts = [...node.near].filter((other) => other.is_host);
    hosts.forEach((host, index) => {
      if (level_count > 1) {
        host.x = node.x - 0.4 + (0.8 * (index + 0.5)) / hosts.length;
        host.y = node.y + 0.5;
      } else {
        const angle = (index * 2 * Math.PI) / hosts.length;
        host.x = node.x + 0.3 * Math.cos(angle);
        host.y = node.y + 0.3 * Math.sin(angle);
      }
    });
  }
}

function mixed(part, from, to) {
  const read = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const a = read(from),
    b = read(to);
  return `rgb(${a.map((value, index) => Math.round(value + (b[index] - value) * part)).join(",")})`;
}

function heat(part) {
  return part < 0.5
    ? mixed(part * 2, color("--cold"), color("--warm"))
    : mixed(part * 2 - 1, color("--warm"), color("--hot"));
}

const HEATS = 32;

// Where cables lie one above the other, or one switch is looked at, the others are faint.
function map_clearness(map, view) {
  const crowd = map.network.cables.length / Math.max(1, (view.width * view.sx) / 40);
  return Math.max(0.05, Math.min(1, 1 / crowd)) * (map.chosen ? 0.3 : 1);
}

function map_draw(map, context, view) {
  const sx = (node) => (node.x - view.x) * view.sx,
    sy = (node) => (node.y - view.y) * view.sy;
  const with_hosts = map.network.nodes.length < 300 || view.sx > 12;
  const clear = map_clearness(map, view);
  const heats = Array.from({length: HEATS}, (_, index) => heat(index / (HEATS - 1)));
  // Few colours, so that 10,000 cables are quick.
  const rows = Array.from({length: HEATS}, () => []);
  for (const cable of map.network.cables) {
    if (!with_hosts && (cable.a.is_host || cable.b.is_host)) continue;
    const part = map.most > 0 ? cable.load / map.most : 0;
    rows[Math.min(HEATS - 1, Math.floor(part * HEATS))].push(cable);
  }
  rows.forEach((cables, index) => {
    context.strokeStyle = heats[index];
    for (const is_chosen of [false, true]) {
      context.globalAlpha = is_chosen ? 1 : clear;
      context.lineWidth = is_chosen || clear > 0.5 ? 1 + (2 * index) / HEATS : 1;
      context.beginPath();
      for (const {a, b} of cables) {
        if ((a === map.chosen || b === map.chosen) !== is_chosen) continue;
        context.moveTo(sx(a), sy(a));
        context.lineTo(sx(b), sy(b));
      }
      context.stroke();
    }
  });
  context.globalAlpha = 1;
  const size = Math.max(2, Math.min(9, view.sx * 0.12));
  for (const node of map.network.nodes) {
    if (node.is_host && !with_hosts) continue;
    context.fillStyle =
      node === map.chosen
        ? color("--accent")
        : map.turns.has(node.name)
          ? color("--bad")
          : color(node.is_host ? "--dim" : "--front");
    const half = node.is_host ? size / 2 : size;
    context.fillRect(sx(node) - half, sy(node) - half, 2 * half, 2 * half);
    if (view.sx > 40 && !node.is_host) {
      context.fillStyle = color("--front");
      context.fillText(node.name, sx(node) + size + 2, sy(node) - size);
    }
  }
  map_draw_turns(map, context, sx, sy);
}

// From one neighbour through the chosen switch to another: what no packet may do.
function map_draw_turns(map, context, sx, sy) {
  if (!map.chosen) return;
  context.strokeStyle = color("--bad");
  context.lineWidth = 2;
  context.setLineDash([5, 4]);
  for (const turn of map.turns.get(map.chosen.name) || []) {
    const from = map.by_name.get(turn.from),
      to = map.by_name.get(turn.to);
    if (!from || !to) continue;
    const toward = (node) => [
      sx(map.chosen) + (sx(node) - sx(map.chosen)) * 0.4,
      sy(map.chosen) + (sy(node) - sy(map.chosen)) * 0.4,
    ];
    context.beginPath();
    context.moveTo(...toward(from));
    context.quadraticCurveTo(sx(map.chosen), sy(map.chosen), ...toward(to));
    context.stroke();
  }
  context.setLineDash([]);
}

function map_node_at(map, x, y, view) {
  return map.network.nodes.find(
    (node) => Math.hypot((node.x - x) * view.sx, (node.y - y) * view.sy) < 8,
  );
}

function map_find(map, x, y, view) {
  const node = map_node_at(map, x, y, view);
  if (node) {
    const turns = map.turns.get(node.name);
    return (
      `${node.is_host ? "host" : "switch"} ${node.name}` +
      (turns ? `, ${turns.length} turns prohibited` : "")
    );
  }
  for (const cable of map.network.cables) {
    const {a, b} = cable,
      dx = (b.x - a.x) * view.sx,
      dy = (b.y - a.y) * view.sy;
    const px = (x - a.x) * view.sx,
      py = (y - a.y) * view.sy;
    const part = (px * dx + py * dy) / (dx * dx + dy * dy || 1);
    if (part < 0 || part > 1 || Math.hypot(px - part * dx, py - part * dy) > 4) continue;
    return cable.links.map((link) => `${link.from} to ${link.to}: ${number(link.load)}`).join("; ");
  }
  return null;
}

// what: {title, links, turns: [{at, from, to}], switches: Set of names or null, unit}.
function network_map(what) {
  const network = network_of(what.links, what.switches);
  const level_count = network_levels(network);
  const widest = level_count > 1 ? place_by_level(network, level_count) : place_by_springs(network);
  place_hosts(network, level_count);
  const map = {
    network,
    chosen: null,
    turns: new Map(),
    by_name: new Map(network.nodes.map((node) => [node.name, node])),
    most: network.cables.reduce((most, cable) => Math.max(most, cable.load), 0),
  };
  for (const turn of what.turns || []) {
    if (!map.turns.has(turn.at)) map.turns.set(turn.at, []);
    map.turns.get(turn.at).push(turn);
  }
  const xs = network.nodes.map((node) => node.x),
    ys = network.nodes.map((node) => node.y);
  const low = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const high = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const world = {
    x: low(xs),
    y: low(ys),
    width: high(xs) - low(xs) || widest,
    height: high(ys) - low(ys) || 1,
  };
  const view = viewer({
    label: `${what.title}: ${network.nodes.length} nodes, ${network.cables.length} cables`,
    height: 460,
    world,
    draw: (context, at) => map_draw(map, context, at),
    find: (x, y, at) => map_find(map, x, y, at),
    choose: (x, y, at) => map.choose(map_node_at(map, x, y, at)),
  });
  return element(
    "section",
    {"aria-label": what.title},
    element("h3", {}, what.title),
    view.element,
    map_chooser(map, view, what),
  );
}

function map_chooser(map, view, what) {
  const said = element("span", {role: "status"});
  const input = element("input", {
    type: "search",
    placeholder: "switch or host",
    "aria-label": "Name of a switch or host",
    onchange: () => {
      const name = input.value.trim();
      map.choose(map.by_name.get(name));
      if (name && !map.chosen) said.textContent = `there is no ${name}`;
    },
  });
  map.choose = (node) => {
    map.chosen = node || null;
    const turns = node ? map.turns.get(node.name) || [] : [];
    input.value = node ? node.name : input.value;
    said.textContent = node
      ? `${node.name}: ${node.near.size} neighbours, ${turns.length} turns prohibited`
      : "";
    viewer_draw(view);
  };
  return element(
    "p",
    {class: "tools"},
    element("label", {}, "Show ", input),
    said,
    element(
      "span",
      {},
      "load 0 ",
      element("span", {class: "scale", "aria-hidden": "true"}),
      ` ${number(map.most)} ${what.unit || ""}`,
    ),
  );
}
