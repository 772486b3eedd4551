// What checks and agents have taken.

import { h } from "./dom.js";
import { failingLine } from "./overview.js";
import { most as largest, span, spent, tokens } from "./words.js";

export function checks(app) {
  let [rows, failed] = [null, []];
  return {
    title: () => "Checks",
    async load() {
      const [counts, answer] = await Promise.all([app.get("checks"), app.get("status")]);
      [rows, failed] = [counts, answer.status.tasks.filter((task) => task.status === "failed" || task.status === "abandoned")];
    },
    draw() {
      if (!rows) return h("p", { class: "empty" }, "Loading…");
      const most = largest(rows.map((row) => row.total_ms), 1);
      return h("div", { class: "stack" },
        h("div", { class: "head" }, h("h1", {}, "Checks"), h("span", { class: "muted" }, "A flake failed and then passed on the same files: it spends no attempt.")),
        rows.length === 0 ? h("p", { class: "empty" }, "No check has run yet.") : h("section", { class: "card scroll", tabindex: "0", role: "region", "aria-label": "Checks" }, h("table", {},
          head(["Check", "Runs", "Passed", "Flakes", "Mean", "Total", ""]),
          h("tbody", {}, rows.slice(0, 500).map((row) => h("tr", { "data-key": row.name },
            h("td", { class: "mono" }, row.name), number(row.runs), number(row.passes),
            h("td", { class: `n ${row.flakes ? "tone-warning" : ""}` }, row.flakes), number(span(row.mean_ms)), number(span(row.total_ms)),
            h("td", { class: "wide-only" }, h("div", { class: "bar", role: "presentation" }, h("span", { class: "busy", style: { width: `${(100 * row.total_ms) / most}%` } })))))))),
        failed.length > 0 && h("section", { class: "card", "aria-labelledby": "failed-title" }, h("h2", { id: "failed-title" }, "Tasks that failed"),
          h("ul", { class: "plain lines" }, failed.slice(0, 50).map((task) => h("li", { class: "row", "data-key": task.id }, h("a", { class: "id", href: app.link("task", [task.id]) }, task.id), h("span", { class: "grow" }, task.title ?? ""), failingLine(app, task.id))))));
    },
  };
}

const BY = { task: "task", attempt: "attempt", agent: "agent", model: "model", day: "day" };

export function cost(app) {
  let data = null;
  return {
    title: () => "Cost",
    async load() {
      data = await app.get("cost", { by: app.route.query.by ?? "task" });
    },
    draw() {
      if (!data) return h("p", { class: "empty" }, "Loading…");
      const money = (row) => (row.cost_usd ?? 0) + (row.estimated_cost_usd ?? 0);
      const rows = [...data.rows].sort((a, b) => money(b) - money(a) || b.worked_ms - a.worked_ms);
      const most = largest(rows.map(money), 0.000001);
      return h("div", { class: "stack" },
        h("div", { class: "head" }, h("h1", {}, "Cost"), h("span", { class: "muted" }, "What a client does not report is unknown. It is not zero.")),
        h("nav", { class: "tabs", "aria-label": "Costs by" }, Object.entries(BY).map(([by, word]) => h("a", { href: app.link("cost", [], { by }), "aria-current": data.by === by && "page" }, `by ${word}`))),
        h("section", { class: "card scroll", tabindex: "0", role: "region", "aria-label": "Costs" }, h("table", {},
          head([BY[data.by] ?? data.by, "Cost", "Input tokens", "Output tokens", "Agent runs", "Worked", ""]),
          h("tbody", {}, [["total", data.total], ...rows.slice(0, 500).map((row) => [row.name, row])].map(([name, row], at) => h("tr", { "data-key": `${at} ${name}` },
            h("td", { class: "mono" }, at === 0 ? h("strong", {}, "total") : data.by === "task" && name ? h("a", { href: app.link("task", [name]) }, name) : name ?? "(not named)"),
            number(spent(row)), number(tokens(row.input_tokens) ?? "unknown"), number(tokens(row.output_tokens) ?? "unknown"), number(row.tries), number(span(row.worked_ms)),
            h("td", { class: "wide-only" }, at > 0 && h("div", { class: "bar", role: "presentation" }, h("span", { class: "good", style: { width: `${(100 * money(row)) / most}%` } })))))))));
    },
  };
}

function head(names) {
  return h("thead", {}, h("tr", {}, names.map((name, at) => (name ? h("th", { scope: "col", class: at ? "n" : "" }, name) : h("td", { class: "wide-only" })))));
}

function number(value) {
  return h("td", { class: "n nowrap" }, value);
}
