// What waits for you, then where the run stands, then the other runs.

import { h } from "./dom.js";
import { KIND, UNDER_WAY, age, ago, clock, counted, millis, runTone, span, spent, statusOf, tokens } from "./words.js";
import { recall, taskPath } from "./api.js";
import { FAILED } from "./output.js";

export function overview(app) {
  let data = null;
  let recent = [];
  return {
    title: () => "Overview",
    async load() {
      const [answer, log] = await Promise.all([app.get("status"), app.get("log")]);
      data = answer;
      recent = log.events.slice(0, 12);
      app.seq = log.end;
      if (app.at) app.moment = answer.now;
    },
    // Other runs are shown as they are now.
    draw: () => h("div", { class: "stack" }, h("h1", { class: "hidden" }, "Overview"), !app.at && app.inbox && inbox(app), data ? run(app, data, recent) : noRun(app), !app.at && others(app)),
  };
}

function noRun(app) {
  if (!app.hasRuns) return h("p", { class: "empty" }, "Loading…");
  if (app.runs.length) return null;
  return h("section", { class: "card" }, h("h2", { class: "big" }, "No run yet"), h("p", {}, "Start one with ", h("code", {}, "piton run PLAN"), ", and it appears here. ", h("code", {}, "piton init"), " lists the plans of this project."));
}

// What waits for you waits now: a replay does not show it.
function inbox(app) {
  const items = app.inbox;
  const isSeen = (item) => item.seen_by.includes(app.project?.you);
  const sorted = [...items.filter((item) => !isSeen(item)), ...items.filter(isSeen)];
  const body = sorted.length
    ? h("ul", { class: "plain lines" }, sorted.map((item) => waiting(app, item, isSeen(item))))
    : h("p", { class: "empty" }, "Nothing waits for you.");
  return h("section", { class: "card", "aria-labelledby": "inbox-title" },
    h("div", { class: "row" }, h("h2", { id: "inbox-title" }, items.length ? `Waiting for you (${items.length})` : "Waiting for you")), body);
}

// What is typed as an answer, by the key of its item: it stays until it is sent, also if the page is loaded again.
const ANSWERS = "piton answers";
const answers = new Map(recall("sessionStorage", ANSWERS, []));
function keepAnswer(key, text) {
  if (text === null) answers.delete(key);
  else answers.set(key, text);
  sessionStorage.setItem(ANSWERS, JSON.stringify([...answers]));
}

const hasFailed = (item) => item.kind === "given_up" && item.tasks.length > 0;

function waiting(app, item, isSeen) {
  const [word, tone] = KIND[item.kind] ?? [item.kind, "quiet"];
  const tasks = item.tasks.slice(0, 6).map((id) => h("a", { class: "id", href: app.link("task", [id], { at: null }, item.run) }, id));
  const more = item.tasks.length > 6 && h("span", { class: "muted small" }, `and ${item.tasks.length - 6} more`);
  const several = app.runs.filter((run) => !run.finished && !run.closed).length > 1;
  return h("li", { "data-key": item.key, "data-row": "1" },
    h("div", { class: "row" },
      h("span", { class: `chip ${tone}` }, word), tasks, more,
      several && h("span", { class: "muted small mono" }, item.run),
      h("span", { class: "muted small right nowrap" }, item.since ? ago(item.since, Date.now()) : "", isSeen ? " · seen" : "")),
    h("div", { class: "note" }, item.reason),
    item.detail && h("details", {}, h("summary", { class: "small" }, "Details"), h("pre", { class: "box", tabindex: "0" }, item.detail)),
    app.project?.control ? actions(app, item, isSeen) : commands(app, item));
}

// Where a check has said what is wrong.
export function failingLine(app, id, run = app.run, words = "Failing line") {
  return h("a", { class: "button", href: app.link("task", [id, "output", FAILED], { line: "failing" }, run), "aria-label": words.endsWith(id) ? null : `${words} of ${id}` }, words);
}

// An item is about one task or several: each of them has its own line.
function failingLines(app, item) {
  if (!hasFailed(item)) return null;
  const [first, ...others] = item.tasks.slice(0, 3);
  return [failingLine(app, first, item.run), others.map((id) => failingLine(app, id, item.run, `Failing line of ${id}`))];
}

function commands(app, item) {
  return h("div", { class: "row" }, failingLines(app, item), item.helps.slice(0, 3).map((help) => command(help)));
}

export function command(help) {
  const [typed, about] = help.split("   ");
  const copy = async (event) => {
    const button = event.currentTarget;
    // Without HTTPS, a page of another machine has no clipboard: the text is selected instead.
    const isCopied = await navigator.clipboard?.writeText(typed).then(() => true, () => false);
    if (!isCopied) getSelection().selectAllChildren(button.parentElement.querySelector("code"));
    button.textContent = isCopied ? "Copied" : "Selected";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };
  return h("span", { class: "command" }, h("code", {}, typed), about && h("span", { class: "small muted" }, about),
    h("button", { class: "quiet small", "aria-label": `Copy ${typed}`, "data-own": "1", on: { click: copy } }, "Copy"));
}

