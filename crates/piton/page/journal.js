// What happened, newest first.

import { Abandoned } from "./api.js";
import { h } from "./dom.js";
import { eventLine } from "./overview.js";

// Pages that are read to close the gap after many events. Beyond them, the list begins again.
const PAGES = 5;

// Events that a question finds, page by page.
export class Events {
  constructor(app, query) {
    Object.assign(this, { app, query, events: null, before: null, known: null });
  }

  async load() {
    const { app } = this;
    const [query, known] = [this.query(), JSON.stringify([app.at, this.query()])];
    let answer = await app.get("log", query);
    app.seq = answer.end;
    if (known !== this.known || !this.events?.length) {
      Object.assign(this, { events: answer.events, before: answer.before, known });
      return;
    }
    const last = this.events[0].seq;
    const isWhole = () => !answer.before || answer.before <= last + 1;
    const news = [...answer.events];
    for (let page = 1; page < PAGES && !isWhole(); page++) {
      answer = await app.get("log", { ...query, before: answer.before });
      news.push(...answer.events);
    }
    if (isWhole()) this.events = [...news.filter((event) => event.seq > last), ...this.events];
    else Object.assign(this, { events: news, before: answer.before });
  }

  async older() {
    const { app, known, before } = this;
    try {
      const answer = await app.get("log", { ...this.query(), before });
      // The question may be another one by now, or the button have been clicked twice.
      if (known !== this.known || before !== this.before) return;
      [this.events, this.before] = [[...this.events, ...answer.events], answer.before];
    } catch (problem) {
      if (problem instanceof Abandoned) return;
      app.problem = problem;
    }
    app.redraw();
  }

  draw() {
    const { app, events, before } = this;
    return h("section", { class: "card", "aria-label": "Events" },
      events.length ? h("ul", { class: "plain events" }, events.map((event) => eventLine(app, event, true))) : h("p", { class: "empty" }, "No matching events."),
      before && h("div", { class: "row after" }, h("button", { on: { click: () => this.older() } }, "Show older events"), h("span", { class: "muted small" }, `There are older ones, before event ${before}.`)));
  }
}

export function journal(app) {
  const list = new Events(app, () => ({ find: app.route.query.find, task: app.route.query.task, minor: app.route.query.minor }));

  const set = (key) => (event) => {
    const value = event.target.type === "checkbox" ? (event.target.checked ? "true" : null) : event.target.value;
    app.route.query = { ...app.route.query, [key]: value };
    history.replaceState(null, "", app.link("journal", [], app.route.query));
    app.reload();
  };

  return {
    title: () => "Journal",
    load: () => list.load(),
    draw() {
      if (!list.events) return h("p", { class: "empty" }, "Loading…");
      const { find = "", task = "", minor } = app.route.query;
      return h("div", { class: "stack" },
        h("div", { class: "head" }, h("h1", {}, "Journal")),
        h("div", { class: "row" },
          h("input", { type: "search", value: find, placeholder: "Search", "aria-label": "Search in the journal", on: { change: set("find") } }),
          h("input", { type: "search", value: task, placeholder: "Task", "aria-label": "Only this task", on: { change: set("task") }, style: { width: "9rem" } }),
          h("label", { class: "row" }, h("input", { type: "checkbox", checked: minor === "true", on: { change: set("minor") } }), "Show minor events")),
        list.draw());
    },
  };
}
