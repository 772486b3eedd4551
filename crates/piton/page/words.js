// Times, spans, money and statuses, as people read them.

export const STATUS = {
  pending: ["·", "quiet", "pending"], waiting: ["·", "quiet", "waiting"],
  in_progress: ["▸", "busy", "in progress"], confirming: ["▸", "busy", "confirming"], verifying: ["▸", "busy", "verifying"],
  verified: ["◆", "busy", "verified"], merging: ["◆", "busy", "merging"],
  completed: ["✓", "good", "completed"], failed: ["↻", "warning", "failed"],
  abandoned: ["✗", "bad", "abandoned"], blocked: ["!", "bad", "blocked"], skipped: ["-", "warning", "skipped"],
};

export const UNDER_WAY = ["in_progress", "confirming", "verifying", "verified", "merging"];

export function statusOf(name) {
  return STATUS[name] ?? ["·", "quiet", String(name).replaceAll("_", " ")];
}

export function span(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "unknown";
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  const two = (n) => String(n).padStart(2, "0");
  if (seconds < 1) return `${Math.max(0, Math.round(ms))}ms`;
  if (seconds < 10) return `${(ms / 1000).toFixed(1).replace(".0", "")}s`;
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h ${two(Math.floor((seconds % 3600) / 60))}m`;
  return `${Math.floor(seconds / 86400)}d ${two(Math.floor((seconds % 86400) / 3600))}h`;
}

export function millis(time) {
  return typeof time === "number" ? time : Date.parse(time);
}

export function ago(time, now) {
  return `${span(now - millis(time))} ago`;
}

const DONE = new Set(["completed", "abandoned", "skipped", "blocked"]);

// How long a status has lasted, or how long ago it was reached.
export function age(status, since, now) {
  return DONE.has(status) ? ago(since, now) : `for ${span(now - millis(since))}`;
}

export function clock(time) {
  return new Date(millis(time)).toLocaleTimeString(undefined, { hour12: false });
}

export function moment(time) {
  const date = new Date(millis(time));
  const today = new Date();
  return date.toDateString() === today.toDateString() ? clock(time) : `${date.toLocaleDateString()} ${clock(time)}`;
}

export function dollars(amount) {
  if (amount === null || amount === undefined) return null;
  return amount >= 100 ? `$${Math.round(amount)}` : `$${amount.toFixed(amount < 1 ? 3 : 2)}`;
}

export function tokens(count) {
  if (count === null || count === undefined) return null;
  if (count < 1000) return String(count);
  return count < 1e6 ? `${(count / 1e3).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`;
}

// What was not reported is unknown, and not zero.
export function spent(bill) {
  const parts = [bill.cost_usd, bill.estimated_cost_usd].filter((one) => one !== null && one !== undefined);
  if (!parts.length) return "not reported";
  const isLess = bill.unmeasured_tries > 0;
  const isGuess = bill.estimated_cost_usd ? "about " : "";
  return `${isLess ? "≥ " : ""}${isGuess}${dollars(parts.reduce((a, b) => a + b, 0))}`;
}

// The largest of many values, or `least`. There may be more of them than a function can be called with.
export function most(values, least) {
  return values.reduce((a, b) => Math.max(a, b), least);
}

export function counted(n, noun) {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}

const RUN_TONE = { running: "busy", stopping: "busy", completed: "good", interrupted: "warning", stopped: "warning", stale: "bad", ended: "bad" };

// How to feel about where a run stands. The words come with it.
export function runTone(state) {
  return RUN_TONE[state.status] ?? "quiet";
}

export const KIND = {
  run: ["run", "bad"], budget: ["budget", "warning"], provider: ["provider", "warning"], landing: ["landing", "warning"],
  plan: ["plan", "warning"], blocked: ["blocked", "bad"], confirm: ["confirm", "warning"], given_up: ["abandoned", "bad"], look: ["look", "quiet"],
};
