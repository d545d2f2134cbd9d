// SPDX-License-Identifier: BSD-3-Clause
// Looks for all words of the search field in titles, headings, names of the manual and error texts.
// PAGES comes from index.js: [address, title, what else is there].
"use strict";
(function () {
    const field = document.getElementById("search"), list = document.getElementById("found");
    const all = document.getElementById("pages"), base = document.body.dataset.base;
    const plain = (text) => text.toLowerCase().replace(/[`'"…]/g, " ");
    const pages = PAGES.map(([address, title, more]) => ({address, title, more, plain: plain(title + " " + more)}));
    const rank = (page, words) => words.every((w) => plain(page.title).includes(w)) ? 0 : 1;
    function show() {
        const words = plain(field.value).split(/\s+/).filter(Boolean);
        all.hidden = words.length > 0;
        list.hidden = words.length === 0;
        list.replaceChildren();
        if (!words.length)
            return;
        const found = pages.filter((page) => words.every((word) => page.plain.includes(word)));
        found.sort((a, b) => rank(a, words) - rank(b, words));
        for (const page of found.slice(0, 40)) {
            const link = document.createElement("a"), item = document.createElement("li");
            link.href = base + page.address;
            link.textContent = page.title;
            item.append(link);
            list.append(item);
        }
        if (!found.length)
            list.textContent = "nothing found; try fewer words, without numbers";
    }
    field.hidden = false;
    field.addEventListener("input", show);
    document.addEventListener("keydown", (event) => {
        if (event.key === "/" && document.activeElement !== field) {
            field.focus();
            event.preventDefault();
        }
    });
})();