// The buttons are the commands that help, as far as a page can give them.
function actions(app, item, isSeen) {
  const [task] = item.tasks;
  const verbs = new Set(item.helps.map((help) => help.split(" ")[1]));
  const order = (body) => () => app.act(taskPath(item.run, task), body);
  const isOne = item.tasks.length === 1;
  const attempts = Number(item.helps.map((help) => /^piton raise .*--attempts (\d+)/.exec(help)?.[1]).find(Boolean) ?? 0);
  const open = answers.get(item.key);
  const toggle = () => {
    keepAnswer(item.key, open === undefined ? "" : null);
    app.redraw();
  };
  const send = async () => {
    const text = answers.get(item.key) ?? "";
    // What is typed meanwhile is not sent, and stays.
    if ((await app.act(taskPath(item.run, task), { do: "answer", text })) && answers.get(item.key) === text) keepAnswer(item.key, null);
    app.redraw();
  };
  return h("div", { class: "stack" },
    h("div", { class: "row" },
      isOne && verbs.has("answer") && h("button", { class: "first", "aria-expanded": open === undefined ? "false" : "true", on: { click: toggle } }, "Answer"),
      isOne && verbs.has("retry") && h("button", { on: { click: order({ do: "retry" }) } }, "Retry"),
      isOne && verbs.has("unblock") && h("button", { on: { click: order({ do: "unblock" }) } }, "Unblock"),
      isOne && verbs.has("skip") && h("button", { on: { click: () => confirm(`Continue without ${task}?`) && order({ do: "skip" })() } }, "Skip"),
      isOne && attempts > 0 && h("button", { on: { click: order({ do: "raise", attempts }) } }, `Allow ${attempts} attempts`),
      failingLines(app, item),
      !isSeen && h("button", { class: "quiet", on: { click: () => app.act("/api/inbox/seen", { keys: [item.key] }) } }, "Mark as seen"),
      item.helps.filter((help) => !/^piton (answer|retry|unblock|skip|raise|output) /.test(help)).slice(0, 2).map((help) => command(help))),
    open !== undefined && h("div", { class: "stack", "data-key": "answer" },
      h("label", { for: `answer-${item.key}` }, `What the next agent of ${task} should do`),
      h("textarea", { id: `answer-${item.key}`, value: open, on: { input: (event) => keepAnswer(item.key, event.target.value) } }),
      h("div", { class: "row" }, h("button", { class: "first", on: { click: send } }, "Send answer"), h("button", { on: { click: toggle } }, "Cancel"))));
}

export function progressBar(counts, isThick) {
  const total = Math.max(1, counts.total);
  const sum = (names) => names.reduce((all, name) => all + (counts[name] ?? 0), 0);
  const parts = [["good", sum(["completed"])], ["busy", sum(UNDER_WAY)], ["warning", sum(["failed"])], ["bad", sum(["abandoned", "blocked"])], ["idle", sum(["skipped"])]];
  const done = counts.completed ?? 0;
  return h("div", { class: `bar${isThick ? " thick" : ""}`, role: "img", "aria-label": `${done} of ${counts.total} tasks are completed` },
    parts.map(([tone, count]) => h("span", { class: tone, style: { width: `${(100 * count) / total}%` } })));
}

