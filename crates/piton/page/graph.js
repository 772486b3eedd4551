// The plan as a graph. Where everything stands comes from the server; only what can be seen is drawn.

import { h } from "./dom.js";
import { Drawing } from "./canvas.js";
import { statusOf } from "./words.js";

// Pixels of one unit of the layout at full size, and of the box in it.
const [UNIT_X, UNIT_Y, BOX_X, BOX_Y] = [190, 58, 160, 40];
// Below these scales there are no titles, no ids, no edges of boxes.
const [TITLES, IDS] = [0.62, 0.33];
const CELL = 8;

export function graph(app) {
  let [layout, tasks, plan, index, hits, marked] = [null, [], null, new Map(), new Set(), null];
  let names = {};
  // The task of the address that was gone to already.
  let shown = null;
  const folded = new Set();
  const drawing = new Drawing({ label: "The plan as a graph. The list of tasks has the same in text.", paint, pick, open, least: 0.01 });
  drawing.place = fit;

  function fit() {
    if (!layout) return false;
    const scale = Math.min(drawing.width / ((layout.width + 1) * UNIT_X), drawing.height / ((layout.height + 1) * UNIT_Y), 1.25);
    drawing.sx = drawing.sy = Math.max(scale, 0.01);
    drawing.x = Math.max(20, (drawing.width - layout.width * UNIT_X * drawing.sx) / 2);
    drawing.y = Math.max(20, (drawing.height - layout.height * UNIT_Y * drawing.sy) / 2);
    return true;
  }

  // Which nodes are in which part of the plane.
  function arrange() {
    index = new Map();
    layout.nodes.forEach((node, at) => {
      const key = `${Math.floor(node.x / CELL)},${Math.floor(node.y / CELL)}`;
      if (!index.has(key)) index.set(key, []);
      index.get(key).push(at);
      node.after = [];
      node.before = [];
    });
    for (const [from, to] of layout.edges) {
      layout.nodes[from].after.push(to);
      layout.nodes[to].before.push(from);
    }
    layout.groups.forEach((group) => group.members.forEach((at) => (layout.nodes[at].frame = group)));
  }

  function seen() {
    const [left, top] = drawing.units(0, 0);
    const [right, bottom] = drawing.units(drawing.width, drawing.height);
    const found = [];
    for (let cx = Math.floor(left / UNIT_X / CELL) - 1; cx <= Math.floor(right / UNIT_X / CELL); cx++) {
      for (let cy = Math.floor(top / UNIT_Y / CELL) - 1; cy <= Math.floor(bottom / UNIT_Y / CELL); cy++) {
        for (const at of index.get(`${cx},${cy}`) ?? []) {
          const { x, y } = layout.nodes[at];
          if ((x + 1) * UNIT_X > left && x * UNIT_X < right && (y + 1) * UNIT_Y > top && y * UNIT_Y < bottom) found.push(at);
        }
      }
    }
    return found;
  }

  // Where a task is drawn, or its group instead of it.
  function box(at) {
    const node = layout.nodes[at];
    if (node.frame && folded.has(node.frame.name)) {
      const { x, y, width, height } = node.frame;
      return [x * UNIT_X, y * UNIT_Y, width * UNIT_X - UNIT_X + BOX_X, height * UNIT_Y - UNIT_Y + BOX_Y];
    }
    return [node.x * UNIT_X, node.y * UNIT_Y, BOX_X, BOX_Y];
  }

  function paint(context) {
    if (!layout) return;
    const color = drawing.colors();
    const scale = drawing.sx;
    context.save();
    context.translate(drawing.x, drawing.y);
    context.scale(scale, scale);
    frames(context, color, scale);
    const visible = seen();
    edges(context, color, visible, scale);
    const fills = { good: [color["good-tint"], color.good], busy: [color["busy-tint"], color.busy], warning: [color["warning-tint"], color.warning], bad: [color["bad-tint"], color.bad], quiet: [color.surface, color.idle] };
    const isSearching = hits.size > 0;
    for (const at of visible) {
      const { frame } = layout.nodes[at];
      if (frame && folded.has(frame.name)) continue;
      const [x, y, width, height] = box(at);
      const [sign, tone] = statusOf(tasks[at].status);
      const [fill, stroke] = fills[tone];
      context.globalAlpha = isSearching && !hits.has(at) ? 0.25 : 1;
      context.fillStyle = scale < IDS ? stroke : fill;
      context.strokeStyle = at === marked ? color.accent : stroke;
      context.lineWidth = at === marked ? 4 : 1.5;
      context.beginPath();
      if (scale < IDS) context.rect(x, y, width, height);
      else context.roundRect(x, y, width, height, 7);
      context.fill();
      if (scale >= IDS || at === marked) context.stroke();
      if (scale >= IDS) text(context, color, at, x, y, width, sign, stroke, scale);
    }
    context.restore();
  }

  function text(context, color, at, x, y, width, sign, tone, scale) {
    const { id, title } = tasks[at];
    context.save();
    context.beginPath();
    context.rect(x, y, width - 4, BOX_Y);
    context.clip();
    context.textBaseline = "middle";
    context.fillStyle = tone;
    const isSmall = scale < TITLES;
    context.font = `600 ${isSmall ? 19 : 13}px ui-monospace, monospace`;
    context.fillText(`${sign} ${id}`, x + 9, y + (isSmall ? 21 : 13));
    if (!isSmall) {
      context.fillStyle = color.text;
      context.font = "12px system-ui, sans-serif";
      context.fillText(cut(context, title, width - 18), x + 9, y + 29);
    }
    context.restore();
  }

  function cut(context, title, width) {
    const wide = context.measureText(title).width;
    return wide <= width ? title : `${title.slice(0, Math.max(1, Math.floor((title.length * width) / wide) - 1)).trimEnd()}…`;
  }

  function frames(context, color, scale) {
    for (const group of layout.groups) {
      const [x, y, width, height] = [group.x * UNIT_X - 12, group.y * UNIT_Y - 10, group.width * UNIT_X - (UNIT_X - BOX_X) + 24, group.height * UNIT_Y - (UNIT_Y - BOX_Y) + 20];
      const isFolded = folded.has(group.name);
      context.fillStyle = color.sunk;
      context.strokeStyle = color.line;
      context.lineWidth = 1.5;
      context.beginPath();
      context.roundRect(x, y, width, height, 12);
      context.fill();
      context.stroke();
      if (isFolded) foldedGroup(context, color, group);
      const size = Math.min(60, Math.max(13, 11 / scale));
      context.fillStyle = color.muted;
      context.font = `600 ${size}px system-ui, sans-serif`;
      context.textBaseline = "bottom";
      context.fillText(`${isFolded ? "▸" : "▾"} ${names[group.name] ?? group.name}`, x + 4, y - 3, Math.max(width, 40));
    }
  }

  // One box with how far its tasks are.
  function foldedGroup(context, color, group) {
    const [x, y, width, height] = box(group.members[0]);
    const all = group.members.length;
    const tones = { good: 0, busy: 0, warning: 0, bad: 0 };
    for (const at of group.members) {
      const [, tone] = statusOf(tasks[at].status);
      if (tone in tones) tones[tone]++;
    }
    let from = x;
    for (const [tone, count] of Object.entries(tones)) {
      context.fillStyle = color[`${tone}-tint`];
      context.fillRect(from, y, width * (count / all), height);
      context.fillStyle = color[tone];
      context.fillRect(from, y + height * 0.86, width * (count / all), height * 0.14);
      from += width * (count / all);
    }
    const size = Math.min(height * 0.3, width * 0.12);
    context.font = `600 ${size}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.fillStyle = color.text;
    context.fillText(names[group.name] ?? group.name, x + size * 0.5, y + height * 0.25, width - size);
    context.fillText(`${tones.good} of ${all}`, x + size * 0.5, y + height * 0.6, width - size);
  }

  function edges(context, color, visible, scale) {
    const isMany = visible.length > 6000;
    const drawn = new Set();
    context.lineWidth = Math.min(3, 1.2 / Math.max(scale, 0.3));
    const lines = (isStrong) => {
      context.beginPath();
      for (const at of visible) {
        const { after, before } = layout.nodes[at];
        const pairs = [...after.map((to) => [at, to]), ...before.map((from) => [from, at])];
        for (const [from, to] of pairs) {
          if ((from === marked || to === marked) !== isStrong) continue;
          const key = from * 100000 + to;
          const isInside = layout.nodes[from].frame && layout.nodes[from].frame === layout.nodes[to].frame && folded.has(layout.nodes[from].frame.name);
          if (drawn.has(key) || isInside) continue;
          drawn.add(key);
          line(context, from, to, isMany);
        }
      }
      context.strokeStyle = isStrong ? color.accent : color["strong-line"];
      context.globalAlpha = isStrong ? 1 : scale < IDS ? 0.35 : 0.7;
      context.stroke();
      context.globalAlpha = 1;
    };
    lines(false);
    if (marked !== null) lines(true);
  }

  function line(context, from, to, isPlain) {
    const [x, y, width, height] = box(from);
    const [tx, ty, , theight] = box(to);
    const [sx, sy, ex, ey] = [x + width, y + height / 2, tx, ty + theight / 2];
    context.moveTo(sx, sy);
    if (isPlain) return context.lineTo(ex, ey);
    const bend = Math.max(24, (ex - sx) / 2);
    context.bezierCurveTo(sx + bend, sy, ex - bend, ey, ex, ey);
  }

  function pick(x, y) {
    if (!layout) return null;
    for (const group of layout.groups) {
      const [gx, gy] = [group.x * UNIT_X - 12, group.y * UNIT_Y - 10];
      const size = Math.min(60, Math.max(13, 11 / drawing.sx)) + 8;
      const isLabel = x >= gx && x <= gx + Math.max(group.width * UNIT_X, 40) && y >= gy - size && y <= gy;
      const inside = folded.has(group.name) && x >= gx && x <= gx + group.width * UNIT_X && y >= gy && y <= gy + group.height * UNIT_Y;
      if (isLabel || inside) return { group, tip: `${names[group.name] ?? group.name}: ${group.members.length} tasks; click to ${folded.has(group.name) ? "open" : "fold"}` };
    }
    const at = (index.get(`${Math.floor(x / UNIT_X / CELL)},${Math.floor(y / UNIT_Y / CELL)}`) ?? []).find((at) => {
      const node = layout.nodes[at];
      return !(node.frame && folded.has(node.frame.name)) && x >= node.x * UNIT_X && x <= node.x * UNIT_X + BOX_X && y >= node.y * UNIT_Y && y <= node.y * UNIT_Y + BOX_Y;
    });
    if (at === undefined) return null;
    return { at, tip: `${tasks[at].id} ${tasks[at].title} (${statusOf(tasks[at].status)[2]})` };
  }

  // A first click shows what a task depends on, a second one opens it.
  function open({ group, at }) {
    if (group) {
      if (!folded.delete(group.name)) folded.add(group.name);
    } else if (marked === at) return app.go("task", [tasks[at].id]);
    else marked = at;
    drawing.draw();
    app.redraw();
  }

  function search(event) {
    find(event.target.value);
    const [first] = hits;
    if (first !== undefined) center(first);
    drawing.draw();
    app.redraw();
  }

  function find(text) {
    const words = text.toLowerCase();
    hits = new Set(words ? tasks.flatMap(({ id, title }, at) => (id.toLowerCase().includes(words) || title.toLowerCase().includes(words) ? [at] : [])) : []);
    const note = document.getElementById("graph-hits");
    if (note) note.textContent = words ? `${hits.size} found` : "";
  }

  function center(at) {
    marked = at;
    drawing.sx = drawing.sy = Math.max(drawing.sx, 0.7);
    const { x, y } = layout.nodes[at];
    drawing.x = drawing.width / 2 - (x * UNIT_X + BOX_X / 2) * drawing.sx;
    drawing.y = drawing.height / 2 - (y * UNIT_Y + BOX_Y / 2) * drawing.sy;
  }

  function next(event) {
    if (event.key !== "Enter" || !hits.size) return;
    const all = [...hits];
    center(all[(all.indexOf(marked) + 1) % all.length]);
    drawing.draw();
    app.redraw();
  }

  return {
    wide: true,
    title: () => "Graph",
    leave: () => drawing.leave(),
    async load() {
      const statuses = layout && (await app.get("graph", { part: "statuses" }));
      if (!statuses || statuses.plan !== plan) {
        const answer = await app.get("graph");
        const chosen = tasks[marked]?.id;
        [layout, plan, names] = [answer.layout, answer.plan, answer.group_titles ?? {}];
        tasks = layout.nodes.map(({ id }, at) => ({ id, title: answer.titles[at], status: answer.statuses[at] }));
        arrange();
        // Another plan has other places: the mark and what was found stay with their tasks.
        const at = tasks.findIndex(({ id }) => id === chosen);
        marked = at >= 0 ? at : null;
        find(document.getElementById("graph-search")?.value ?? "");
        if (drawing.width && !drawing.placed) drawing.placed = fit();
      } else {
        statuses.statuses.forEach((status, at) => (tasks[at].status = status));
      }
      const { task } = app.route.query;
      const to = task && task !== shown ? tasks.findIndex(({ id }) => id === task) : -1;
      if (to >= 0) center(to);
      shown = task;
      drawing.draw();
    },
    draw() {
      const chosen = marked !== null && tasks[marked];
      return [
        h("div", { class: "canvasbar" }, h("h1", { class: "hidden" }, "Graph"),
          h("input", { type: "search", id: "graph-search", placeholder: "Search a task", "aria-label": "Search a task", on: { input: search, keydown: next } }),
          h("span", { class: "muted small", id: "graph-hits", "data-own": "1" }),
          chosen && h("a", { class: "button", href: app.link("task", [chosen.id]) }, `Open ${chosen.id}`),
          h("span", { class: "right row" },
            layout?.groups.length > 0 && h("button", { on: { click: () => (folded.size ? folded.clear() : layout.groups.forEach((group) => folded.add(group.name)), drawing.draw(), app.redraw()) } }, folded.size ? "Open groups" : "Fold groups"),
            h("button", { "aria-label": "Smaller", on: { click: () => drawing.zoom(0.8) } }, "−"), h("button", { "aria-label": "Larger", on: { click: () => drawing.zoom(1.25) } }, "+"),
            h("button", { on: { click: () => (fit(), drawing.draw()) } }, "All"),
            h("a", { class: "button", href: app.link("tasks") }, "As a list"))),
        drawing.box,
      ];
    },
  };
}
