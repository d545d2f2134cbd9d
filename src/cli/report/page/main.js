// SPDX-License-Identifier: BSD-3-Clause
// From the data to the page: what both pages do.
"use strict";

function page_head(data, from) {
  document.title = data.title;
  document.querySelector("h1").textContent = data.title;
  document.getElementById("made").textContent = `Made by ${data.made_by}, ${data.made_at}${from}`;
}

function theme_set(name) {
  document.documentElement.dataset.theme = name;
  document.getElementById("theme").textContent = name === "dark" ? "Light" : "Dark";
  plots_draw();
  viewers_draw();
}

function page_start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  page_fill(data);
  const wants_dark = window.matchMedia("(prefers-color-scheme: dark)");
  theme_set(wants_dark.matches ? "dark" : "light");
  wants_dark.addEventListener("change", (event) => theme_set(event.matches ? "dark" : "light"));
  document
    .getElementById("theme")
    .addEventListener("click", () => theme_set(theme() === "dark" ? "light" : "dark"));
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    plots_draw();
    viewers_draw();
  });
}
