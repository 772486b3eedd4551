// Comments on lines of a task's work. Drafts stay in this browser until all of them are sent together. Each is bound to the
// content that its author saw: if that has changed, the draft is shown apart, and never at another line.

import { h } from "./dom.js";
import { recall, taskPath } from "./api.js";
import { command } from "./overview.js";
import { counted, moment } from "./words.js";

const KEPT = ["file", "side", "blob", "line", "lines"];
const sameLines = (one, other) => KEPT.every((key) => one[key] === other[key]);
const last = ({ line, lines }) => line + lines - 1;
const placed = ({ file, line, lines }) => (lines > 1 ? `${file}:${line}-${line + lines - 1}` : `${file}:${line}`);
const lined = ({ line, lines }) => (lines > 1 ? `lines ${line} to ${line + lines - 1}` : `line ${line}`);

export class Talk {
  // `repaint(names)` draws these files again, or all of them.
  constructor(app, id, repaint) {
    Object.assign(this, { app, id, repaint, comments: [], files: [], range: null });
    this.key = `piton review ${app.run} ${id}`;
    // `open`: what is being written. `held`: a draft that waits for other lines.
    this.kept = { drafts: [], open: null, held: null, ...recall("sessionStorage", this.key, {}) };
  }

  get may() {
    return this.app.project?.control && !this.app.at;
  }

  set(data, files) {
    [this.data, this.comments, this.files] = [data, data.comments, files];
    // What has arrived is not a draft any more, even if the answer was lost.
    const isSent = (draft) => this.comments.some((one) => one.by === this.app.project?.you && sameLines(one, draft) && one.text === draft.text.trim());
    this.kept.drafts = this.kept.drafts.filter((draft) => !isSent(draft));
    if (this.kept.open && !this.fits(this.kept.open)) this.put();
    this.keep();
  }

  keep() {
    const { drafts, open, held } = this.kept;
    if (drafts.length || open || held) sessionStorage.setItem(this.key, JSON.stringify(this.kept));
    else sessionStorage.removeItem(this.key);
  }

  file(name, side) {
    return this.files.find((file) => (side === "old" ? file.before : file.name) === name);
  }

  // Whether the content that a draft is about is what is shown.
  fits({ file, side, blob }) {
    return this.files.some((one) => (side === "old" ? one.before : one.name) === file && one.blobs[side] === blob);
  }

  changed(...files) {
    this.keep();
    this.repaint(new Set(files));
  }

  // --- Choosing lines

  isChosen(file, side, number) {
    const range = this.range ?? (this.kept.open && { ...this.kept.open, from: this.kept.open.line, to: last(this.kept.open) });
    return Boolean(range) && range.side === side && range.file === (side === "old" ? file.before : file.name) && range.blob === file.blobs[side] && number >= Math.min(range.from, range.to) && number <= Math.max(range.from, range.to);
  }

  choose(file, side, number, isMore) {
    const name = side === "old" ? file.before : file.name;
    const { open, held } = this.kept;
    const before = this.range ?? (open && { ...open, from: open.line });
    const goesOn = isMore && before?.file === name && before.side === side && before.blob === file.blobs[side];
    const from = goesOn ? before.from : number;
    const [line, lines] = [Math.min(from, number), Math.abs(number - from) + 1];
    const key = side === "old" ? "old" : "now";
    const quote = file.lines.filter((one) => one[key] >= line && one[key] < line + lines).map((one) => one.text.replace(/\r$/, "")).join("\n");
    const place = { file: name, side, blob: file.blobs[side], line, lines, quote };
    // What is written already goes with it if lines are added, and stays a draft if it is about others.
    const isGrown = goesOn && !this.range;
    if (!isGrown) this.put();
    this.range = null;
    const known = this.kept.drafts.find((draft) => sameLines(draft, place));
    const isPutHere = (draft) => draft === known || (held && sameLines(draft, held));
    this.kept.drafts = this.kept.drafts.filter((draft) => !isPutHere(draft));
    const text = (isGrown && open.text) || held?.text || "";
    Object.assign(this.kept, { open: { ...place, text: [known?.text, text].filter(Boolean).join("\n\n") }, held: null });
    this.changed(name, open?.file);
    this.focus();
  }

