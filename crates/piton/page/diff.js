// What a task has changed, file by file, with the words that differ, and what people say about its lines.

import { h, show } from "./dom.js";
import { get, taskPath } from "./api.js";
import { colorist, markWords, parts } from "./highlight.js";
import { Talk } from "./review.js";
import { counted } from "./words.js";

// A file with more lines is opened by hand.
const LONG = 600;
const SIGN = { add: "+", del: "-" };
const NAMED = { add: ", added", del: ", removed" };

export function diffView(app, id) {
  let [files, data, known, failed] = [null, null, null, null];
  const talk = new Talk(app, id, (names) => {
    for (const file of files ?? []) if (!names || names.has(file.name) || names.has(file.before)) paint(file);
    app.redraw();
  });

  function paint(file) {
    file.isOpen ??= file.lines.length <= LONG;
    file.isPainted = file.isOpen;
    if (file.isPainted) show(file.box, table(talk, file));
  }

  function toggle(event, file) {
    file.isOpen = event.currentTarget.open;
    if (file.isOpen && !file.isPainted) paint(file);
  }

  return {
    async load() {
      try {
        const answer = await get(taskPath(app.run, id, "review", { at: app.at }));
        failed = null;
        const text = JSON.stringify(answer);
        if (text === known) return;
        // A file that was opened or closed stays so, in the place where it is.
        const before = new Map((files ?? []).map((file) => [file.name, file]));
        if (answer.diff !== data?.diff) files = parse(answer.diff);
        [data, known] = [answer, text];
        for (const file of files) {
          file.isOpen ??= before.get(file.name)?.isOpen;
          file.blobs = blobs(file, data.files);
          file.box ??= before.get(file.name)?.box ?? h("div", { class: "diff", "data-own": "1" });
        }
        talk.set(data, files);
        files.forEach(paint);
      } catch (problem) {
        failed = problem;
      }
    },
    draw() {
      if (failed) return h("p", { class: "empty" }, failed.message);
      if (!files) return h("p", { class: "empty" }, "Loading…");
      const sum = (key) => files.reduce((all, file) => all + file[key], 0);
      return h("div", {},
        files.length > 0 ? h("p", { class: "muted" }, `${counted(files.length, "file")}, `, h("span", { class: "tone-good" }, `+${sum("added")}`), " ", h("span", { class: "tone-bad" }, `-${sum("removed")}`)) : h("p", { class: "empty" }, data.nothing ?? "It has changed nothing."),
        talk.before(),
        files.map((file) => h("details", { class: "file", "data-key": file.name, open: file.isOpen, on: { toggle: (event) => toggle(event, file) } },
          h("summary", {}, h("span", { class: "mono" }, file.name), h("span", { class: "small tone-good" }, `+${file.added}`), h("span", { class: "small tone-bad" }, `-${file.removed}`), talk.count(file)),
          file.box)),
        talk.bar());
    },
  };
}

// The contents that the lines of a file stand in. Work in several parts may have several versions of it.
function blobs({ name, before, index }, versions) {
  const find = (file, key, short) => versions.find((one) => one.file === file && short && one[key]?.startsWith(short))?.[key];
  return { old: find(before, "old_blob", index[0]), new: find(name, "new_blob", index[1]) };
}

export function parse(text) {
  const files = [];
  let [file, old, now] = [null, 0, 0];
  for (const line of text.split("\n")) {
    if (line.startsWith("diff --git ")) {
      const name = line.replace(/^diff --git a\/.* b\//, "");
      file = { name, before: name, index: [], lines: [], added: 0, removed: 0 };
      files.push(file);
      old = now = 0;
    } else if (!file) {
      continue;
    } else if (line.startsWith("@@")) {
      const [, from, to] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line) ?? [null, 1, 1];
      [old, now] = [Number(from), Number(to)];
      file.lines.push({ kind: "hunk", text: line });
    } else if (!old && !now) {
      if (line.startsWith("rename from ")) file.before = line.slice(12);
      if (line.startsWith("index ")) file.index = line.slice(6).split(" ")[0].split("..");
      if (/^(new file|deleted file|rename|Binary|similarity|old mode|new mode)/.test(line)) file.lines.push({ kind: "hunk", text: line });
    } else if (line.startsWith("+")) {
      file.lines.push({ kind: "add", now: now++, text: line.slice(1) });
      file.added++;
    } else if (line.startsWith("-")) {
      file.lines.push({ kind: "del", old: old++, text: line.slice(1) });
      file.removed++;
    } else if (line.startsWith(" ")) {
      file.lines.push({ kind: "", old: old++, now: now++, text: line.slice(1) });
    } else if (line.startsWith("\\")) {
      file.lines.push({ kind: "hunk", text: line.slice(2) });
    }
  }
  return files;
}

// Both versions are read as what they are: a text that begins in a removed line does not go on in an added one.
function color(file) {
  const [old, now] = [colorist(file.before), colorist(file.name)];
  markWords(file.lines);
  for (const line of file.lines) {
    if (line.kind === "hunk") [old, now].forEach((one) => one.restart());
    else if (line.kind === "del") line.parts = parts(old.read(line.text), line.words);
    else line.parts = parts(now.read(line.text), line.words);
    if (line.kind === "") old.read(line.text);
  }
  file.isColored = true;
}

// What is said about a line stands below it; what is about lines that are not shown, above all of them.
function table(talk, file) {
  if (!file.isColored) color(file);
  let isFirst = true;
  const rows = file.lines.map((line, at) => {
    if (line.kind === "hunk") return h("tr", { class: "hunk", "data-key": `hunk ${at}` }, h("td", { class: "no" }), h("td", { class: "no" }), h("td", {}), h("td", {}, line.text));
    const [side, number] = line.kind === "del" ? ["old", line.old] : ["new", line.now];
    const isChosen = talk.isChosen(file, side, number);
    const may = talk.may && file.blobs[side];
    const sign = SIGN[line.kind] ?? " ";
    const say = may && h("button", {
      class: "say", "data-sign": sign, tabindex: isFirst ? "0" : "-1", "aria-pressed": isChosen ? "true" : null, "aria-label": `Comment on line ${number}${NAMED[line.kind] ?? ""}`,
      on: { click: (event) => talk.choose(file, side, number, event.shiftKey), keydown: (event) => talk.press(event, file, side, number) },
    });
    if (may) isFirst = false;
    return [
      h("tr", { class: `${line.kind}${isChosen ? " chosen" : ""}`, "data-key": `${side} ${number}`, "data-row": may && "1" }, h("td", { class: "no" }, line.old ?? ""), h("td", { class: "no" }, line.now ?? ""), h("td", { class: "act" }, say || sign),
        h("td", { class: "code" }, line.parts.map(([kind, text, isNew]) => piece(kind, text, isNew)))),
      talk.below(file, side, number),
    ];
  });
  return h("table", {}, h("tbody", {}, talk.above(file), rows));
}

function piece(kind, text, isNew) {
  const colored = kind ? h("span", { class: `syn-${kind}` }, text) : text;
  return isNew ? h("mark", {}, colored) : colored;
}
