// Requests to the server, and the stream of what is new.

export class Problem extends Error {
  constructor(status, body) {
    super(body.error ?? `the server answered ${status}`);
    this.status = status;
    this.hints = body.hints ?? [];
    this.password = body.password;
  }
}

// What lets this browser in: a cookie goes to every port of the host, and this only to the page that it was given to.
const KEY = "piton-key";
let key = null;
try {
  key = localStorage.getItem(KEY);
} catch {
  // A browser that keeps nothing: it is asked again in the next tab.
}

export function keepKey(given) {
  key = given;
  try {
    localStorage.setItem(KEY, given);
  } catch {
    // It is known in this tab.
  }
}

// The key of an address that the server led to (`#key=K`, or `#key=K&/RUN/view`): it is kept, and not shown. Whether there
// was one.
export function takeKey() {
  const found = /^#key=([\w.~+/=-]+)(?:&(.*))?$/.exec(location.hash);
  if (!found) return false;
  keepKey(found[1]);
  history.replaceState(null, "", `${location.pathname}#${found[2] ?? "/"}`);
  return true;
}

// Another tab was let in.
export function onKey(hear) {
  addEventListener("storage", (event) => event.key === KEY && event.newValue && hear());
}

// A question whose answer nobody waits for any more.
export class Abandoned extends Error {}

// A view reads the journal in milliseconds, and the diff of a large task in seconds. A command may wait for git.
const READ_PATIENCE = 30_000;
const COMMAND_PATIENCE = 120_000;
export const ENTER = "/api/enter";

async function ask(path, options, patience, abandoned) {
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), patience);
  const end = () => ended.abort();
  abandoned?.addEventListener("abort", end);
  let response;
  let body;
  try {
    const headers = { ...options.headers, ...(key && path !== ENTER && { "x-piton-key": key }) };
    response = await fetch(path, { credentials: "same-origin", ...options, headers, signal: ended.signal });
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

// What `localStorage` or `sessionStorage` remembers, if it can be read.
export function recall(storage, key, otherwise) {
  try {
    return JSON.parse(window[storage].getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
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
// Then the stream is tried again: there may be room for it now.
const POLLS = 20;

// What is new, for as long as the page can be seen. A browser has six connections for all tabs of a host, and each stream
// takes one: a tab that is hidden lets go of its own. The next one begins with the last id that was seen.
export class Live {
  constructor(hear) {
    this.hear = hear;
    this.resume();
    setInterval(() => this.check(), 5_000);
    for (const kind of ["online", "pageshow", "focus"]) addEventListener(kind, () => this.check());
    document.addEventListener("visibilitychange", () => (document.hidden ? this.pause() : this.resume()));
    addEventListener("pagehide", () => this.pause());
    addEventListener("pageshow", () => this.resume());
  }

  pause() {
    this.source?.close();
    this.source = null;
    this.isOpen = false;
    clearInterval(this.polling);
    this.polling = null;
  }

  resume() {
    if (!document.hidden && !this.source && !this.isOver) this.connect();
  }

  // Nobody is let in with what this page has: the form, or another address, begins again.
  stop() {
    this.isOver = true;
    this.pause();
  }

  connect() {
    this.pause();
    this.heard = Date.now();
    const query = new URLSearchParams({ ...(key && { key }), ...(this.last && { last: this.last }) }).toString();
    const source = new EventSource(query ? `/api/events?${query}` : "/api/events");
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
      if (source === this.source && source.readyState === EventSource.CLOSED) this.poll();
    });
  }

  check() {
    if (this.source && !this.polling && Date.now() - this.heard > SILENT) {
      this.hear("lost", {});
      this.connect();
    }
  }

  poll() {
    if (this.polling) return;
    let left = POLLS;
    this.polling = setInterval(() => {
      if (left-- > 0) this.hear("poll", {});
      else this.connect();
    }, POLL);
  }
}