  press(event, file, side, number) {
    if (event.key === "Enter") {
      // A click that Enter makes would leave a new line in the field that it opens.
      event.preventDefault();
      return this.choose(file, side, number, event.shiftKey);
    }
    if (!event.shiftKey || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
    event.preventDefault();
    const rows = [...event.currentTarget.closest("tbody").querySelectorAll("[data-row]")];
    const at = rows.indexOf(event.currentTarget.closest("tr"));
    const next = rows[at + (event.key === "ArrowDown" ? 1 : -1)];
    const [nextSide, nextNumber] = next?.dataset.key.split(" ") ?? [];
    const name = side === "old" ? file.before : file.name;
    if (nextSide !== side) return;
    const from = this.range?.file === name && this.range.side === side ? this.range.from : number;
    this.range = { file: name, side, blob: file.blobs[side], from, to: Number(nextNumber) };
    this.repaint(new Set([name]));
    next.querySelector(".say").focus();
    this.app.say(`lines ${Math.min(from, this.range.to)} to ${Math.max(from, this.range.to)} are chosen`);
  }

  // With its buttons above the bar at the lower edge.
  focus() {
    const field = document.getElementById("comment");
    field?.focus({ preventScroll: true });
    field?.closest("tr").scrollIntoView({ block: "nearest" });
  }

  // --- Drafts

  // What is being written becomes a draft, if it says anything.
  put() {
    const { open, drafts } = this.kept;
    if (!open) return;
    this.kept.open = null;
    if (open.text.trim()) drafts.push({ ...open, text: open.text.trim() });
  }

  edit(draft) {
    this.put();
    this.kept.drafts = this.kept.drafts.filter((one) => one !== draft);
    this.kept.open = draft;
    this.changed(draft.file);
    this.focus();
  }

  discard(draft) {
    this.kept.drafts = this.kept.drafts.filter((one) => one !== draft);
    if (this.kept.held === draft) this.kept.held = null;
    this.changed(draft.file);
  }

  hold(draft) {
    this.kept.held = draft;
    this.changed();
    this.app.say("choose the line that it is about");
  }

  async send() {
    this.put();
    this.changed();
    this.repaint();
    const sent = [...this.kept.drafts];
    const comments = sent.map(({ file, side, blob, line, lines, quote, text }) => ({ file, side, blob, line, lines, quote, text }));
    // What is written meanwhile stays.
    if (await this.app.act(taskPath(this.app.run, this.id), { do: "review", comments })) this.kept.drafts = this.kept.drafts.filter((draft) => !sent.includes(draft));
    this.keep();
    this.repaint();
  }

  // --- What is shown

  count(file) {
    const isIts = (one) => one.file === file.name || one.file === file.before;
    const many = this.comments.filter(isIts).length + this.kept.drafts.filter(isIts).length;
    return many > 0 && h("span", { class: "small muted" }, counted(many, "comment"));
  }

  // Above the files: how to comment, and what is about lines that are not there any more.
  before() {
    const lost = this.comments.filter((one) => one.place === "gone" || one.place === "unknown" || !this.file(one.file, one.side));
    const stale = this.kept.drafts.filter((draft) => !this.fits(draft));
    return [
      this.files.length > 0 && !this.app.at && h("p", { class: "muted small", "data-key": "how" }, this.may
        ? this.kept.held ? h("strong", { class: "tone-warning" }, "Choose the line that your draft is about.") : "Choose a line to comment on it, and another one with Shift for all between them. Keys: j and k, Shift with the arrows, Enter."
        : ["To comment on lines: ", command(`piton review ${this.id} --edit`), " or ", h("code", {}, "piton serve --allow-control")]),
      stale.length > 0 && h("section", { class: "card stack lost", "aria-labelledby": "stale-title", "data-key": "stale" }, h("h2", { id: "stale-title" }, "Your drafts on lines that have changed since"),
        stale.map((draft) => h("div", { "data-key": `${placed(draft)} ${draft.blob}` }, h("div", { class: "row" }, h("code", {}, placed(draft)), h("button", { on: { click: () => this.hold(draft) } }, "Put on other lines"), h("button", { on: { click: () => this.discard(draft) } }, "Discard")),
          draft.quote && h("pre", { class: "quote" }, draft.quote), h("div", { class: "note" }, draft.text)))),
      lost.length > 0 && h("section", { class: "card stack lost", "aria-labelledby": "lost-title", "data-key": "lost" }, h("h2", { id: "lost-title" }, "Comments on lines that have changed since"),
        lost.map((one) => h("div", { "data-key": String(one.id) }, h("div", { class: "row" }, h("code", {}, placed(one)), h("span", { class: "muted small" }, one.place === "unknown" ? "the file has changed since" : "these lines no longer exist")), h("pre", { class: "quote" }, one.quote), this.said(one)))),
    ];
  }

  // Comments on lines of a file that the difference leaves out.
  above(file) {
    const shown = new Set(file.lines.flatMap((line) => (line.kind === "hunk" ? [] : line.kind === "del" ? [`old ${line.old}`] : [`new ${line.now}`])));
    const rest = this.at(file).filter(({ side, end }) => !shown.has(`${side} ${end}`));
    return rest.map(({ one }) => this.row(`far ${one.id}`, h("div", { class: "small muted mono" }, placed(one)), h("pre", { class: "quote" }, one.quote), this.said(one)));
  }

  // Comments on a file's lines, with the line below which they stand.
  at(file) {
    const isIts = (one) => (one.side === "old" ? file.before : file.name) === one.file && (one.place === "here" || one.place === "moved");
    return this.comments.filter(isIts).map((one) => ({ one, side: one.side, end: last({ ...one, line: one.now_line ?? one.line }) }));
  }

  below(file, side, number) {
    if (!this.comments.length && !this.kept.drafts.length && !this.kept.open) return null;
    const { drafts, open } = this.kept;
    const isHere = (one) => one.side === side && last(one) === number && one.file === (side === "old" ? file.before : file.name) && one.blob === file.blobs[side];
    const said = this.at(file).filter((found) => found.side === side && found.end === number);
    return [
      said.map(({ one }) => this.row(`said ${one.id}`, one.place === "moved" && h("div", { class: "small muted" }, `written on line ${one.line}, before the file changed`), this.said(one))),
      drafts.filter(isHere).map((draft) => this.row(`draft ${side} ${draft.line} ${number}`, this.draft(draft))),
      open && isHere(open) && this.row(`open ${open.side} ${open.line}`, this.composer(open)),
    ];
  }

  row(key, ...content) {
    return h("tr", { class: "talk", "data-key": key }, h("td", { colspan: "4" }, h("div", { class: "said" }, content)));
  }

  said(one) {
    const isMine = one.by === this.app.project?.you;
    const takeBack = () => this.app.act(taskPath(this.app.run, this.id), { do: "take_back", comment: one.id });
    return [
      h("div", { class: "row small" }, h("strong", {}, one.by), one.lines > 1 && h("span", { class: "muted" }, `on ${lined(one)}`), h("span", { class: `chip ${one.sent ? "good" : "warning"}` }, one.sent ? "sent" : "not sent"), h("span", { class: "muted" }, moment(one.at)),
        isMine && !one.sent && this.may && h("button", { class: "quiet small", on: { click: takeBack } }, "Take back")),
      h("div", { class: "text" }, one.text),
    ];
  }

  draft(draft) {
    return [
      h("div", { class: "row small" }, h("strong", {}, "Draft"), draft.lines > 1 && h("span", { class: "muted" }, `on ${lined(draft)}`), h("span", { class: "chip warning" }, "not sent"),
        h("button", { class: "quiet small", on: { click: () => this.edit(draft) } }, "Edit"), h("button", { class: "quiet small", on: { click: () => this.discard(draft) } }, "Discard")),
      h("div", { class: "text" }, draft.text),
    ];
  }

  composer(open) {
    const input = (event) => {
      const wasEmpty = !open.text.trim();
      open.text = event.target.value;
      this.keep();
      if (wasEmpty !== !open.text.trim()) this.app.redraw();
    };
    const add = () => {
      this.put();
      this.changed(open.file);
      // Back to the line, for the next one.
      [...document.querySelectorAll(`tr[data-key="${open.side} ${last(open)}"] .say`)].find((one) => one.closest("details")?.dataset.key === this.file(open.file, open.side)?.name)?.focus();
    };
    const cancel = () => {
      this.kept.open = null;
      this.changed(open.file);
    };
    const press = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) add();
    };
    return [
      h("label", { for: "comment" }, `Comment on ${lined(open)} of `, h("span", { class: "mono" }, open.file)),
      h("textarea", { id: "comment", value: open.text, maxlength: "8000", on: { input, keydown: press } }),
      h("div", { class: "row" }, h("button", { class: "first", on: { click: add } }, "Add comment"), h("button", { on: { click: cancel } }, "Cancel"), h("span", { class: "muted small wide-only" }, "Ctrl Enter adds it. Nothing is sent yet.")),
    ];
  }

  // What is not sent yet, at the lower edge.
  bar() {
    const { drafts, open } = this.kept;
    const written = this.comments.filter((one) => !one.sent && one.by === this.app.project?.you).length;
    const many = drafts.length + written + (open?.text.trim() ? 1 : 0);
    if (!this.may || !many) return null;
    const isFollowUp = this.data.sends_to !== "next attempt";
    const to = isFollowUp ? `as a new task that follows ${this.id}` : `to the next attempt of ${this.id}`;
    return h("div", { class: "reviewbar row", "data-key": "reviewbar" },
      h("button", { class: "first", on: { click: () => this.send() } }, `Send ${counted(many, "comment")}`), h("span", { class: "muted small" }, to));
  }
}
