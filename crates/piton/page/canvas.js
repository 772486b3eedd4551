// A drawing that is moved with the pointer, the wheel, two fingers or the arrow keys. Its owner draws what can be seen.

import { h } from "./dom.js";

export class Drawing {
  // `axes`: whether x, y can be zoomed. `paint(context, drawing)` draws; `pick(x, y)` says what is there, in drawing units.
  constructor({ label, zoomX = true, zoomY = true, paint, pick, open, least = 0.02, most = 3 }) {
    Object.assign(this, { zoomX, zoomY, paint, pick, open, least, most, x: 0, y: 0, sx: 1, sy: 1, width: 0, height: 0, pointers: new Map() });
    this.canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": label });
    this.tip = h("div", { class: "tip", hidden: true });
    this.box = h("div", { class: "canvas", "data-own": "1" }, this.canvas, this.tip);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.box);
    const on = (kind, does, options) => this.canvas.addEventListener(kind, (event) => does.call(this, event), options);
    on("pointerdown", this.down);
    on("pointermove", this.move);
    for (const kind of ["pointerup", "pointercancel", "pointerleave"]) on(kind, this.up);
    on("wheel", this.wheel, { passive: false });
    on("keydown", this.key);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.draw();
    this.scheme.addEventListener("change", this.redraw);
  }

  leave() {
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.redraw);
    cancelAnimationFrame(this.due);
  }

  resize() {
    const { clientWidth, clientHeight } = this.box;
    const ratio = devicePixelRatio || 1;
    [this.width, this.height] = [clientWidth, clientHeight];
    [this.canvas.width, this.canvas.height] = [clientWidth * ratio, clientHeight * ratio];
    if (clientWidth && !this.placed && this.place) this.placed = this.place() !== false;
    this.draw();
  }

  draw() {
    if (this.due) return;
    this.due = requestAnimationFrame(() => {
      this.due = null;
      if (!this.width) return;
      const context = this.canvas.getContext("2d");
      const ratio = devicePixelRatio || 1;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, this.width, this.height);
      const start = performance.now();
      this.paint(context, this);
      this.took = performance.now() - start;
    });
  }

  colors() {
    const style = getComputedStyle(document.documentElement);
    return new Proxy({}, { get: (known, name) => (known[name] ??= style.getPropertyValue(`--${name}`).trim()) });
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  units(px, py) {
    return [(px - this.x) / this.sx, (py - this.y) / this.sy];
  }

  zoom(by, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.units(px, py);
    const bound = (scale) => Math.min(this.most, Math.max(this.least, scale));
    if (this.zoomX) this.sx = bound(this.sx * by);
    if (this.zoomY) this.sy = bound(this.sy * by);
    [this.x, this.y] = [px - x * this.sx, py - y * this.sy];
    this.clamp?.();
    this.draw();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.clamp?.();
    this.draw();
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.at(event));
    this.moved = 0;
  }

  move(event) {
    const at = this.at(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.hover(at);
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    this.pointers.set(event.pointerId, at);
    this.moved += Math.abs(at[0] - before[0]) + Math.abs(at[1] - before[1]);
    if (others.length) {
      const far = (one) => Math.hypot(one[0] - others[0][0], one[1] - others[0][1]) || 1;
      this.zoom(far(at) / far(before), (at[0] + others[0][0]) / 2, (at[1] + others[0][1]) / 2);
    } else this.pan(at[0] - before[0], at[1] - before[1]);
  }

  up(event) {
    if (event.type === "pointerleave") this.tip.hidden = true;
    if (!this.pointers.delete(event.pointerId)) return;
    if (event.type === "pointerup" && this.moved < 5) {
      const found = this.pick(...this.units(...this.at(event)), ...this.at(event));
      if (found) this.open(found);
    }
  }

  hover([px, py]) {
    const found = this.pick(...this.units(px, py), px, py);
    this.tip.hidden = !found?.tip;
    this.canvas.style.cursor = found ? "pointer" : "";
    if (!found?.tip) return;
    this.tip.textContent = found.tip;
    this.tip.style.left = `${Math.min(px + 14, this.width - 240)}px`;
    this.tip.style.top = `${Math.min(py + 14, this.height - 60)}px`;
  }

  wheel(event) {
    event.preventDefault();
    const [px, py] = this.at(event);
    if (event.ctrlKey || event.metaKey || !this.scrolls) this.zoom(Math.exp(-event.deltaY * 0.0016), px, py);
    else this.pan(-event.deltaX, -event.deltaY);
  }

  key(event) {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) this.pan(...step);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else return;
    event.preventDefault();
  }
}
