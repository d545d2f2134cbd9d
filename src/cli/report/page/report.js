// SPDX-License-Identifier: BSD-3-Clause
// The page of `rhinet report`: documents that were given to it.
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
      kinds.get(kind)?.push({file, documents: documents.filter((one) => kind_of(one) === kind)});
  }
  return [...kinds].filter(([, found]) => found.length > 0);
}

// One that cannot be shown does not hide the others.
function section_body(show, run) {
  try {
    return show(run);
  } catch (error) {
    console.error(error);
    return [
      element("p", {class: "bad", role: "alert"}, `${run.file}: cannot be shown: ${error.message}`),
    ];
  }
}

function page_fill(data) {
  const main = document.getElementById("content"),
    list = element("ul");
  page_head(data, `, from ${data.runs.map((run) => run.file).join(", ")}`);
  document.querySelector("nav").append(list);
  for (const [kind, runs] of by_kind(data.runs)) {
    const [title, show] = SECTIONS[kind],
      id = kind.replace(/ /g, "-");
    list.append(element("li", {}, element("a", {href: `#${id}`}, title)));
    main.append(
      element(
        "section",
        {id, "aria-labelledby": `${id}-title`},
        element("h2", {id: `${id}-title`}, title),
        ...runs.flatMap((run) => section_body(show, run).filter((part) => part !== null)),
      ),
    );
  }
}

page_start();
