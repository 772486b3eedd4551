// All tasks in their groups. Only what can be seen is made, so that ten thousand are as quick as ten.

import { Window, h } from "./dom.js";
import { failingLine } from "./overview.js";
import { STATUS, age, statusOf } from "./words.js";

const ROW = 36;

export function tasks(app) {
  const box = h("div", { class: "tasklist", tabindex: "0", role: "region", "aria-label": "Tasks", "data-own": "1" });
  const list = new Window(box, ROW, (row) => (row.isGroup ? groupRow(row) : taskRow(app, row)));
  const folded = new Set();
  let data = null;
  let rows = [];
  let selected = null;

  function groupRow({ group, count, title }) {
    const isFolded = folded.has(group);
    const toggle = () => {
      if (!folded.delete(group)) folded.add(group);
      arrange();
    };
    return h("div", { class: "grouprow", "data-key": `group ${group}` },
      h("button", { class: "quiet", "aria-expanded": isFolded ? "false" : "true", on: { click: toggle } }, isFolded ? "▸" : "▾", h("span", { class: "hidden" }, " fold")),
      h("span", { class: "title" }, title), h("span", { class: "muted small" }, `${count.done}/${count.all}`));
  }

  // What is shown, by what is searched for and which groups are folded.
  function arrange() {
    if (!data) return;
    const { find = "", status = "", group = "" } = app.route.query;
    const words = find.toLowerCase();
    const fits = (task) => (!status || task.status === status) && (!words || task.id.toLowerCase().includes(words) || (task.title ?? "").toLowerCase().includes(words))
      && (!group || data.status.groups[task.group]?.id === group);
    const byGroup = new Map();
    for (const task of data.status.tasks) {
      if (!fits(task)) continue;
      if (!byGroup.has(task.group)) byGroup.set(task.group, []);
      byGroup.get(task.group).push(task);
    }
    rows = [];
    for (const [number, members] of [...byGroup].sort(([a], [b]) => a - b)) {
      const { id = String(number), title } = data.status.groups[number] ?? {};
      const count = { done: members.filter((task) => task.status === "completed").length, all: members.length };
      if (byGroup.size > 1) rows.push({ isGroup: true, group: id, title: title && title !== id ? `${id} · ${title}` : id, count });
      if (!folded.has(id)) rows.push(...members);
    }
    list.set(rows);
  }

  function taskRow(app, task) {
    const [sign, tone, word] = statusOf(task.status);
    const main = h("a", { class: "rowlink", href: app.link("task", [task.id]) },
      h("span", { class: `sign tone-${tone}`, "aria-hidden": "true" }, sign), h("span", { class: "id" }, task.id),
      h("span", { class: "title" }, task.title ?? ""),
      task.attempt > 1 && h("span", { class: "muted small wide-only" }, `attempt ${task.attempt}`),
      h("span", { class: `state small tone-${tone}` }, word),
      h("span", { class: "muted small nowrap wide-only" }, age(task.status, task.since, app.now())));
    const hasFailed = task.status === "failed" || task.status === "abandoned";
    return h("div", { class: `taskrow${task.id === selected ? " here" : ""}`, "data-key": `task ${task.id}` }, main, h("span", { class: "slot" }, hasFailed && failingLine(app, task.id)));
  }

  const set = (key) => (event) => {
    const query = { ...app.route.query, [key]: event.target.value };
    history.replaceState(null, "", app.link("tasks", [], query));
    app.route.query = query;
    arrange();
  };

  return {
    title: () => "Tasks",
    async load() {
      data = await app.get("status", { tasks: "all" });
      if (app.at) app.moment = data.now;
      arrange();
    },
    move(step) {
      const from = rows.findIndex((row) => !row.isGroup && row.id === selected);
      let at = from < 0 && step < 0 ? rows.length - 1 : from + step;
      while (rows[at]?.isGroup) at += step;
      if (!rows[at]) return;
      selected = rows[at].id;
      list.reveal(at);
      box.querySelector(`[data-key="task ${CSS.escape(selected)}"] a`)?.focus();
    },
    draw() {
      const { find = "", status = "", group = "" } = app.route.query;
      const groups = data?.status.groups ?? [];
      const choice = (value, word, chosen) => h("option", { value, "data-key": value, selected: value === chosen }, word);
      return h("div", { class: "stack" },
        h("div", { class: "row" }, h("h1", {}, "Tasks"), h("span", { class: "muted" }, data ? `${rows.filter((row) => !row.isGroup).length} of ${data.status.counts.total}` : "")),
        h("div", { class: "row" },
          h("input", { type: "search", value: find, placeholder: "Search id or title", "aria-label": "Search id or title", on: { input: set("find") } }),
          h("select", { "aria-label": "Status", on: { change: set("status") } }, choice("", "any status", status), Object.entries(STATUS).map(([name, [, , word]]) => choice(name, word, status))),
          groups.length > 1 && h("select", { "aria-label": "Group", on: { change: set("group") } }, choice("", "any group", group), groups.map(({ id }) => choice(id, id, group)))),
        box);
    },
  };
}
