// The way to the target: what has landed, what is landing now, and what waits.

import { h } from "./dom.js";
import { moment } from "./words.js";

const STATUS = { merged: ["✓", "good", "landed"], merging: ["◆", "busy", "landing now"], ready: ["◆", "busy", "ready"], pending: ["▸", "quiet", "on its way"] };
const SHOWN = 200;

export function landing(app) {
  let data = null;
  return {
    title: () => "Landing",
    async load() {
      data = await app.get("landing");
    },
    draw() {
      if (!data) return h("p", { class: "empty" }, "Loading…");
      const waiting = data.queue.filter((place) => place.status !== "merged");
      const landed = data.queue.filter((place) => place.status === "merged").reverse();
      return h("div", { class: "stack" },
        h("div", { class: "head" }, h("h1", {}, "Landing")),
        h("section", { class: "card", "aria-labelledby": "window-title" }, h("h2", { id: "window-title" }, `On the way (${waiting.length})`), h("p", { class: "muted" }, data.policy),
          waiting.length ? rows(app, waiting) : h("p", { class: "empty" }, "Nothing is on its way to the target.")),
        h("section", { class: "card", "aria-labelledby": "landed-title" }, h("h2", { id: "landed-title" }, `Landed (${landed.length})`),
          landed.length ? rows(app, landed.slice(0, SHOWN)) : h("p", { class: "empty" }, "Nothing has landed yet."),
          landed.length > SHOWN && h("p", { class: "muted" }, `and ${landed.length - SHOWN} before them`)));
    },
  };
}

function rows(app, places) {
  return h("ul", { class: "plain lines" }, places.map((place) => {
    const [sign, tone, word] = STATUS[place.status] ?? ["·", "quiet", place.status];
    return h("li", { "data-key": place.task, "data-row": "1" },
      h("div", { class: "row" }, h("span", { class: `sign tone-${tone}`, "aria-hidden": "true" }, sign), h("a", { class: "id", href: app.link("task", [place.task]) }, place.task),
        h("span", { class: "grow" }, place.title), place.commit && h("code", { class: "muted wide-only" }, place.commit.slice(0, 10)),
        h("span", { class: `small nowrap tone-${tone}` }, word), place.merged_at && h("span", { class: "muted small nowrap" }, moment(place.merged_at))),
      (place.waits || place.line) && h("div", { class: "note small" }, place.waits ?? place.line));
  }));
}
