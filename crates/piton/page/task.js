// One task: why it is where it is, its attempts side by side, its output, what it changed, what it was asked.

import { h } from "./dom.js";
import { get, taskPath } from "./api.js";
import { Events } from "./journal.js";
import { command } from "./overview.js";
import { UNDER_WAY, age, counted, moment, span, spent, statusOf } from "./words.js";
import { failingLine, outputView } from "./output.js";
import { diffView } from "./diff.js";

const TABS = { attempts: "Attempts", output: "Output", diff: "Changes", asked: "What was asked", events: "Events" };

export function task(app) {
  const [id, tab = "attempts", job] = app.route.rest;
  let data = null;
  const output = tab === "output" ? outputView(app, id, job) : null;
  const diff = tab === "diff" ? diffView(app, id) : null;
  const events = tab === "events" ? new Events(app, () => ({ task: id, minor: true })) : null;
  return {
    title: () => id,
    async load() {
      data = await get(taskPath(app.run, id, "", { at: app.at }));
      if (app.at) app.moment = data.now_ms;
      if (output) await output.load(data);
      if (diff) await diff.load();
      if (events) await events.load();
    },
    leave: () => output?.leave(),
    // What an agent writes is on disk before it is in the journal.
    isMoving: () => UNDER_WAY.includes(data?.task.status) && !diff?.isWriting(),
    draw() {
      if (!data) return h("p", { class: "empty" }, "Loading…");
      return h("div", {}, header(app, data), tab === "attempts" && why(app, data),
        h("nav", { class: "tabs", "aria-label": "Parts of the task" }, Object.entries(TABS).map(([name, title]) => h("a", { href: app.link("task", [id, name]), "aria-current": name === tab && "page" }, title))),
        tab === "attempts" && attempts(app, data), output?.draw(), diff?.draw(), tab === "asked" && asked(app, data),
        events?.events && events.draw());
    },
  };
}

function header(app, data) {
  const { task } = data;
  const [sign, tone, word] = statusOf(task.status);
  return h("div", {},
    h("div", { class: "head" },
      h("h1", {}, h("span", { class: "mono" }, task.id), " ", task.title ?? ""),
      h("span", { class: `chip ${tone}` }, h("span", { "aria-hidden": "true" }, sign), word),
      h("span", { class: "muted small" }, age(task.status, task.since, app.now()))),
    h("p", { class: "muted small row" },
      data.group && h("span", {}, "group ", h("a", { href: app.link("tasks", [], { group: data.group }) }, data.group)),
      h("span", {}, `attempts ${task.attempts_spent} of ${task.attempts_allowed} spent`),
      h("span", {}, `used ${spent(task.used)}`),
      data.needs.length > 0 && h("span", {}, "after ", data.needs.slice(0, 12).map((need) => [h("a", { class: "id", href: app.link("task", [need]) }, need), " "])),
      data.dependents.length > 0 && h("span", {}, "before ", data.dependents.slice(0, 12).map((next) => [h("a", { class: "id", href: app.link("task", [next]) }, next), " "]))));
}

function why(app, data) {
  const { why, task } = data;
  if (!why || task.status === "completed") return null;
  return h("section", { class: "card", "aria-labelledby": "why-title", style: { "margin-bottom": "1rem" } },
    h("h2", { id: "why-title" }, "Why"),
    h("ul", { class: "plain" }, why.causes.map((cause) => h("li", { style: { "margin-left": `${(cause.depth ?? 0) * 1.2}rem` } }, cause.text))),
    why.last_words && h("div", { class: "note" }, why.last_words),
    app.project?.control && !app.at ? buttons(app, data) : null,
    why.helps.length > 0 && h("div", { class: "row", style: { "margin-top": ".5rem" } }, why.helps.slice(0, 4).map((help) => command(help))));
}

