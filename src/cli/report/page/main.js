// SPDX-License-Identifier: BSD-3-Clause
// From the data to the page.
"use strict";

function kind_of(document) {
  const parts = /^rhinet (.*) \d+$/.exec(document.format || "");
  return parts ? parts[1] : "time line";
}

// Kind by kind in the order of SECTIONS, then file by file.
function by_kind(runs) {
  const kinds = new Map(Object.keys(SECTIONS).map((kind) => [kind, []]));
  for (const {file, documents} of runs) {
    for (const kind of new Set(documents.map(kind_of)))
      kinds.get(kind).push({file, documents: documents.filter((one) => kind_of(one) === kind)});
  }
  return [...kinds].filter(([, found]) => found.length > 0);
}

// One that cannot be shown does not hide the others.
function section_body(show, run) {
  try {
    return show(run);
  } catch (error) {
    console.error(error);
    return [element("p", {class: "bad", role: "alert"},
      `${run.file}: cannot be shown: ${error.message}`)];
  }
}

function theme_set(name) {
  document.documentElement.dataset.theme = name;
  document.getElementById("theme").textContent = name === "dark" ? "Light" : "Dark";
  plots_draw();
  viewers_draw();
}

function page_fill(data) {
  const main = document.getElementById("content"), list = element("ul");
  document.title = data.title;
  document.querySelector("h1").textContent = data.title;
  document.getElementById("made").textContent = `Made by ${data.made_by}, ${data.made_at}, from ${
    data.runs.map((run) => run.file).join(", ")}`;
  document.querySelector("nav").append(list);
  for (const [kind, runs] of by_kind(data.runs)) {
    const [title, show] = SECTIONS[kind], id = kind.replace(/ /g, "-");
    list.append(element("li", {}, element("a", {href: `#${id}`}, title)));
    main.append(element("section", {id, "aria-labelledby": `${id}-title`},
      element("h2", {id: `${id}-title`}, title),
      ...runs.flatMap((run) => section_body(show, run).filter((part) => part !== null))));
  }
}

function page_start() {
  page_fill(JSON.parse(document.getElementById("data").textContent));
  const wants_dark = window.matchMedia("(prefers-color-scheme: dark)");
  theme_set(wants_dark.matches ? "dark" : "light");
  wants_dark.addEventListener("change", (event) => theme_set(event.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () =>
    theme_set(theme() === "dark" ? "light" : "dark"));
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    plots_draw();
    viewers_draw();
  });
}

page_start();
