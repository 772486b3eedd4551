// Colours for code, and the words that differ between two versions of a line. Enough to read a change by, and no parser.

// [comment to the end of the line, [begin, end] of what may go over lines, marks of a text in one line]
const C = { line: "\\/\\/", blocks: [["/*", "*/", "c"]], quotes: "\"'" };
const FAMILIES = {
  c: C,
  js: { ...C, blocks: [...C.blocks, ["`", "`", "s"]] },
  // `'` also begins a lifetime.
  rust: { ...C, quotes: "\"", chars: "'(?:[^'\\\\\\n]|\\\\.[^']*)'" },
  go: { ...C, blocks: [...C.blocks, ["`", "`", "s"]] },
  css: { blocks: C.blocks, quotes: "\"'" },
  python: { line: "#", blocks: [["\"\"\"", "\"\"\"", "s"], ["'''", "'''", "s"]], quotes: "\"'" },
  toml: { line: "#", blocks: [["\"\"\"", "\"\"\"", "s"], ["'''", "'''", "s"]], quotes: "\"'", keys: "^\\s*(?:\\[\\[?[^\\]]*\\]\\]?|[\\w.\"-]+(?=\\s*=))" },
  yaml: { line: "#(?=\\s|$)", blocks: [], quotes: "\"'", keys: "^\\s*(?:- )?[\\w.-]+(?=:(?:\\s|$))" },
  shell: { line: "(?<=^|\\s)#", blocks: [], quotes: "\"'" },
  json: { blocks: [], quotes: "\"", keys: "\"(?:[^\"\\\\]|\\\\.)*\"(?=\\s*:)" },
  sql: { line: "--", blocks: C.blocks, quotes: "'\"" },
  html: { blocks: [["<!--", "-->", "c"]], quotes: "\"", keys: "<\\/?[\\w-]+|\\/?>" },
};
const ENDINGS = {
  c: "c h cc cpp cxx hpp java kt kts cs swift scala dart proto zig php groovy", js: "js mjs cjs jsx ts tsx mts cts svelte vue", rust: "rs", go: "go",
  css: "css scss less", python: "py pyi", toml: "toml ini cfg conf", yaml: "yaml yml", shell: "sh bash zsh fish mk makefile dockerfile justfile rb pl r ex exs tf nix",
  json: "json jsonc json5 jsonl", sql: "sql", html: "html htm xml svg",
};
const FAMILY_OF = new Map(Object.entries(ENDINGS).flatMap(([family, endings]) => endings.split(" ").map((ending) => [ending, family])));
const KEYWORDS = new Set("abstract and as assert async await break case catch chan class const continue crate def default defer del delete do done elif else enum esac except export extends extern false False fi final finally fn for from func function global go goto if impl implements import in instanceof interface is lambda let local loop map match mod module move mut namespace new nil none None nonlocal not null nullptr operator or override package pass private protected pub public raise readonly ref return self Self static struct super switch template then this throw trait true True try type typedef typename typeof union unsafe until use using var virtual void where while with yield".split(" "));
const SQL = new Set("add alter and as asc begin by case commit create default delete desc distinct drop else end exists from group having if in index inner insert into is join key left like limit not null on or order outer primary references rollback select set table then union unique update values view when where with".split(" "));
// Longer lines are data, and not read by people.
const LONGEST = 2000;

