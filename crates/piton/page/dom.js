// Elements made from values. Text is only ever text: nothing that comes from a run is read as HTML.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  element.listeners = {};
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      element.listeners = value;
      for (const kind of Object.keys(value)) listen(element, kind);
    } else if (name === "style") {
      // One property after the other: the policy forbids the attribute.
      for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
      element.styled = value;
    } else if (name === "value" || (name === "checked" && element.nodeName === "INPUT")) {
      element[name] = value;
      element.given = { ...element.given, [name]: value };
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child instanceof Node ? standIn(child) : document.createTextNode(String(child)));
  }
}

// An element that draws itself stays where it is while the page around it is compared: moved, it would lose its place.
function standIn(child) {
  if (!child.dataset?.own || !child.isConnected) return child;
  const stub = child.cloneNode(false);
  stub.real = child;
  return stub;
}

function unstub(element) {
  for (const stub of element.querySelectorAll?.("[data-own]") ?? []) if (stub.real) stub.replaceWith(stub.real);
  return element;
}

// The listener looks up what to do, so that an element that stays can be given something else to do.
function listen(element, kind) {
  element.addEventListener(kind, (event) => element.listeners[kind]?.(event));
}

// Make the children of `parent` equal to `wanted`. What stays the same stays the same element, so that nobody loses
// the focus, a selection, or what they have typed.
export function show(parent, ...wanted) {
  const holder = document.createElement("div");
  add(holder, wanted);
  patch(parent, [...holder.childNodes]);
}

function patch(parent, wanted) {
  const keyed = new Map();
  for (const child of parent.children) {
    const key = child.dataset?.key;
    if (key) keyed.set(key, child);
  }
  // How many of each kind are still to come. What is not among them goes first, so that the rest need not move.
  const rest = new Map();
  const count = (node, by) => rest.set(kind(node), (rest.get(kind(node)) ?? 0) + by);
  wanted.forEach((node) => count(node, 1));
  let at = parent.firstChild;
  const clear = () => {
    while (at && !rest.get(kind(at))) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  };
  // A node that would lose its focus or its place if it moved: the others make way for it.
  const reach = (node) => {
    while (at !== node) {
      const other = at;
      at = at.nextSibling;
      if (other.dataset?.key || other.dataset?.own) parent.append(other);
      else other.remove();
    }
  };
  for (const next of wanted) {
    clear();
    count(next, -1);
    const key = next.dataset?.key;
    const known = next.real ?? (key && keyed.get(key));
    const isKnown = known && known.parentNode === parent && (next.real || same(known, next));
    if (isKnown && known !== at) {
      const isHeld = known.contains(document.activeElement) || known.dataset?.own;
      if (isHeld && at && at.compareDocumentPosition(known) & Node.DOCUMENT_POSITION_FOLLOWING) reach(known);
      else parent.insertBefore(known, at);
      at = known;
    }
    if (next.real) {
      if (at === next.real) at = at.nextSibling;
      else parent.insertBefore(next.real, at);
    } else if (at && same(at, next)) {
      update(at, next);
      at = at.nextSibling;
    } else {
      parent.insertBefore(unstub(next), at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

const kind = (node) => `${node.nodeType} ${node.nodeName} ${node.dataset?.key ?? ""}`;

function same(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName && (one.dataset?.key ?? "") === (other.dataset?.key ?? "");
}

function update(kept, next) {
  if (kept.nodeType === Node.TEXT_NODE) {
    if (kept.data !== next.data) kept.data = next.data;
    return;
  }
  if (kept.dataset?.own) {
    // It draws itself, and does what it is told last.
    if (Object.keys(next.listeners ?? {}).length) kept.listeners = next.listeners;
    return;
  }
  for (const { name } of [...kept.attributes]) {
    const isOwn = name === "open" || name === "style";
    if (!next.hasAttribute(name) && !isOwn) kept.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name !== "style" && name !== "open" && kept.getAttribute(name) !== value) kept.setAttribute(name, value);
  }
  for (const [key, value] of Object.entries(next.styled ?? {})) kept.style.setProperty(key, value);
  for (const kind of Object.keys(next.listeners ?? {})) {
    if (!(kind in (kept.listeners ?? {}))) listen(kept, kind);
  }
  kept.listeners = next.listeners;
  if (kept.nodeName === "SELECT" && kept !== document.activeElement) {
    patch(kept, [...next.childNodes]);
    if (next.value !== kept.value) kept.value = next.value;
    return;
  }
  if (kept.nodeName === "TEXTAREA" || kept.nodeName === "INPUT") return give(kept, next.given);
  patch(kept, [...next.childNodes]);
}

// A field keeps what somebody types in it, until it is given another value than before.
function give(field, given = {}) {
  for (const [name, none] of [["value", null], ["checked", false]]) {
    const [before, now] = [field.given?.[name] ?? none, given[name] ?? none];
    if (now !== before && now !== null && field[name] !== now) field[name] = now;
  }
  field.given = given;
}

// A list of which only what can be seen is made. `rows` are values, `make(row, index)` makes one element of `height`.
export class Window {
  constructor(box, height, make) {
    // `wanted`: what is to be shown as soon as the list has a size.
    Object.assign(this, { box, height, make, rows: [], wanted: null });
    this.space = h("div", { style: { position: "relative" } });
    box.append(this.space);
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    this.observer = new ResizeObserver(() => (this.wanted === null ? this.draw() : this.reveal(this.wanted)));
    this.observer.observe(box);
  }

  set(rows) {
    this.rows = rows;
    this.space.style.height = `${rows.length * this.height}px`;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - 10);
    const last = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.height) + 10);
    const made = [];
    for (let at = first; at < last; at++) {
      const element = this.make(this.rows[at], at);
      element.style.top = `${at * this.height}px`;
      element.styled = { top: `${at * this.height}px` };
      made.push(element);
    }
    show(this.space, made);
  }

  reveal(index) {
    const top = index * this.height;
    const { scrollTop, clientHeight } = this.box;
    this.wanted = clientHeight ? null : index;
    if (top < scrollTop || top + this.height > scrollTop + clientHeight) this.box.scrollTop = Math.max(0, top - clientHeight / 3);
    this.draw();
  }
}
