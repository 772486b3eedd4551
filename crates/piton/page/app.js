// The frame around the views: which one is shown, of which run and when; what is new; the keyboard.

import { Abandoned, ENTER, Live, abandon, get, keepKey, onKey, post, recall, renew, runPath, takeKey } from "./api.js";
import { h, show } from "./dom.js";
import { replayBar } from "./replay.js";
import { overview } from "./overview.js";
import { tasks } from "./tasks.js";
import { task } from "./task.js";
import { graph } from "./graph.js";
import { timeline } from "./timeline.js";
import { landing } from "./landing.js";
import { journal } from "./journal.js";
import { checks, cost } from "./figures.js";

// In the order of the navigation: the key after `g`, the name, the view.
const VIEWS = {
  overview: ["o", "Overview", overview], tasks: ["t", "Tasks", tasks], graph: ["g", "Graph", graph],
  timeline: ["i", "Timeline", timeline], landing: ["l", "Landing", landing], journal: ["j", "Journal", journal],
  checks: ["c", "Checks", checks], cost: ["m", "Cost", cost],
};

// After news, a view is asked again at most so often, and less often if its answer takes long.
const SOONEST = 150;
const CALM = 8;

const app = {
  project: null, runs: [], hasRuns: false, inbox: null, run: null, at: null, ends: {}, route: {}, view: null, live: "connecting", problem: null, told: null,
  // The last event of the run that is known.
  get seq() {
    return app.ends[app.run] ?? null;
  },
  set seq(seq) {
    app.ends[app.run] = Math.max(seq, app.seq ?? 0);
  },
  // The time by which ages are shown: that of the past, in the past.
  now: () => (app.at && app.moment ? app.moment : Date.now()),
  link, go, say, act, redraw: draw, reload: () => read(false), get: (rest, query) => get(runPath(app.run, rest, { ...query, at: app.at })),
};

const element = (id) => document.getElementById(id);