// Reads the lines of one file, in order: `read(text)` gives [kind, text] for the parts of a line. What began in a line before,
// such as a comment over several lines, is remembered until `restart`.
export function colorist(name) {
  const family = FAMILY_OF.get(name.split("/").at(-1).split(".").at(-1).toLowerCase());
  if (!family) return { read: (text) => [["", text]], restart() {} };
  const { line, blocks, quotes, chars, keys } = FAMILIES[family];
  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const kinds = [
    ["c", line && `${line}.*$`], ["b", blocks.map(([begin]) => escape(begin)).join("|")], ["k", keys],
    ["s", [...quotes].map((mark) => `${mark}(?:[^${mark}\\\\]|\\\\.)*(?:${mark}|$)`).concat(chars ?? []).join("|")],
    ["n", "\\b(?:0x[\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\w*\\b"], ["w", "[A-Za-z_]\\w*!?"],
  ].filter(([, pattern]) => pattern);
  const token = new RegExp(kinds.map(([, pattern]) => `(${pattern})`).join("|"), "g");
  const isKeyword = (word) => (family === "sql" ? SQL.has(word.toLowerCase()) : KEYWORDS.has(word));
  // The block that is open, as an index.
  let open = null;
  function read(text) {
    if (text.length > LONGEST) return [["", text]];
    const parts = [];
    let at = 0;
    while (at < text.length) {
      if (open !== null) {
        const [, end, kind] = blocks[open];
        const found = text.indexOf(end, at);
        const to = found < 0 ? text.length : found + end.length;
        parts.push([kind, text.slice(at, to)]);
        if (found >= 0) open = null;
        at = to;
        continue;
      }
      token.lastIndex = at;
      const found = token.exec(text);
      if (!found) break;
      const kind = kinds[found.slice(1).findIndex((one) => one !== undefined)][0];
      if (found.index > at) parts.push(["", text.slice(at, found.index)]);
      at = found.index + found[0].length;
      if (kind === "b") {
        open = blocks.findIndex(([begin]) => begin === found[0]);
        const [, end, of] = blocks[open];
        const to = text.indexOf(end, at);
        parts.push([of, text.slice(found.index, to < 0 ? text.length : to + end.length)]);
        at = to < 0 ? text.length : to + end.length;
        if (to >= 0) open = null;
      } else parts.push([kind === "w" ? (isKeyword(found[0]) ? "k" : "") : kind, found[0]]);
    }
    if (at < text.length) parts.push(["", text.slice(at)]);
    return parts;
  }
  return { read, restart: () => (open = null) };
}

const WORD = /\w+|\s+|[^\w\s]/g;
// More lines of one change than this are a new text rather than a changed one.
const MOST = 80;

// Give lines that were changed their `words`: lists of [begin, end] of what differs. Removed lines and the added ones that follow
// them belong together in their order, where they have something in common.
export function markWords(lines) {
  for (let at = 0; at < lines.length; at++) {
    const gone = count(lines, at, "del");
    const come = count(lines, at + gone, "add");
    if (gone && come && gone <= MOST && come <= MOST) pair(lines.slice(at, at + gone), lines.slice(at + gone, at + gone + come));
    at += Math.max(0, gone + come - 1);
  }
}

function count(lines, at, kind) {
  let many = 0;
  while (lines[at + many]?.kind === kind) many++;
  return many;
}

function pair(gone, come) {
  // As many of both: line by line. Otherwise each removed line with the next added one that resembles it.
  const isEven = gone.length === come.length;
  let next = 0;
  gone.forEach((old, n) => {
    for (let at = isEven ? n : next; at < (isEven ? n + 1 : come.length); at++) {
      if (!mark(old, come[at])) continue;
      next = at + 1;
      break;
    }
  });
}

// `false` if two lines have too little in common to be one that changed.
function mark(old, now) {
  const [a, b] = [old.text.match(WORD) ?? [], now.text.match(WORD) ?? []];
  if (a.length * b.length > 40_000 || !a.length || !b.length) return false;
  // The longest common words, from the end to the beginning.
  const rows = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) rows[i][j] = a[i] === b[j] ? rows[i + 1][j + 1] + 1 : Math.max(rows[i + 1][j], rows[i][j + 1]);
  }
  const [left, right] = [[], []];
  let [i, j, from, to, common] = [0, 0, 0, 0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      if (/\w/.test(a[i])) common += a[i].length;
      [from, to] = [from + a[i++].length, to + b[j++].length];
    } else if (j >= b.length || (i < a.length && rows[i + 1][j] >= rows[i][j + 1])) from = put(left, from, a[i++]);
    else to = put(right, to, b[j++]);
  }
  // Signs and spaces are alike everywhere.
  const size = (words) => words.reduce((all, word) => all + (/\w/.test(word) ? word.length : 0), 0);
  if (common * 2 < Math.max(size(a), size(b), 1)) return false;
  [old.words, now.words] = [left, right];
  return true;
}

function put(words, at, word) {
  const last = words.at(-1);
  if (last?.[1] === at) last[1] += word.length;
  else words.push([at, at + word.length]);
  return at + word.length;
}

// The parts of a line with both: [kind, text, whether it differs].
export function parts(colored, words = []) {
  const all = [];
  let [at, next] = [0, 0];
  for (const [kind, text] of colored) {
    let rest = text;
    while (rest) {
      while (words[next]?.[1] <= at) next++;
      const [from, to] = words[next] ?? [Infinity, Infinity];
      const isIn = from <= at;
      const size = Math.min(rest.length, (isIn ? to : from) - at);
      all.push([kind, rest.slice(0, size), isIn]);
      rest = rest.slice(size);
      at += size;
    }
  }
  return all;
}
