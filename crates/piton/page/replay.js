// The slider over the journal: every view at any past event.

import { h, show } from "./dom.js";
import { get, runPath } from "./api.js";
import { moment } from "./words.js";

let described = { at: null, text: "" };
let timer = null;

export function replayBar(app, footer) {
  footer.hidden = !app.at;
  if (!app.at) {
    clearTimeout(timer);
    timer = null;
    return;
  }
  const end = Math.max(app.seq ?? app.at, app.at);
  const to = (at) => app.link(app.route.view, app.route.rest, { ...app.route.query, at });
  const slide = (event) => {
    const at = Number(event.target.value);
    clearTimeout(timer);
    document.getElementById("replay-at").textContent = `event ${at} of ${end}`;
    timer = setTimeout(() => {
      timer = null;
      if (app.at) location.replace(to(at));
    }, 120);
  };
  const slider = h("input", { type: "range", min: 1, max: end, step: 1, id: "replay-slider", "aria-label": "Event", on: { input: slide } });
  show(footer,
    h("strong", {}, "Replay"), h("span", { class: "muted small nowrap", id: "replay-at" }, `event ${app.at} of ${end}`),
    h("a", { class: "button", href: to(Math.max(1, app.at - 1)), "aria-label": "Earlier event" }, "‹"), slider, h("a", { class: "button", href: to(Math.min(end, app.at + 1)), "aria-label": "Later event" }, "›"),
    h("a", { class: "button", href: to(null) }, "Back to now"),
    h("output", { for: "replay-slider" }, described.at === `${app.run} ${app.at}` ? described.text : ""));
  const kept = document.getElementById("replay-slider");
  kept.max = end;
  if (!timer) kept.value = app.at;
  describe(app);
}

async function describe(app) {
  const key = `${app.run} ${app.at}`;
  if (described.at === key) return;
  described = { at: key, text: "" };
  const answer = await get(runPath(app.run, "log", { before: app.at + 1, minor: true })).catch(() => null);
  if (described.at !== key) return;
  // It is asked for again when the page is drawn next.
  if (!answer) return void (described = { at: null, text: "" });
  const { events, end } = answer;
  if (!events.length) return;
  const [event] = events;
  described.text = `${moment(event.at)}  ${event.task ?? ""} ${event.text}`;
  app.moment = event.at;
  if (end) app.seq = end;
  app.redraw();
}
