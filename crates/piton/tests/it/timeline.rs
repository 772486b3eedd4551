//! Where the time of a run went, and the run as a trace.

use std::collections::BTreeMap;

use piton_testkit::sandbox::{Sandbox, task};
use serde_json::Value;

use crate::sandbox;

/// One at a time: T3, T1 with two attempts, and T2 after it.
fn worked() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan_with(
        "max_parallel = 1",
        &(task("T1", "") + &task("T2", "depends_on = ['T1']") + &task("T3", "priority = 3")),
    );
    sandbox.script(
        "[T1 1]\nwrite other.txt x\n[T1]\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n[T3]\nwrite T3.txt x\n",
    );
    let _ = sandbox.run("run plan.toml").exits(0);
    sandbox
}

fn document(sandbox: &Sandbox, line: &str) -> Value {
    serde_json::from_str(&sandbox.run(line).exits(0).stdout).expect("JSON")
}

#[test]
fn a_run_shows_where_its_time_went() {
    let sandbox = worked();
    let shown = sandbox.run("timeline").exits(0).says("3 tasks, 4 attempts").says("where the time went");
    let shown = shown.says("critical path").says("×2");
    let lines: Vec<&str> = shown.stdout.lines().collect();
    let row = lines.iter().find(|line| line.starts_with("* T1 ")).unwrap_or_else(|| panic!("{shown}"));
    assert!(row.contains('█'), "{shown}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{shown}");
    let wide = sandbox.piton(["timeline"]).env("COLUMNS", "160").run().exits(0);
    let widest = wide.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|widest| (120..=160).contains(&widest)), "{wide}");
}

#[test]
fn the_chain_reaches_from_the_start_to_the_end() {
    let sandbox = worked();
    let told = document(&sandbox, "timeline --json");
    let number = |value: &Value| value.as_i64().unwrap_or_else(|| panic!("{value} is not a number"));
    let sum = |totals: &Value| totals.as_object().expect("sums").values().map(number).sum::<i64>();
    let whole = number(&told["to_ms"]) - number(&told["from_ms"]);
    assert_eq!(sum(&told["decided"]), whole, "{told:#}");
    let lengths = told["bars"]
        .as_array()
        .expect("bars")
        .iter()
        .map(|bar| number(&bar["to_ms"]) - number(&bar["from_ms"]));
    assert_eq!(sum(&told["totals"]), lengths.sum::<i64>());
    let steps = told["critical"].as_array().expect("steps").iter();
    let steps: Vec<_> =
        steps.filter_map(|step| Some((step["task"].as_str()?, step["after"].as_str()?))).collect();
    assert_eq!(steps, [("T3", "nothing"), ("T1", "place"), ("T2", "dependency")], "{told:#}");
    assert!(number(&told["totals"]["working_ms"]) > 0);
}

#[test]
fn a_task_shows_its_steps() {
    let sandbox = worked();
    let shown = sandbox.run("timeline --task T1").exits(0);
    let _ = shown.says("attempt 1").says("attempt 2").says("code: check").says("landed").lacks("T2");
    let told = document(&sandbox, "timeline --task T1 --json");
    let all = document(&sandbox, "timeline --json");
    let of_run = all["bars"].as_array().expect("bars").iter().filter(|bar| bar["task"] == "T1").cloned();
    assert_eq!(told["bars"], Value::Array(of_run.collect()), "the same bars, from fewer events");
    let _ = sandbox.run("timeline --task T9").exits(1).says("there is no task T9");
}

#[test]
fn a_run_that_goes_on_has_open_bars() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nmeet SIDE/arrived\nmeet SIDE/go\nwrite T1.txt x\n");
    sandbox.fifo("arrived");
    sandbox.fifo("go");
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    let _ = sandbox.run("timeline").exits(0).says("has taken");
    let told = document(&sandbox, "timeline --json");
    let last = told["bars"].as_array().and_then(|bars| bars.last());
    assert_eq!(last.map(|bar| &bar["to_ms"]), Some(&Value::Null), "{told:#}");
    let trace = document(&sandbox, "log --format otlp-json");
    assert!(trace.to_string().contains("piton.goes_on"), "{trace:#}");
    sandbox.meet("go");
    let _ = run.wait().exits(0);
    let _ = sandbox.run("timeline").exits(0).says(" took ");
}

#[test]
fn before_the_first_start_there_is_nothing_to_show() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let _ = sandbox.run("timeline").exits(0).says("no task has started yet");
    let _ = sandbox.run("timeline --task T1").exits(0).says("T1 has not started yet");
}

#[test]
fn a_run_is_a_trace_for_other_programs() {
    let sandbox = worked();
    let trace = document(&sandbox, "log --format otlp-json");
    assert_eq!(trace, document(&sandbox, "log --format otlp-json"), "the same run has the same ids");
    let spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans");
    let text = |span: &Value, key: &str| {
        span[key].as_str().unwrap_or_else(|| panic!("no {key} in {span}")).to_owned()
    };
    let nanos = |span: &Value, key: &str| text(span, key).parse::<u64>().expect("digits");
    let mut known: BTreeMap<String, &Value> = BTreeMap::new();
    let is_hex = |id: &str, digits: usize| id.len() == digits && id.chars().all(|c| c.is_ascii_hexdigit());
    for span in spans {
        let (id, parent) = (text(span, "spanId"), text(span, "parentSpanId"));
        assert!(is_hex(&id, 16) && is_hex(&text(span, "traceId"), 32), "{span}");
        assert_eq!(span["kind"], 1);
        assert!(matches!(span["status"]["code"].as_u64(), None | Some(1 | 2)), "{span}");
        if let Some(around) = known.get(&parent) {
            assert!(
                nanos(around, "startTimeUnixNano") <= nanos(span, "startTimeUnixNano"),
                "{span} in {around}"
            );
            assert!(nanos(span, "endTimeUnixNano") <= nanos(around, "endTimeUnixNano"), "{span} in {around}");
        } else {
            assert_eq!(
                (parent.as_str(), span["name"].as_str()),
                ("", Some("run plan")),
                "only the run has no parent"
            );
        }
        assert!(known.insert(id, span).is_none(), "{span} is there twice");
    }
    let of = |name: &'static str| {
        spans.iter().filter(move |span| span["name"].as_str().is_some_and(|it| it.starts_with(name)))
    };
    assert_eq!((of("task ").count(), of("attempt ").count()), (3, 4));
    assert!(of("landing").count() >= 3 && of("check ").count() >= 4, "{trace:#}");
    let failed: Vec<&Value> = of("attempt ").filter(|span| span["status"]["code"] == 2).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    let class = serde_json::json!({ "key": "piton.failure.class", "value": { "stringValue": "code" } });
    assert!(failed[0]["attributes"].as_array().is_some_and(|all| all.contains(&class)), "{failed:?}");
    let tree = of("attempt ").all(|span| span["attributes"].to_string().contains("piton.tree"));
    assert!(tree, "{trace:#}");
    let _ = sandbox.run("log --format otlp-json --json").exits(2);
    let _ = sandbox.run("log --json").exits(0).says("\"event\":\"completed\"");
}
