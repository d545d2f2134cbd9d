// SPDX-License-Identifier: BSD-3-Clause
// Elements, numbers and tables. Text becomes text nodes only: nothing of a file is ever markup.
"use strict";

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return number(value);
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

// Five digits are enough for people; the file has the rest.
function number(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return value.toLocaleString("en-US");
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(3);
  return String(Number(value.toPrecision(5)));
}

// On axes, where there is no room: 30M.
function short_number(value) {
  const size = Math.abs(value);
  for (const [unit, name] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e4, "k"],
  ]) {
    if (size >= unit)
      return `${Number((value / (unit === 1e4 ? 1e3 : unit)).toPrecision(4))}${name}`;
  }
  return number(value);
}

function words(name) {
  return name.replace(/_/g, " ");
}

function button(text, act, attributes) {
  return element("button", {type: "button", onclick: act, ...attributes}, text);
}

// A button that stays down; act is told whether it is.
function toggle(text, act, is_down = false) {
  const made = button(
    text,
    () => {
      const down = made.getAttribute("aria-pressed") !== "true";
      made.setAttribute("aria-pressed", String(down));
      act(down);
    },
    {"aria-pressed": String(is_down)},
  );
  return made;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return shown(a).localeCompare(shown(b), "en", {numeric: true});
}

// Names stay on one line; prose may be broken.
function is_short(value) {
  return shown(value).length < 24;
}

// columns: {name, title, value(row), cell(row)}; only the name is needed. Sorted by its headings,
// and stays so when refill(rows) brings others.
function table(caption, columns, first_rows) {
  const body = element("tbody");
  let rows = first_rows,
    sorted_by = null,
    is_up = true;
  const value = (column, row) => (column.value ? column.value(row) : row[column.name]);
  const is_number = (column) => rows.some((row) => typeof value(column, row) === "number");
  const cell = (column, row, numbers) =>
    element(
      "td",
      {class: numbers.has(column) ? "number" : is_short(value(column, row)) ? "short" : null},
      column.cell ? column.cell(row) : shown(value(column, row)),
    );
  const fill = () => {
    const numbers = new Set(columns.filter(is_number));
    const order = rows.slice();
    if (sorted_by) order.sort((a, b) => compare(value(sorted_by, a), value(sorted_by, b)));
    if (!is_up) order.reverse();
    body.replaceChildren(
      ...order.map((row) =>
        element(
          "tr",
          {},
          columns.map((column) => cell(column, row, numbers)),
        ),
      ),
    );
  };
  const heads = columns.map((column) => {
    const head = element(
      "th",
      {scope: "col", class: is_number(column) ? "number" : null},
      button(column.title ?? words(column.name), () => {
        is_up = sorted_by !== column || !is_up;
        sorted_by = column;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", is_up ? "ascending" : "descending");
        fill();
      }),
    );
    return column.title === "" ? element("td") : head;
  });
  fill();
  const made = element(
    "div",
    {class: "wide", tabindex: "0", role: "region", "aria-label": caption},
    element(
      "table",
      {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, heads)),
      body,
    ),
  );
  made.refill = (others) => {
    rows = others;
    fill();
  };
  return made;
}

// What can stand in a table of its own accord: all members that are no lists or objects.
function plain_columns(rows) {
  const names = new Set();
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      if (name !== "format" && (value === null || typeof value !== "object")) names.add(name);
    }
  }
  return [...names].map((name) => ({name}));
}

function facts(object) {
  const list = element("dl", {class: "facts"});
  for (const [name, value] of Object.entries(object)) {
    if (name === "format" || (value !== null && typeof value === "object")) continue;
    list.append(element("dt", {}, words(name)), element("dd", {}, shown(value)));
  }
  return list;
}

// What is inside is made when somebody looks, because it may be long.
function fold(summary, make) {
  const made = element("details", {}, element("summary", {}, summary));
  made.addEventListener("toggle", () => made.append(...make()), {once: true});
  return made;
}

function verdict(is_good, good = "holds", bad = "does not hold") {
  if (is_good === null || is_good === undefined) return "";
  return element("span", {class: is_good ? "good" : "bad"}, is_good ? good : bad);
}

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
