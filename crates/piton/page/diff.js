// What a task has changed, file by file, with the words that differ, and what people say about its lines.

import { h, show } from "./dom.js";
import { get, taskPath } from "./api.js";
import { command } from "./overview.js";
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

  const isWriting = () => document.activeElement?.id === "comment";

  function toggle(event, file) {
    file.isOpen = event.currentTarget.open;
    if (file.isOpen && !file.isPainted) paint(file);
  }

  return {
    // Lines do not move below somebody who writes about them.
    isWriting,
    async load() {
      if (files && isWriting()) return;
      try {
        const answer = await get(taskPath(app.run, id, "review", { at: app.at }));
        failed = null;
        const text = JSON.stringify(answer);
        if (text === known) return;
        // A file that was opened or closed stays so, in the place where it is.
        const before = new Map((files ?? []).map((file) => [file.key, file]));
        if (answer.diff !== data?.diff) files = parse(answer.diff);
        [data, known] = [answer, text];
        for (const file of files) {
          file.isOpen ??= before.get(file.key)?.isOpen;
          file.blobs = blobs(file, data.files);
          file.box ??= before.get(file.key)?.box ?? h("div", { class: "diff", "data-own": "1" });
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
        data.cut && h("p", { class: "note", "data-key": "cut" }, "There is more: the rest of this difference is left out. In a terminal: ", command(`piton diff ${id}`)),
        talk.before(),
        files.map((file) => h("details", { class: "file", "data-key": file.key, open: file.isOpen, on: { toggle: (event) => toggle(event, file) } },
          h("summary", {}, h("span", { class: "mono" }, file.before === file.name ? file.name : `${file.before} → ${file.name}`), h("span", { class: "small tone-good" }, `+${file.added}`), h("span", { class: "small tone-bad" }, `-${file.removed}`), talk.count(file)),
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

// git writes a name with special characters in quotes, and a tab behind one with spaces.
function named(text) {
  const plain = text.replace(/\t$/, "");
  if (!plain.startsWith('"')) return plain;
  const bytes = [];
  const SPECIAL = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };
  for (const [, octal, escaped, other] of plain.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\])/gsu)) {
    if (octal) bytes.push(parseInt(octal, 8));
    else bytes.push(...(escaped in SPECIAL ? [SPECIAL[escaped]] : new TextEncoder().encode(escaped ?? other)));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

const sideOf = (text) => (text === "/dev/null" ? null : named(text).slice(2));

export function parse(text) {
  const files = [];
  // `left`: how many lines of both versions the hunk still has.
  let [file, old, now, left] = [null, 0, 0, [0, 0]];
  for (const line of text.split("\n")) {
    const isInside = left[0] > 0 || left[1] > 0;
    if (!isInside && line.startsWith("diff --git ")) {
      const name = named(line.replace(/^diff --git (".*" |a\/.* )(?="?b\/)/, "")).slice(2);
      file = { name, before: name, index: [], lines: [], added: 0, removed: 0 };
      files.push(file);
    } else if (!file) {
      continue;
    } else if (!isInside && line.startsWith("@@")) {
      const [, from, olds, to, nows] = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))?/.exec(line) ?? [null, 1, 1, 1, 1];
      [old, now, left] = [Number(from), Number(to), [Number(olds ?? 1), Number(nows ?? 1)]];
      file.lines.push({ kind: "hunk", text: line });
    } else if (line.startsWith("\\")) {
      file.lines.push({ kind: "hunk", text: line.slice(2) });
    } else if (!isInside) {
      if (line.startsWith("--- ")) file.before = sideOf(line.slice(4)) ?? file.before;
      if (line.startsWith("+++ ")) file.name = sideOf(line.slice(4)) ?? file.name;
      if (line.startsWith("rename from ")) file.before = named(line.slice(12));
      if (line.startsWith("rename to ")) file.name = named(line.slice(10));
      if (line.startsWith("index ")) file.index = line.slice(6).split(" ")[0].split("..");
      if (/^(new file|deleted file|rename|Binary|similarity|old mode|new mode)/.test(line)) file.lines.push({ kind: "hunk", text: line });
    } else if (line.startsWith("+")) {
      file.lines.push({ kind: "add", now: now++, text: line.slice(1) });
      file.added++;
      left[1]--;
    } else if (line.startsWith("-")) {
      file.lines.push({ kind: "del", old: old++, text: line.slice(1) });
      file.removed++;
      left[0]--;
    } else {
      // Some write an empty line of both versions without its space.
      file.lines.push({ kind: "", old: old++, now: now++, text: line.slice(1) });
      left = [left[0] - 1, left[1] - 1];
    }
  }
  // Work in several parts may have a file several times.
  const times = new Map();
  for (const one of files) {
    const time = (times.get(one.name) ?? 0) + 1;
    times.set(one.name, time);
    one.key = time > 1 ? `${one.name} (${time})` : one.name;
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
