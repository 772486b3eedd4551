// The output of an agent or a check: every line can be linked to, searched for, and seen as it comes.

import { Window, h } from "./dom.js";
import { get, taskPath } from "./api.js";
import { counted } from "./words.js";

const LINE = 20;
// How soon a job is asked for more, and how seldom if it says nothing.
const MORE = 400;
const MOST = 5_000;
// What a line looks like that says what went wrong, most telling first.
const FAILING = [/\bpanicked at\b/, /^\s*error(\[\w+\])?:/i, /\bAssertionError\b|\bassertion\b.*\bfailed\b/i, /^(FAIL|FAILED|not ok|✗|--- FAIL)\b/, /\b(error|exception|traceback|failed|fatal)\b/i];

export function failingLine(lines) {
  for (const pattern of FAILING) {
    const at = lines.findIndex(([, text]) => pattern.test(text));
    if (at >= 0) return at;
  }
  return lines.length - 1;
}

// In an address: the check that failed last.
export const FAILED = "failed";
const hasFailed = (job) => job.kind === "check" && !job.is_running && job.ended !== "exit status 0";

// The job of the check that the last attempt failed. One that has passed later, on the same work, is not what went wrong.
function failedJob({ attempts, jobs }) {
  for (const { checks } of [...attempts].reverse()) {
    const failed = checks.filter((row, at) => !row.passed && !checks.slice(at + 1).some((later) => later.passed && later.name === row.name));
    const found = failed.reverse().map((row) => jobs.find((job) => job.log && job.log === row.log)).find(Boolean);
    if (found) return found;
  }
  return jobs.filter(hasFailed).at(-1);
}

export function outputView(app, id, wanted) {
  const box = h("div", { class: "log", tabindex: "0", role: "region", "aria-label": "Output", "data-own": "1" });
  let [jobs, job, lines, next, isOver, timer, wait] = [[], null, [], 0, false, null, MORE];
  let [isLeft, isReading, lacks] = [false, false, false];
  let [hits, found, hit, words, isFollowing] = [[], new Set(), -1, "", true];
  // The line of the address that is shown already.
  let placed = null;
  let here = -1;
  const list = new Window(box, LINE, (line, at) => h("div", { class: `line ${line[0]}${at === here ? " here" : ""}${found.has(at) ? " hit" : ""}`, "data-key": String(at) },
    h("a", { href: app.link("task", [id, "output", job.job], { line: at + 1 }), tabindex: "-1" }, at + 1), h("span", {}, line[1] || " ")));
  box.addEventListener("scroll", () => (isFollowing = box.scrollTop + box.clientHeight > box.scrollHeight - 2 * LINE), { passive: true });

  async function more() {
    const asked = job;
    const answer = await get(taskPath(app.run, id, `output/${encodeURIComponent(asked.job)}`, { from: next }));
    if (asked.job !== job.job || isLeft) return false;
    lines.length = answer.first_line;
    for (const line of answer.lines) lines.push(line);
    const isMore = answer.next > next;
    [next, isOver] = [answer.next, answer.over];
    if (words) search();
    return isMore;
  }

  // Piece by piece, each of which is shown at once. It ends with the job, and with the view.
  async function read() {
    clearTimeout(timer);
    if (isReading || isLeft) return;
    isReading = true;
    const reading = job;
    let [isMore, isTorn] = [false, false];
    try {
      while (!isOver && !isLeft && (await more())) {
        isMore = true;
        show();
      }
    } catch {
      // Asked again below: the job may have just begun.
      isTorn = true;
    }
    isReading = false;
    if (isLeft) return;
    if (job !== reading && job.job !== reading.job) return read();
    show();
    wait = isMore ? MORE : Math.min(MOST, 2 * wait);
    if (!isOver && (!app.at || isTorn) && !document.hidden) timer = setTimeout(read, wait);
  }

  function show() {
    list.set(lines);
    place();
    const note = document.getElementById("lines-read");
    if (note) note.textContent = told();
  }

  const seen = () => !document.hidden && read();
  document.addEventListener("visibilitychange", seen);

  function place() {
    const { line } = app.route.query;
    if (line && line !== placed && (isOver || (line !== "failing" && lines.length >= Number(line)))) {
      placed = line;
      here = line === "failing" ? failingLine(lines) : Math.min(Number(line), lines.length) - 1;
      isFollowing = false;
      list.reveal(Math.max(0, here));
    } else if (isFollowing && !isOver) {
      box.scrollTop = box.scrollHeight;
    }
  }

  function search() {
    const text = words.toLowerCase();
    hits = text ? lines.flatMap(([, line], at) => (line.toLowerCase().includes(text) ? [at] : [])) : [];
    found = new Set(hits);
  }

  function step(by) {
    if (!hits.length) return;
    hit = (hit + by + hits.length) % hits.length;
    here = hits[hit];
    list.reveal(here);
    app.redraw();
  }

  const told = () => `${counted(lines.length, "line")}${isOver ? "" : job?.is_running ? ", still running" : ", loading"}${words ? `, ${hits.length} found` : ""}`;

  return {
    async load(data) {
      jobs = data.jobs;
      const failed = wanted === FAILED && failedJob(data);
      lacks = wanted === FAILED ? !failed : Boolean(wanted) && !jobs.some((one) => one.job === wanted);
      const chosen = jobs.find((one) => (wanted === FAILED ? one === failed : one.job === wanted)) ?? jobs.filter((one) => one.kind === "agent").at(-1) ?? jobs.at(-1);
      if (chosen && chosen.job !== job?.job) {
        [job, lines, next, isOver, wait] = [chosen, [], 0, false, MORE];
        read();
      } else {
        job = chosen ?? job;
        place();
      }
    },
    leave() {
      isLeft = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
    draw() {
      if (!job) return h("p", { class: "empty" }, "Nothing has run yet.");
      const choose = (event) => app.go("task", [id, "output", event.target.value]);
      const find = (event) => {
        [words, hit] = [event.target.value, -1];
        search();
        if (hits.length) step(1);
        else list.draw();
        document.getElementById("lines-read").textContent = told();
      };
      const pressed = (event) => event.key === "Enter" && step(event.shiftKey ? -1 : 1);
      return h("div", { class: "stack" },
        lacks && h("p", { class: "muted" }, wanted === FAILED ? "No check of this task has failed. This is what ran last." : "This output does not exist. This is what ran last."),
        h("div", { class: "row" },
          h("select", { "aria-label": "Output of", on: { change: choose } }, jobs.map((one) => h("option", { value: one.job, "data-key": one.job, selected: one.job === job.job }, `${one.attempt ? `attempt ${one.attempt} · ` : ""}${one.title.slice(0, 90)} · ${one.ended}`))),
          h("input", { type: "search", placeholder: "Search", "aria-label": "Search in the output", on: { input: find, keydown: pressed } }),
          h("button", { "aria-label": "Previous match", on: { click: () => step(-1) } }, "↑"), h("button", { "aria-label": "Next match", on: { click: () => step(1) } }, "↓"),
          h("button", { on: { click: () => ((here = failingLine(lines)), list.reveal(here), list.draw()) } }, "Failing line"),
          h("button", { on: { click: () => ((isFollowing = true), (box.scrollTop = box.scrollHeight)) } }, "End"),
          h("span", { class: "muted small", id: "lines-read", "data-own": "1" }, told())),
        box);
    },
  };
}
