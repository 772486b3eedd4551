// Where the time went: a row for each task, the chain that decided when the run ended, and how much went on at once.

import { h } from "./dom.js";
import { Drawing } from "./canvas.js";
import { clock, most as largest, span } from "./words.js";

const [STRIP, AXIS] = [46, 22];
// Few tasks have more room each.
const [LEAST_ROW, MOST_ROW] = [22, 32];
// A table of more rows is read by nobody.
const LISTED = 500;
const PHASES = { working: ["busy", "agents working"], checking: ["good", "checks"], landing: ["land", "landing"], waiting: ["idle", "waiting for its turn"], held: ["warning", "waiting for you or a provider"] };

export function timeline(app) {
  let [data, rows, groups, onlyCritical, isList] = [null, [], [], false, false];
  const drawing = new Drawing({ label: "When each task did what. The button As a list shows the same in text.", zoomY: false, paint, pick, open: (found) => app.go("task", [found.task]), least: 1e-7, most: 10 });
  drawing.scrolls = true;
  drawing.place = fit;
  drawing.clamp = clamp;

  const top = STRIP + AXIS;
  // On a phone there is no room for titles.
  let [ROW, LABEL] = [LEAST_ROW, 150];

  function measure() {
    LABEL = drawing.width < 700 ? 84 : Math.min(340, Math.round(drawing.width * 0.26));
    ROW = Math.min(MOST_ROW, Math.max(LEAST_ROW, Math.floor((drawing.height - top - 12) / Math.max(1, rows.length))));
  }

  function fit() {
    if (!data) return false;
    measure();
    drawing.sx = least();
    [drawing.x, drawing.y] = [LABEL, top];
    return true;
  }

  function clamp() {
    drawing.y = Math.min(top, Math.max(drawing.y, drawing.height - rows.length * ROW - 10, top - rows.length * ROW + ROW));
    if (rows.length * ROW + top < drawing.height) drawing.y = top;
    drawing.sx = Math.max(drawing.sx, least());
    drawing.x = Math.min(LABEL, Math.max(drawing.x, drawing.width - 20 - (data?.to_ms - data?.from_ms || 0) * drawing.sx));
  }

  // Whoever sees the end of the time sees it also when it has moved on: all of it, or its end at the same place.
  function following() {
    if (drawing.sx <= least() * 1.0001) return () => ([drawing.sx, drawing.x] = [least(), LABEL]);
    const end = px(data.to_ms);
    if (end < LABEL || end > drawing.width) return () => clamp();
    return (before) => {
      drawing.x -= (data.to_ms - data.from_ms - (before.to_ms - before.from_ms)) * drawing.sx;
      clamp();
    };
  }

  const least = () => (drawing.width - LABEL - 20) / Math.max(1, data?.to_ms - data?.from_ms || 1);

  function arrange() {
    const critical = new Set(data.critical.map((step) => step.task));
    const byTask = new Map();
    for (const bar of data.bars) {
      if (!byTask.has(bar.task)) byTask.set(bar.task, []);
      byTask.get(bar.task).push(bar);
    }
    rows = [...byTask].map(([task, bars]) => ({ task, bars, isCritical: critical.has(task), group: data.groups?.[task] ?? null }));
    if (onlyCritical) rows = rows.filter((row) => row.isCritical);
    rows.sort((a, b) => (a.group ?? 0) - (b.group ?? 0) || a.bars[0].from_ms - b.bars[0].from_ms);
    groups = [];
    if (new Set(rows.map((row) => row.group)).size > 1) {
      // Each group begins with a row for its name.
      rows = rows.flatMap((row, at) => (row.group === rows[at - 1]?.group && at > 0 ? [row] : [{ name: data.group_titles[row.group] ?? "", group: row.group, bars: [] }, row]));
      rows.forEach((row, at) => {
        if (row.name !== undefined) return groups.push({ name: row.name, from: at, to: at, start: Infinity, end: -Infinity });
        const last = groups.at(-1);
        Object.assign(last, { to: at, start: Math.min(last.start, row.bars[0].from_ms), end: largest(row.bars.map((bar) => bar.to_ms ?? data.to_ms), last.end) });
      });
    }
  }

  const px = (time) => drawing.x + (time - data.from_ms) * drawing.sx;

  function paint(context) {
    if (!data) return;
    measure();
    const color = drawing.colors();
    const first = Math.max(0, Math.floor((top - drawing.y) / ROW));
    const last = Math.min(rows.length, Math.ceil((drawing.height - drawing.y) / ROW));
    context.save();
    context.beginPath();
    context.rect(LABEL, top, drawing.width - LABEL, drawing.height - top);
    context.clip();
    // A group is a faint envelope: its bar would say that something was done all the time.
    for (const group of groups) {
      context.fillStyle = color.envelope;
      context.beginPath();
      context.roundRect(px(group.start) - 5, drawing.y + group.from * ROW + 2, (group.end - group.start) * drawing.sx + 10, (group.to - group.from + 1) * ROW - 2, 6);
      context.fill();
      context.fillStyle = color.muted;
      context.font = "600 12px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.fillText(group.name, Math.max(LABEL + 4, px(group.start)), drawing.y + group.from * ROW + ROW / 2 + 1);
    }
    for (let at = first; at < last; at++) {
      const y = drawing.y + at * ROW;
      for (const bar of rows[at].bars) {
        const [from, to] = [px(bar.from_ms), px(bar.to_ms ?? data.to_ms)];
        if (to < LABEL || from > drawing.width) continue;
        const [tone] = PHASES[bar.phase] ?? ["idle"];
        const isThin = bar.phase === "waiting" || bar.phase === "held";
        context.fillStyle = color[tone];
        context.globalAlpha = bar.phase === "waiting" ? 0.55 : 1;
        context.fillRect(from, y + (isThin ? ROW / 2 - 2 : 4), Math.max(1.5, to - from - 0.5), isThin ? 4 : ROW - 8);
        context.globalAlpha = 1;
      }
    }
    context.strokeStyle = color.bad;
    context.lineWidth = 2;
    const place = new Map(rows.map((row, at) => [row.task, at]));
    context.beginPath();
    let before = null;
    for (const step of data.critical) {
      if (!place.has(step.task)) continue;
      const y = drawing.y + place.get(step.task) * ROW + ROW - 2;
      if (before !== null) {
        context.moveTo(px(step.from_ms), before);
        context.lineTo(px(step.from_ms), y);
      }
      context.moveTo(px(step.from_ms), y);
      context.lineTo(px(step.to_ms), y);
      before = y;
    }
    context.stroke();
    context.restore();
    labels(context, color, first, last);
    strip(context, color);
  }

  function labels(context, color, first, last) {
    context.fillStyle = color.bg;
    context.fillRect(0, top, LABEL - 4, drawing.height - top);
    context.textBaseline = "middle";
    for (let at = first; at < last; at++) {
      const y = drawing.y + at * ROW + ROW / 2;
      if (y < top + 6 || !rows[at].task) continue;
      context.font = `${rows[at].isCritical ? 700 : 400} 12px ui-monospace, monospace`;
      context.fillStyle = rows[at].isCritical ? color.bad : color.text;
      const id = `${rows[at].isCritical ? "* " : ""}${rows[at].task}`;
      context.fillText(id, 12, y, LABEL - 24);
      const [from, title] = [12 + Math.max(44, context.measureText(id).width + 10), data.titles?.[rows[at].task] ?? ""];
      if (LABEL < 150 || from > LABEL - 60) continue;
      context.font = "12px system-ui, sans-serif";
      context.fillStyle = color.text;
      context.fillText(cut(context, title, LABEL - 14 - from), from, y);
    }
  }

  function cut(context, title, width) {
    const wide = context.measureText(title).width;
    return wide <= width ? title : `${title.slice(0, Math.max(1, Math.floor((title.length * width) / wide) - 1)).trimEnd()}…`;
  }

  function strip(context, color) {
    context.fillStyle = color.bg;
    context.fillRect(0, 0, drawing.width, top);
    const most = largest(data.at_once.map(([, count]) => count), 1);
    context.fillStyle = color.busy;
    context.globalAlpha = 0.75;
    data.at_once.forEach(([time, count], at) => {
      const from = Math.max(LABEL, px(time));
      const to = Math.min(drawing.width, px(data.at_once[at + 1]?.[0] ?? data.to_ms));
      if (to > from) context.fillRect(from, 6 + (STRIP - 12) * (1 - count / most), to - from, (STRIP - 12) * (count / most));
    });
    context.globalAlpha = 1;
    context.fillStyle = color.muted;
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillText(`up to ${most} at once`, 12, STRIP / 2, LABEL - 20);
    const shown = (drawing.width - LABEL) / drawing.sx;
    const steps = [1e3, 5e3, 15e3, 6e4, 3e5, 9e5, 36e5, 108e5, 432e5, 864e5, 6048e5];
    const step = steps.find((one) => shown / one < 9) ?? 6048e5;
    for (let time = Math.ceil(data.from_ms / step) * step; time <= data.to_ms; time += step) {
      const x = px(time);
      if (x < LABEL || x > drawing.width - 40) continue;
      context.fillText(clock(time), x + 3, STRIP + AXIS / 2);
      context.fillStyle = color.line;
      context.fillRect(x, STRIP, 1, drawing.height);
      context.fillStyle = color.muted;
    }
  }

  function pick(_x, _y, pixel, y) {
    const row = rows[Math.floor((y - drawing.y) / ROW)];
    if (!data || !row?.task || y < top) return null;
    const bar = row.bars.find((bar) => px(bar.from_ms) <= pixel && px(bar.to_ms ?? data.to_ms) >= pixel);
    if (pixel < LABEL || !bar) return pixel < LABEL ? { task: row.task, tip: row.task } : null;
    const took = span((bar.to_ms ?? data.to_ms) - bar.from_ms);
    return { task: row.task, tip: `${row.task}, attempt ${bar.attempt}: ${PHASES[bar.phase]?.[1] ?? bar.phase} for ${took}${bar.end ? `; ${bar.end}` : ""}` };
  }

  // The same in text.
  function list() {
    const tasks = rows.filter((row) => row.task);
    const took = (row, phase) => row.bars.reduce((sum, bar) => (bar.phase === phase ? sum + (bar.to_ms ?? data.to_ms) - bar.from_ms : sum), 0);
    return h("section", { class: "scroll textual", tabindex: "0", role: "region", "aria-label": "Timeline as a list", "data-key": "list" },
      h("table", {},
        h("thead", {}, h("tr", {}, ["Task", "Started", ...Object.values(PHASES).map(([, words]) => words)].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, tasks.slice(0, LISTED).map((row) => h("tr", { "data-key": row.task },
          h("td", {}, h("a", { class: "id", href: app.link("task", [row.task]) }, row.task), row.isCritical && h("span", { class: "small muted" }, " on the critical path")),
          h("td", { class: "nowrap" }, clock(row.bars[0].from_ms)),
          Object.keys(PHASES).map((phase) => h("td", { class: "nowrap" }, took(row, phase) ? span(took(row, phase)) : "")))))),
      tasks.length > LISTED && h("p", { class: "muted" }, `and ${tasks.length - LISTED} more`));
  }

  return {
    wide: true,
    title: () => "Timeline",
    leave: () => drawing.leave(),
    // Bars grow while agents are at work.
    isMoving: () => Boolean(data?.bars.some((bar) => bar.to_ms === null)),
    async load() {
      const before = data;
      const answer = await app.get("timeline");
      const follow = before && drawing.placed ? following() : null;
      data = answer;
      arrange();
      if (drawing.width && !drawing.placed) drawing.placed = fit();
      else follow?.(before);
      drawing.draw();
    },
    draw() {
      if (!data) return h("p", { class: "empty" }, "Loading…");
      if (!data.bars.length) return h("div", { style: { padding: "1.2rem" } }, h("h1", {}, "Timeline"), h("p", { class: "empty" }, "No task has started yet."));
      const all = Object.keys(PHASES).reduce((sum, phase) => sum + data.totals[`${phase}_ms`], 0) || 1;
      return [
        h("div", { class: "canvasbar" },
          h("div", { class: "row full" }, h("h1", { class: "h2" }, "Where the time went"), h("span", { class: "muted small wide-only" }, "of all tasks together; * and the red line: the critical path"),
            h("span", { class: "row right" },
              h("button", { "aria-pressed": onlyCritical ? "true" : "false", on: { click: () => ((onlyCritical = !onlyCritical), arrange(), clamp(), drawing.draw(), app.redraw()) } }, "Critical path only"),
              h("button", { "aria-label": "Smaller", on: { click: () => drawing.zoom(0.7) } }, "−"), h("button", { "aria-label": "Larger", on: { click: () => drawing.zoom(1.4) } }, "+"),
              h("button", { on: { click: () => (fit(), drawing.draw()) } }, "All"),
              h("button", { "aria-pressed": isList ? "true" : "false", on: { click: () => ((isList = !isList), (drawing.placed = false), app.redraw()) } }, "As a list"))),
          h("dl", { class: "figures five" }, Object.entries(PHASES).map(([phase, [tone, words]]) => h("div", {},
            h("dt", {}, h("span", { class: `dot tone-dot ${tone}` }), " ", words),
            h("dd", {}, span(data.totals[`${phase}_ms`]), h("span", { class: "muted small" }, ` ${Math.round((100 * data.totals[`${phase}_ms`]) / all)}%`)))))),
        isList ? list() : drawing.box,
      ];
    },
  };
}
