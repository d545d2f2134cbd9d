// SPDX-License-Identifier: BSD-3-Clause
// A drawing that one moves and magnifies, by mouse, finger, keys or buttons.
"use strict";

const viewers = []; // to be drawn again when colours or the width change

// what: {label, height, world: {x, y, width, height}, flat, left, draw(context, view)}, and what is
// at a place: find(x, y, view) says it, choose(x, y, view) takes it. flat: only the x axis is
// magnified; left: pixels beside it for names. view: screen = (world - x) * sx, (world - y) * sy.
function viewer(what) {
  const canvas = element("canvas", {
    tabindex: "0",
    role: "img",
    "aria-label": `${what.label}. Arrow keys move, plus and minus magnify, 0 shows all.`,
  });
  const tip = element("div", {class: "tip", hidden: true});
  const self = {what, canvas, tip, view: null, drag: null};
  canvas.style.height = `${what.height}px`;
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      viewer_zoom(self, event.deltaY < 0 ? 1.25 : 0.8, event.offsetX, event.offsetY);
    },
    {passive: false},
  );
  canvas.addEventListener("pointerdown", (event) => {
    self.drag = [event.clientX, event.clientY];
    self.has_moved = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", (event) => viewer_release(self, event));
  canvas.addEventListener("pointermove", (event) => viewer_point(self, event));
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  canvas.addEventListener("keydown", (event) => viewer_key(self, event));
  viewers.push(self);
  const half = (factor) => () => viewer_zoom(self, factor);
  self.element = element(
    "div",
    {},
    element("div", {class: "viewer"}, canvas, tip),
    element(
      "p",
      {class: "tools"},
      button("Zoom in", half(1.6)),
      button("Zoom out", half(1 / 1.6)),
      button("All", () => viewer_all(self)),
    ),
  );
  return self;
}

function viewer_all(self) {
  self.view = null;
  viewer_draw(self);
}

function viewer_fit(self, width, height) {
  const world = self.what.world;
  const margin = 24,
    left = self.what.left || margin;
  const sx = (width - left - margin) / (world.width || 1);
  const sy = (height - 2 * margin) / (world.height || 1);
  if (self.what.flat) return {x: world.x - left / sx, y: world.y, sx, sy: 1, width, height};
  const scale = Math.min(sx, sy);
  return {
    x: world.x - (width / scale - world.width) / 2,
    y: world.y - (height / scale - world.height) / 2,
    sx: scale,
    sy: scale,
    width,
    height,
  };
}

function viewer_draw(self) {
  const canvas = self.canvas,
    ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth,
    height = canvas.clientHeight;
  if (width === 0) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  if (!self.view) self.view = viewer_fit(self, width, height);
  Object.assign(self.view, {width, height});
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "12px system-ui, sans-serif";
  self.what.draw(context, self.view);
}

function viewer_zoom(self, factor, at_x, at_y) {
  const view = self.view,
    middle_x = at_x ?? view.width / 2,
    middle_y = at_y ?? view.height / 2;
  view.x += (middle_x / view.sx) * (1 - 1 / factor);
  view.sx *= factor;
  if (!self.what.flat) {
    view.y += (middle_y / view.sy) * (1 - 1 / factor);
    view.sy *= factor;
  }
  viewer_draw(self);
}

function viewer_move(self, right, down) {
  self.view.x += right / self.view.sx;
  if (!self.what.flat) self.view.y += down / self.view.sy;
  viewer_draw(self);
}

function viewer_point(self, event) {
  const view = self.view;
  if (self.drag) {
    self.has_moved ||= Math.hypot(event.movementX, event.movementY) > 1;
    viewer_move(self, self.drag[0] - event.clientX, self.drag[1] - event.clientY);
    self.drag = [event.clientX, event.clientY];
    return;
  }
  const text = self.what.find(
    event.offsetX / view.sx + view.x,
    event.offsetY / view.sy + view.y,
    view,
  );
  self.tip.hidden = !text;
  if (!text) return;
  self.tip.textContent = text;
  self.tip.style.left = `${Math.min(event.offsetX + 12, view.width * 0.6)}px`;
  self.tip.style.top = `${event.offsetY + 12}px`;
}

function viewer_release(self, event) {
  const view = self.view;
  self.drag = null;
  if (!self.has_moved && self.what.choose)
    self.what.choose(event.offsetX / view.sx + view.x, event.offsetY / view.sy + view.y, view);
}

function viewer_key(self, event) {
  const step = 40;
  const moves = {
    ArrowLeft: [-step, 0],
    ArrowRight: [step, 0],
    ArrowUp: [0, -step],
    ArrowDown: [0, step],
  };
  if (moves[event.key]) viewer_move(self, ...moves[event.key]);
  else if (event.key === "+" || event.key === "=") viewer_zoom(self, 1.25);
  else if (event.key === "-") viewer_zoom(self, 0.8);
  else if (event.key === "0") viewer_all(self);
  else return;
  event.preventDefault();
}

function viewers_draw() {
  drawn(viewers, viewer_draw);
}