// An address that was typed may have a percent sign that stands for itself.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// `#/RUN/view/rest?key=value`
function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [run, view, ...rest] = path.split("/").map(decoded);
  return { run: run || null, view: view || "overview", rest, query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

function link(view, rest = [], query = {}, run = app.run) {
  const path = [run ?? "", view, ...rest].map(encodeURIComponent).join("/");
  const all = { ...(app.at && run === app.run ? { at: app.at } : {}), ...query };
  const text = new URLSearchParams(Object.entries(all).filter(([, value]) => value !== null && value !== undefined && value !== "")).toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

function go(...where) {
  location.hash = link(...where);
}

function say(text) {
  element("said").textContent = text;
}

const acting = new Set();

// Carry out a command, then look at what came of it. A second click does not carry it out twice.
async function act(path, body, done) {
  const name = `${path} ${JSON.stringify(body)}`;
  if (acting.has(name)) return false;
  acting.add(name);
  let isDone = false;
  try {
    const answer = await post(path, body);
    const words = answer.message ?? answer.told;
    say(words ?? done ?? "done");
    [app.problem, app.told, isDone] = [null, words ?? null, true];
  } catch (problem) {
    [app.problem, app.told] = [problem, null];
    draw();
  } finally {
    acting.delete(name);
  }
  await read(false);
  return isDone;
}

function currentRun() {
  const open = app.runs.find((run) => run.engine_alive) ?? app.runs.find((run) => !run.finished && !run.closed && !run.replaced);
  return app.route.run ?? (open ?? app.runs[0])?.run ?? null;
}

let wantsSearch = false;

function openView() {
  app.view?.leave?.();
  wantsSearch &&= app.route.view === "tasks";
  [app.problem, app.told, app.failed] = [null, null, null];
  const [, , make] = app.route.view === "task" ? [null, null, task] : VIEWS[app.route.view] ?? VIEWS.overview;
  try {
    app.view = make(app);
  } catch (error) {
    app.view = { draw: () => broken(error) };
  }
  element("main").className = app.view.wide ? "wide" : "";
  show(element("main"), h("p", { class: "empty" }, "Loading…"));
}

async function navigate() {
  if (takeKey()) return location.reload();
  const before = { run: app.run, view: app.route.view, rest: app.route.rest?.join("/") };
  app.route = parse();
  app.at = /^[1-9]\d{0,14}$/.test(app.route.query.at) ? Number(app.route.query.at) : null;
  app.run = currentRun();
  const isOther = before.view !== app.route.view || before.run !== app.run || before.rest !== app.route.rest.join("/");
  if (isOther || !app.view) openView();
  const reading = read(false);
  draw();
  await reading;
  if (isOther && document.activeElement === document.body) element("main").focus({ preventScroll: true });
}

// --- Reading what is shown. Each time has a number: what an older one answers is dropped.

let latest = 0;
let loading = 0;
// There were news since the last time began.
let isStale = false;
let calmUntil = 0;
let due = null;

// There are news. A run that has many of them at once is read now and then.
function refresh() {
  // An answer that was begun before them does not have them.
  renew();
  if (loading || due) return void (isStale = true);
  const wait = calmUntil - performance.now();
  if (wait <= 0) return void read(true);
  due = setTimeout(() => read(true), wait);
}

// Read now. If somebody has asked for it, whatever is being read is dropped, since it may have begun too early.
async function read(isNews) {
  if (!isNews) {
    abandon();
    app.view.isFresh = false;
  }
  const number = ++latest;
  clearTimeout(due);
  [loading, isStale, due] = [number, false, null];
  const start = performance.now();
  try {
    await load(number, isNews);
  } finally {
    if (loading === number) {
      loading = 0;
      const end = performance.now();
      if (isNews) calmUntil = end + Math.max(SOONEST, (end - start) * CALM);
      if (isStale) refresh();
    }
  }
}

async function load(number, isNews) {
  const { view, run } = app;
  // The past does not change.
  const isPast = isNews && app.at && view.isFresh;
  // The view need not wait for the list of runs, if the address says which one it is about.
  const [runs, inbox, shown] = await Promise.allSettled([get("/api/runs"), get("/api/inbox"), run && !isPast && look(view)]);
  if (number !== latest) return;
  if (runs.value) [app.runs, app.hasRuns] = [runs.value.runs, true];
  if (inbox.value) hearInbox(inbox.value.items);
  app.run = currentRun();
  let problems = [shown, runs, inbox];
  if (app.run !== run) {
    // It was not known which run is meant, or another one has begun: a view is about one run from its start.
    openView();
    problems = [...(await Promise.allSettled([look(app.view)])), runs, inbox];
    if (number !== latest) return;
  }
  const failed = problems.map(({ reason }) => reason).find((reason) => reason && !(reason instanceof Abandoned)) ?? null;
  app.failed = failed;
  draw();
}

let announced = null;

// Somebody who does not see the page is told of what waits for them, once.
function hearInbox(items) {
  app.inbox = items;
  const fresh = announced && items.filter((item) => !announced.has(item.key));
  announced = new Set(items.map((item) => item.key));
  if (fresh?.length) say(`Waiting for you: ${fresh.slice(0, 3).map((item) => item.reason).join("; ")}`);
}

async function look(view) {
  await view.load?.();
  // `isLoaded`: it has something to show. `isFresh`: it is what was asked for last.
  view.isLoaded = view.isFresh = true;
}

// A mistake of the page is shown in its place, and the next look goes on.
function broken(error) {
  console.error(error);
  return h("div", { class: "problem", role: "alert", "data-key": "broken" }, `This part of the page cannot be shown: ${error.message}\nThis is a mistake in Piton. The terminal has the same: piton status`);
}

function draw() {
  for (const part of [drawTop, drawNav, drawMain, () => replayBar(app, element("replay"))]) {
    try {
      part();
    } catch (error) {
      element("main").replaceChildren(broken(error));
    }
  }
}

function drawMain() {
  document.body.className = app.at ? "past" : "";
  // What is shown may still be that of another event.
  element("main").setAttribute("aria-busy", app.failed || app.view?.isFresh ? "false" : "true");
  const count = app.inbox?.length;
  document.title = `${count ? `(${count}) ` : ""}${app.view?.title?.() ?? "Overview"} · ${app.project?.name ?? "Piton"}`;
  if (app.failed?.status === 401) {
    stream?.stop();
    return show(element("main"), login(app.failed));
  }
  const problem = app.failed ?? app.problem;
  const alert = problem && h("div", { class: "problem", role: "alert", "data-key": "problem" }, [problem.message, ...(problem.hints ?? [])].join("\n"));
  // The words of the command that was carried out.
  const told = !problem && app.told && h("div", { class: "told", "data-key": "told" }, app.told);
  const isMissing = app.failed && !app.view?.isLoaded;
  show(element("main"), alert, told, isMissing ? h("h1", { class: "hidden" }, app.view?.title?.() ?? "Overview") : drawnView());
  const field = wantsSearch && app.route.view === "tasks" && document.querySelector("main input[type=search]");
  if (!field) return;
  wantsSearch = false;
  field.focus();
}

function drawnView() {
  try {
    return app.view?.draw() ?? null;
  } catch (error) {
    return broken(error);
  }
}

function drawTop() {
  const options = app.runs.map((run) => h("option", { value: run.run, "data-key": run.run }, run.replaced ? `${run.run} (replaced)` : run.run));
  const select = app.runs.length > 0 && h("select", {
    "aria-label": "Run", value: app.run, on: { change: (event) => (location.hash = link(app.route.view === "task" ? "overview" : app.route.view, [], { at: null }, event.target.value)) },
  }, options);
  if (select) select.value = app.run ?? "";
  const states = {
    connecting: ["", "connecting"], on: ["on", "live"], off: ["off", "not connected"], poll: ["on", "every 3s"],
  };
  const [dot, words] = app.at ? ["", "replay"] : states[app.live];
  show(element("top"),
    h("a", { class: "brand", href: "#/", "aria-label": "Piton, overview" }, h("img", { src: "/icon.svg", alt: "" }), h("span", {}, "Piton")),
    h("span", { class: "muted wide-only mono" }, app.project?.name ?? ""),
    select,
    h("span", { class: "right alive" }, h("span", { class: `dot ${dot}` }), h("span", {}, words)),
    h("button", { class: "quiet", "aria-pressed": app.at ? "true" : "false", on: { click: toggleReplay } }, "Replay"),
    h("button", { class: "quiet wide-only", "aria-label": "Keyboard help", on: { click: openHelp } }, "?"));
}

let shownView = null;

function drawNav() {
  const items = Object.entries(VIEWS).map(([name, [, title]]) => {
    const isHere = app.route.view === name || (name === "tasks" && app.route.view === "task");
    const waits = name === "overview" && app.inbox?.length;
    return h("li", { "data-key": name }, h("a", { href: link(name), "aria-current": isHere && "page" }, title,
      waits ? h("span", { class: "count calls" }, waits, h("span", { class: "hidden" }, " waiting")) : null));
  });
  const nav = element("nav");
  show(nav, h("ul", {}, items));
  // On a narrow screen the views are one row, which is wider than the screen.
  const here = nav.querySelector("[aria-current]");
  if (here && shownView !== app.route.view) nav.scrollLeft = here.offsetLeft - (nav.clientWidth - here.offsetWidth) / 2;
  shownView = app.route.view;
}

function login(problem) {
  if (!problem.password) {
    return h("div", { class: "card stack" }, h("h1", {}, "This page needs its token"), h("p", {}, "Open the address that ", h("code", {}, "piton serve"), " printed last. It ends in ", h("code", {}, "?token="), " and more, and lets this browser in. If it is lost, end ", h("code", {}, "piton serve"), " and start it again: it prints another one."));
  }
  const field = h("input", { type: "password", id: "password", autocomplete: "current-password", required: true });
  const send = async (event) => {
    event.preventDefault();
    const given = element("password").value;
    try {
      const { key } = await post(ENTER, { password: given });
      if (key) keepKey(key);
      location.reload();
    } catch (error) {
      app.problem = error;
      show(element("said"), error.message);
      show(element("wrong"), error.message);
    }
  };
  return h("form", { class: "card stack", on: { submit: send } }, h("h1", {}, "Password"),
    h("div", { class: "row" }, h("label", { for: "password" }, "Password"), field, h("button", { class: "first", type: "submit" }, "Enter")),
    h("p", { id: "wrong", class: "tone-bad", role: "alert", "data-own": "1" }));
}

// It begins with the last event that there is.
async function toggleReplay() {
  const to = (at) => (location.hash = link(app.route.view, app.route.rest, { ...app.route.query, at }));
  if (app.at) return to(null);
  if (!app.run) return;
  try {
    app.seq = (await get(runPath(app.run, "log"))).end;
    to(Math.max(1, app.seq));
  } catch (problem) {
    if (problem instanceof Abandoned) return;
    app.problem = problem;
    draw();
  }
}

function openHelp() {
  const keys = Object.values(VIEWS).map(([key, title]) => [h("dt", {}, h("kbd", {}, "g"), " ", h("kbd", {}, key)), h("dd", {}, title)]);
  const others = [["/", "search"], ["j", "next in a list"], ["k", "previous in a list"], ["Enter", "open it, or comment on a line"], ["Shift ↓", "more lines, in changes"], ["[", "earlier event, in a replay"], ["]", "later event"], ["r", "replay, or back to now"], ["Esc", "close, or leave a field"], ["?", "this help"]];
  show(element("help"), h("h2", { id: "help-title" }, "Keyboard"),
    h("dl", { class: "keys" }, keys, others.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    h("p", {}, h("label", { class: "row" }, h("input", { type: "checkbox", checked: hasShortcuts, on: { change: setShortcuts } }), "Keys without Ctrl or Alt act as shortcuts")),
    h("p", { class: "small muted" }, `Piton ${app.project?.version ?? ""} in ${app.project?.path ?? ""}`),
    h("button", { class: "first", on: { click: () => element("help").close() } }, "Close"));
  element("help").showModal();
}

// What can be gone through with j and k.
function move(step) {
  const rows = [...document.querySelectorAll("main [data-row]")];
  if (!rows.length) return app.view?.move?.(step);
  const at = rows.indexOf(document.activeElement.closest?.("[data-row]"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step))];
  (next.matches("a, button") ? next : next.querySelector("a, button"))?.focus();
}

// Those who speak to their computer, or whose hands shake, turn keys off that act by themselves.
const SHORTCUTS = "piton-shortcuts";
let hasShortcuts = recall("localStorage", SHORTCUTS, true);

function setShortcuts(event) {
  hasShortcuts = event.target.checked;
  try {
    localStorage.setItem(SHORTCUTS, JSON.stringify(hasShortcuts));
  } catch {
    // It holds until the page is loaded again.
  }
}

// Where nothing can be searched, the tasks are: their field gets the focus once it is there.
function search() {
  const field = document.querySelector("main input[type=search]");
  wantsSearch = !field;
  if (field) field.focus();
  else go("tasks");
}

let afterG = false;

function press(event) {
  const typing = event.target.closest?.("input, textarea, select");
  if (event.key === "Escape" && typing) return typing.blur();
  if (!hasShortcuts || typing || event.ctrlKey || event.metaKey || event.altKey || element("help").open) return;
  const chosen = afterG && Object.entries(VIEWS).find(([, [key]]) => key === event.key);
  afterG = event.key === "g" && !afterG;
  if (chosen) go(chosen[0]);
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "/") search();
  else if (event.key === "?") openHelp();
  else if (event.key === "r") toggleReplay();
  else if ((event.key === "[" || event.key === "]") && app.at) {
    const at = Math.min(app.seq ?? app.at, Math.max(1, app.at + (event.key === "]" ? 1 : -1)));
    location.hash = link(app.route.view, app.route.rest, { ...app.route.query, at });
  } else return;
  event.preventDefault();
}

function hear(kind, news) {
  if (kind === "beat") return;
  app.live = { lost: "off", poll: "poll" }[kind] ?? "on";
  for (const run of news.runs ?? []) {
    if (run.run === app.run) {
      app.seq = run.seq;
      app.view?.news?.(run);
    }
  }
  if (kind === "lost") draw();
  else refresh();
}

let stream = null;

async function begin() {
  takeKey();
  addEventListener("hashchange", navigate);
  onKey(() => app.failed?.status === 401 && location.reload());
  addEventListener("keydown", press);
  try {
    app.project = await get("/api/project");
  } catch (problem) {
    app.failed = problem;
    draw();
    if (problem.status === 401) return;
  }
  await navigate();
  stream = new Live(hear);
  // Ages grow without news, and so does what is on disk only.
  setInterval(() => {
    if (loading || document.hidden || app.failed?.status === 401) return;
    if (app.failed || (!app.at && app.view?.isMoving?.())) refresh();
    else if (!app.at) draw();
  }, 5_000);
}

begin();