function buttons(app, { task, why }) {
  const path = taskPath(app.run, task.id);
  const verbs = new Set(why.helps.map((help) => help.split(" ")[1]));
  const answer = () => {
    const text = prompt(`What the next agent of ${task.id} should do`);
    if (text) app.act(path, { do: "answer", text });
  };
  const raise = () => {
    const attempts = Number(prompt("Attempts allowed in all", String(task.attempts_allowed + 2)));
    if (attempts > 0) app.act(path, { do: "raise", attempts });
  };
  const open = ["failed", "abandoned", "blocked"].includes(task.status);
  return h("div", { class: "row", style: { "margin-top": ".5rem" } },
    verbs.has("answer") && h("button", { class: "first", on: { click: answer } }, "Answer"),
    open && h("button", { on: { click: () => app.act(path, { do: "retry" }) } }, "Retry"),
    task.status === "blocked" && h("button", { on: { click: () => app.act(path, { do: "unblock" }) } }, "Unblock"),
    open && h("button", { on: { click: raise } }, "Raise attempts"),
    task.status !== "completed" && h("button", { on: { click: () => confirm(`Continue without ${task.id}?`) && app.act(path, { do: "skip" }) } }, "Skip"));
}

function attempts(app, data) {
  if (!data.attempts.length) return h("p", { class: "empty" }, "It has not been started yet.");
  return [
    h("div", { class: "attempts" }, [...data.attempts].reverse().map((attempt) => h("section", { class: "card stack", "data-key": attempt.fences.join(" "), "aria-label": `Attempt ${attempt.attempt}` }, one(app, data, attempt)))),
  ];
}

const END = {
  landed: (end) => ["good", `landed as ${end.commit.slice(0, 10)}`],
  completed: () => ["good", "completed"],
  failed: (end, isLast) => [end.next === "again" ? "warning" : "bad", end.next !== "again" ? `failed, ${end.next}` : isLast ? "failed, will be retried" : "failed, was retried"],
  released: (end) => ["quiet", `released: ${end.reason}`],
  given_up: (end) => ["bad", `abandoned by ${end.by}: ${end.reason}`],
  cut_off: () => ["quiet", "cut off"],
};

function one(app, data, attempt) {
  const now = app.now();
  const [tone, words] = attempt.end ? END[attempt.end.end](attempt.end, attempt === data.attempts.at(-1)) : ["busy", "under way"];
  const jobs = data.jobs.filter((job) => attempt.fences.includes(job.fence));
  const agents = jobs.filter((job) => job.kind === "agent");
  return [
    h("div", { class: "row" }, h("h2", {}, `Attempt ${attempt.attempt}`), h("span", { class: `chip ${tone}` }, words), h("span", { class: "right muted small nowrap" }, span((attempt.ended_ms ?? now) - attempt.started_ms))),
    h("p", { class: "muted small" }, moment(attempt.started_ms), attempt.by ? ` by ${attempt.by}` : "", attempt.fences.length > 1 ? `, started ${attempt.fences.length} times` : ""),
    attempt.setbacks.map((setback) => h("p", { class: "small tone-warning" }, setback.outcome)),
    attempt.end?.end === "failed" && h("div", { class: "note" }, attempt.end.reason),
    agents.length > 0 && h("div", { class: "row" }, agents.map((job) => h("a", { class: "button small", href: app.link("task", [data.task.id, "output", job.job]) }, job.is_running ? "Watch the agent" : "Agent output", job.took_ms ? h("span", { class: "muted" }, ` ${span(job.took_ms)}`) : ""))),
    attempt.agents.filter((pass) => pass.words).slice(-1).map((pass) => h("details", {}, h("summary", { class: "small" }, "The last that the agent said"), h("pre", { class: "box", tabindex: "0" }, pass.words))),
    attempt.checks.length > 0 && h("div", {}, h("h3", {}, "Checks"), attempt.checks.map((check) => checkRow(app, data, jobs, check))),
    attempt.end?.feedback && h("details", {}, h("summary", { class: "small" }, "Feedback for the next attempt"), h("pre", { class: "box", tabindex: "0" }, attempt.end.feedback)),
    (attempt.created.length > 0 || attempt.modified.length > 0) && h("details", {}, h("summary", { class: "small" }, `${counted(attempt.created.length + attempt.modified.length, "file")}, ${counted(attempt.commits.length, "commit")}`),
      attempt.commits.length > 0 && h("ul", { class: "plain small mono" }, attempt.commits.map((made) => h("li", {}, `${made.hash.slice(0, 10)} ${made.subject ?? ""}`))),
      h("ul", { class: "plain small mono" }, attempt.created.map((file) => h("li", {}, `+ ${file}`)), attempt.modified.map((file) => h("li", {}, `~ ${file}`)))),
    guarded(attempt.guardrails),
  ];
}

