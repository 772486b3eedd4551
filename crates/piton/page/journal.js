// What happened, newest first.

import { h } from "./dom.js";
import { eventLine } from "./overview.js";

export function journal(app) {
  let [events, before, fresh] = [null, null, true];

  const query = () => ({ find: app.route.query.find, task: app.route.query.task, minor: app.route.query.minor });

  async function older() {
    const answer = await app.get("log", { ...query(), before });
    events = [...events, ...answer.events];
    before = answer.before;
    app.redraw();
  }

  const set = (key) => (event) => {
    const value = event.target.type === "checkbox" ? (event.target.checked ? "true" : null) : event.target.value;
    app.route.query = { ...app.route.query, [key]: value };
    history.replaceState(null, "", app.link("journal", [], app.route.query));
    fresh = true;
    app.reload();
  };

  return {
    title: () => "Journal",
    async load() {
      const answer = await app.get("log", query());
      app.seq = answer.end;
      if (fresh || !events) {
        [events, before, fresh] = [answer.events, answer.before, false];
      } else {
        // Those that are new stand before those that were read already.
        const last = events[0]?.seq ?? 0;
        events = [...answer.events.filter((event) => event.seq > last), ...events];
      }
    },
    draw() {
      if (!events) return h("p", { class: "empty" }, "Loading…");
      const { find = "", task = "", minor } = app.route.query;
      return h("div", { class: "stack" },
        h("div", { class: "head" }, h("h1", {}, "Journal")),
        h("div", { class: "row" },
          h("input", { type: "search", value: find, placeholder: "Search", "aria-label": "Search in the journal", on: { change: set("find") } }),
          h("input", { type: "search", value: task, placeholder: "Task", "aria-label": "Only this task", on: { change: set("task") }, style: { width: "9rem" } }),
          h("label", { class: "row" }, h("input", { type: "checkbox", checked: minor === "true", on: { change: set("minor") } }), "minor events, too")),
        h("section", { class: "card", "aria-label": "Events" },
          events.length ? h("ul", { class: "plain events" }, events.map((event) => eventLine(app, event, true))) : h("p", { class: "empty" }, "No event fits."),
          before && h("div", { class: "row", style: { "margin-top": ".8rem" } }, h("button", { on: { click: older } }, "Older"), h("span", { class: "muted small" }, `before event ${before}`))));
    },
  };
}