function run(app, data, recent) {
  const { status } = data;
  const now = app.now();
  const bills = status.used;
  const sum = (key) => bills.reduce((all, bill) => (bill[key] === null ? all : (all ?? 0) + bill[key]), null);
  const bill = Object.fromEntries(["tries", "unmeasured_tries", "cost_usd", "estimated_cost_usd"].map((key) => [key, sum(key) ?? (key.includes("tries") ? 0 : null)]));
  const read = tokens(sum("input_tokens"));
  const legend = Object.entries(status.counts).filter(([name, count]) => name !== "total" && count > 0);
  const busy = status.tasks.filter((task) => UNDER_WAY.includes(task.status));
  const rest = status.tasks.filter((task) => !UNDER_WAY.includes(task.status));
  const left = status.counts.total - (status.counts.completed ?? 0) - (status.counts.skipped ?? 0);
  return h("div", { class: "stack", "data-key": "run" },
    h("section", { class: "card", "aria-labelledby": "run-title" },
      h("div", { class: "head" }, h("h2", { id: "run-title", class: "big" }, status.name || status.run), h("span", { class: `chip ${runTone(status.state)}` }, status.state.status.replaceAll("_", " ")),
        app.project?.control && !app.at && status.engine_alive && status.state.status === "running" && h("button", { class: "right", on: { click: () => stop(app, status.run) } }, "Stop the run")),
      h("p", { class: "muted" }, status.state_text === status.state.status ? (status.target ? `Lands on ${status.target}` : "") : [status.state_text, status.target ? `, landing on ${status.target}` : ""]),
      progressBar(status.counts, true),
      h("div", { class: "legend" }, legend.map(([name, count]) => {
        const [sign, tone, word] = statusOf(name);
        return h("a", { href: app.link("tasks", [], { status: name }), class: `tone-${tone}` }, h("span", { class: "sign", "aria-hidden": "true" }, sign), `${count} ${word}`);
      })),
      h("dl", { class: "figures" },
        figure("Completed", `${status.counts.completed ?? 0} of ${status.counts.total}`),
        figure(left && status.engine_alive ? "Time left" : "Started", left && status.engine_alive ? (data.eta_ms === null ? "not known yet" : `about ${span(data.eta_ms)}`) : ago(status.created, now)),
        figure("Agents at work", String(busy.filter((task) => task.status === "in_progress").length)),
        figure("Spent", spent(bill)),
        read && figure("Input tokens", read))),
    h("div", { class: "two" },
      h("div", { class: "stack" },
        h("section", { class: "card", "aria-labelledby": "busy-title" }, h("h2", { id: "busy-title" }, `Under way (${busy.length})`),
          busy.length ? taskLines(app, busy, now) : h("p", { class: "empty" }, status.engine_alive ? "Nothing is under way." : "No engine is at work.")),
        rest.length > 0 && h("section", { class: "card", "aria-labelledby": "rest-title" }, h("h2", { id: "rest-title" }, "Needs attention"), taskLines(app, rest.slice(0, 20), now))),
      h("div", { class: "stack" },
        status.groups.length > 1 && h("section", { class: "card", "aria-labelledby": "groups-title" }, h("h2", { id: "groups-title" }, "Groups"), groups(app, status.groups)),
        h("section", { class: "card", "aria-labelledby": "recent-title" },
          h("div", { class: "row" }, h("h2", { id: "recent-title" }, "Recent events"), h("a", { class: "right small", href: app.link("journal") }, "Journal")),
          h("ul", { class: "plain" }, recent.map((event) => eventLine(app, event)))))));
}

// What `piton stop` does.
function stop(app, run) {
  if (confirm("Stop the run? Agents at work finish first. `piton run` resumes it.")) app.act(`/api/runs/${encodeURIComponent(run)}`, { do: "stop" });
}

function figure(name, value) {
  return [h("div", {}, h("dt", {}, name), h("dd", {}, value))];
}

function taskLines(app, tasks, now) {
  return h("ul", { class: "plain lines" }, tasks.map((task) => {
    const [sign, tone, word] = statusOf(task.status);
    const attempt = task.attempt > 1 ? `, attempt ${task.attempt}` : "";
    return h("li", { "data-key": task.id, "data-row": "1" },
      h("div", { class: "row" }, h("span", { class: `sign tone-${tone}`, "aria-hidden": "true" }, sign),
        h("a", { class: "id", href: app.link("task", [task.id]) }, task.id),
        h("span", { class: "grow" }, task.title ?? ""),
        (task.status === "failed" || task.status === "abandoned") && h("span", { class: "small" }, failingLine(app, task.id)),
        h("span", { class: "muted small nowrap" }, `${word}${attempt} ${age(task.status, task.since, now)}`)),
      task.landing_waits && h("div", { class: "note small" }, task.landing_waits));
  }));
}

function groups(app, groups) {
  return h("ul", { class: "plain lines" }, groups.slice(0, 40).map((group) => h("li", { "data-key": group.id },
    h("div", { class: "row" }, h("a", { href: app.link("tasks", [], { group: group.id }) }, group.title || group.id), h("span", { class: "muted small right" }, `${group.counts.completed ?? 0}/${group.counts.total}`)),
    progressBar(group.counts))), groups.length > 40 && h("li", { class: "muted" }, `and ${counted(groups.length - 40, "group")} more`));
}

export function eventLine(app, event, isLong) {
  const tone = event.tone === "plain" ? "" : `tone-${event.tone}`;
  return h("li", { class: "row top small", "data-key": String(event.seq), "data-row": isLong && "1" },
    h("a", { class: "muted nowrap", href: app.link(app.route.view, app.route.rest, { ...app.route.query, at: event.seq }), title: `Replay from event ${event.seq}` }, clock(millis(event.at))),
    event.task ? h("a", { class: "id", href: app.link("task", [event.task]) }, event.task) : isLong && h("span", { class: "id" }),
    h("span", { class: `grow ${tone}` }, event.text));
}

function others(app) {
  const runs = app.runs.filter((run) => run.run !== app.run);
  if (!runs.length) return null;
  return h("section", { class: "card", "aria-labelledby": "runs-title" }, h("h2", { id: "runs-title" }, "Other runs"),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ["Run", "State", "Done", "Last event"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, runs.slice(0, 50).map((run) => h("tr", { "data-key": run.run, "data-row": "1" },
        h("td", {}, h("a", { class: "mono", href: app.link("overview", [], {}, run.run) }, run.run)),
        h("td", { class: `tone-${runTone(run.state)}` }, run.state.status.replaceAll("_", " "), run.replaced ? ", replaced" : ""),
        h("td", { class: "nowrap" }, `${run.done}/${run.total}`),
        h("td", { class: "muted nowrap" }, ago(run.touched, Date.now()))))))));
}