// What it was told to heed, and what it was kept from, as it was when it started.
function guarded(had) {
  if (!had) return null;
  const limits = fenced(had.fences ?? {});
  if (!had.texts.length && !limits.length) return null;
  return h("details", {}, h("summary", { class: "small" }, [had.texts.length && counted(had.texts.length, "guardrail"), limits.length && counted(limits.length, "limit")].filter(Boolean).join(", ")),
    h("ul", { class: "small" }, had.texts.map((text) => h("li", {}, text)), limits.map((words) => h("li", { class: "muted" }, words))));
}

function fenced(fences) {
  const { sandbox = "auto", writable = [], memory_mib, processes, startup, protected: files = [], protect } = fences;
  return [
    sandbox !== "auto" && `sandbox: ${sandbox}`, writable.length > 0 && `may also write to ${writable.join(", ")}`,
    memory_mib && `at most ${memory_mib} MiB of memory for a process`, processes && `at most ${processes} processes`,
    startup && `must say something within ${span(startup)}`, files.length > 0 && (protect === "block" ? `may not change ${files.join(", ")}` : `changes of ${files.join(", ")} are reported`),
  ].filter(Boolean);
}

function checkRow(app, data, jobs, check) {
  const job = data.jobs.find((job) => job.log && job.log === check.log) ?? jobs.find((job) => job.log === check.log);
  const sign = check.passed ? "✓" : "✗";
  const to = job && app.link("task", [data.task.id, "output", job.job], check.passed ? {} : { line: "failing" });
  return h("div", { class: "checkrow" },
    h("span", { class: `sign tone-${check.passed ? "good" : "bad"}` }, sign, h("span", { class: "hidden" }, check.passed ? "passed" : "failed")),
    h("span", { class: "mono" }, to ? h("a", { href: to }, check.name) : check.name, check.lands ? h("span", { class: "muted small" }, " where it lands") : ""),
    h("span", { class: "muted small nowrap" }, check.tests ? `${check.tests.passed} passed, ${check.tests.failed} failed · ` : "", span(check.took_ms)),
    check.detail && h("span", { class: `full small ${check.passed ? "tone-warning" : "tone-bad"}` }, check.detail),
    !check.passed && check.tail && h("pre", { class: "box full", tabindex: "0", "aria-label": `What ${check.name} said` }, tail(check.tail)),
    !check.passed && to && h("a", { class: "full small", href: to }, "Go to the failing line"));
}

// From just before the line that says what went wrong.
function tail(text) {
  const lines = text.split("\n");
  const at = failingLine(lines.map((line) => ["plain", line]));
  return [at > 3 && "…\n", lines.slice(at > 3 ? at - 2 : 0, at).map((line) => `${line}\n`), h("b", { class: "tone-bad" }, lines[at]), "\n", lines.slice(at + 1).join("\n")];
}

function asked(app, { spec, guardrails }) {
  if (!spec) return h("p", { class: "empty" }, "The plan does not have this task any more.");
  return h("div", { class: "stack" },
    h("section", { class: "card" }, h("h2", {}, "Prompt"), h("pre", {}, spec.prompt)),
    spec.checks?.length > 0 && h("section", { class: "card" }, h("h2", {}, "Checks"), h("ul", { class: "plain mono" }, spec.checks.map((check) => h("li", {}, check.run ?? check.command ?? check.name ?? JSON.stringify(check))))),
    spec.criteria?.length > 0 && h("section", { class: "card" }, h("h2", {}, "Criteria"), h("ul", {}, spec.criteria.map((text) => h("li", {}, text)))),
    spec.files?.length > 0 && h("section", { class: "card" }, h("h2", {}, "Files"), h("ul", { class: "plain mono" }, spec.files.map((file) => h("li", {}, file)))),
    guardrails.length > 0 && h("section", { class: "card" }, h("h2", {}, "Guardrails"), h("ul", {}, guardrails.map((text) => h("li", {}, text)))),
    h("p", { class: "muted small" }, "The prompt that an agent really gets holds more: ", h("code", {}, `piton prompt ${spec.id}`)));
}
