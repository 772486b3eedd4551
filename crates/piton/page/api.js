// Requests to the server, and the stream of what is new.

export class Problem extends Error {
  constructor(status, body) {
    super(body.error ?? `the server answered ${status}`);
    this.status = status;
    this.hints = body.hints ?? [];
    this.password = body.password;
  }
}

// A question whose answer nobody waits for any more.
export class Abandoned extends Error {}

// A view reads the journal in milliseconds, and the diff of a large task in seconds. A command may wait for git.
const READ_PATIENCE = 30_000;
const COMMAND_PATIENCE = 120_000;

async function ask(path, options, patience, abandoned) {
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), patience);
  const end = () => ended.abort();
  abandoned?.addEventListener("abort", end);
  let response;
  let body;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options, signal: ended.signal });
    body = await response.json().catch((error) => (ended.signal.aborted ? Promise.reject(error) : {}));
  } catch {
    if (abandoned?.aborted) throw new Abandoned();
    if (ended.signal.aborted) throw new Problem(0, { error: `piton serve did not answer within ${patience / 1000}s` });
    throw new Problem(0, { error: "piton serve does not answer; it may have ended" });
  } finally {
    clearTimeout(timer);
    abandoned?.removeEventListener("abort", end);
  }
  // Between the answer and its reader, the page may have gone on.
  if (abandoned?.aborted) throw new Abandoned();
  if (!response.ok) throw new Problem(response.status, body);
  return body;
}

let inFlight = new Map();
let current = new AbortController();

// The same question is asked once at a time.
export function get(path) {
  const asked = inFlight;
  if (!asked.has(path)) asked.set(path, ask(path, {}, READ_PATIENCE, current.signal).finally(() => asked.delete(path)));
  return asked.get(path);
}

// Something has changed: nobody who asks from now on is given an answer that was begun before.
export function renew() {
  inFlight = new Map();
}

// The page goes on: whoever waits for an answer gets `Abandoned` instead of it.
export function abandon() {
  renew();
  current.abort();
  current = new AbortController();
}

export function post(path, body) {
  return ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }, COMMAND_PATIENCE);
}

const name = encodeURIComponent;

export function runPath(run, rest, query) {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = pairs.map(([key, value]) => `${key}=${name(value)}`).join("&");
  return `/api/runs/${name(run)}/${rest}${text ? `?${text}` : ""}`;
}

export function taskPath(run, task, rest, query) {
  return runPath(run, `tasks/${name(task)}${rest ? `/${rest}` : ""}`, query);
}

// Three beats of the server: a laptop that slept, or a proxy that lost the connection.
const SILENT = 50_000;
const POLL = 3_000;

// What is new, for as long as the page is open. The browser connects again by itself, with the last id that it saw.
export class Live {
  constructor(hear) {
    this.hear = hear;
    this.connect();
    setInterval(() => this.check(), 5_000);
    for (const kind of ["online", "pageshow", "focus"]) addEventListener(kind, () => this.check());
  }

  connect() {
    this.source?.close();
    this.heard = Date.now();
    this.isOpen = false;
    const source = new EventSource(this.last ? `/api/events?last=${name(this.last)}` : "/api/events");
    this.source = source;
    const note = (kind) => (event) => {
      this.heard = Date.now();
      this.isOpen = true;
      if (event.lastEventId) this.last = event.lastEventId;
      this.hear(kind, event.data ? JSON.parse(event.data) : {});
    };
    for (const kind of ["hello", "news", "reset", "beat"]) source.addEventListener(kind, note(kind));
    source.addEventListener("error", () => {
      const wasOpen = this.isOpen;
      this.isOpen = false;
      if (wasOpen) this.hear("lost", {});
      // A browser that is not given a stream, or says too little to be given one: ask instead.
      if (source.readyState === EventSource.CLOSED) this.poll();
    });
  }

  check() {
    if (!this.polling && Date.now() - this.heard > SILENT) {
      this.hear("lost", {});
      this.connect();
    }
  }

  poll() {
    if (this.polling) return;
    this.polling = setInterval(() => this.hear("poll", {}), POLL);
  }
}
