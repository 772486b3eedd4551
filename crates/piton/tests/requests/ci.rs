//! The examples for CI are YAML, pinned, and start Piton with words that it takes.

use serde_json::{Map, Value, json};

use piton_testkit::sandbox::Sandbox;

fn example(name: &str) -> (String, Value) {
    let path = format!("{}/../../examples/ci/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("an example");
    let read = yaml(&text);
    (text, read)
}

/// The part of YAML that the examples use: maps, lists, one-line scalars, and blocks of text behind `|`. Anything else is an
/// error.
fn yaml(text: &str) -> Value {
    let is_content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines: Vec<&str> = text.lines().filter(is_content).collect();
    assert!(!text.contains('\t'), "YAML has no tabs");
    let mut at = 0;
    let value = block(&lines, &mut at, 0);
    assert_eq!(at, lines.len(), "left over: {:?}", lines.get(at));
    value
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// What stands at this depth.
fn block(lines: &[&str], at: &mut usize, depth: usize) -> Value {
    let (mut list, mut map) = (Vec::new(), Map::new());
    while let Some(line) = lines.get(*at).filter(|line| indent(line) >= depth) {
        assert_eq!(indent(line), depth, "wrong indentation: {line}");
        let content = line.trim_start();
        if let Some(item) = content.strip_prefix("- ") {
            assert!(map.is_empty(), "a list in a map: {line}");
            list.push(item_of(lines, at, depth, item));
        } else {
            assert!(list.is_empty(), "a map in a list: {line}");
            *at += 1;
            let (key, value) = entry(lines, at, depth, content);
            assert!(map.insert(key, value).is_none(), "twice: {line}");
        }
    }
    if list.is_empty() { Value::Object(map) } else { Value::Array(list) }
}

/// An item of a list: a scalar, or a map whose first entry stands behind the dash.
fn item_of(lines: &[&str], at: &mut usize, depth: usize, item: &str) -> Value {
    *at += 1;
    if !is_entry(item) {
        return scalar(item);
    }
    let mut map = Map::new();
    let (key, value) = entry(lines, at, depth + 2, item);
    map.insert(key, value);
    if lines.get(*at).is_some_and(|line| indent(line) == depth + 2) {
        let Value::Object(rest) = block(lines, at, depth + 2) else { panic!("a list behind {item}") };
        map.extend(rest);
    }
    Value::Object(map)
}

fn is_entry(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.split_once(':')
        .is_some_and(|(key, rest)| key.chars().all(plain) && (rest.is_empty() || rest.starts_with(' ')))
}

fn entry(lines: &[&str], at: &mut usize, depth: usize, content: &str) -> (String, Value) {
    assert!(is_entry(content), "neither an entry nor an item: {content}");
    let (key, rest) = content.split_once(':').expect("an entry");
    let value = match rest.trim() {
        "|" => {
            let mut text = String::new();
            while let Some(line) = lines.get(*at).filter(|line| indent(line) > depth) {
                text += line.trim_start();
                text.push('\n');
                *at += 1;
            }
            json!(text)
        }
        "" if lines.get(*at).is_some_and(|line| indent(line) > depth) => block(lines, at, depth + 2),
        "" => Value::Null,
        rest => scalar(rest),
    };
    (key.to_owned(), value)
}

fn scalar(text: &str) -> Value {
    if let Some(quoted) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return json!(quoted);
    }
    let text = text.split(" #").next().expect("a beginning").trim();
    let special = ['[', '{', '&', '*', '!', '%', '@', '`', '|', '>'];
    assert!(!text.starts_with(special) && !text.contains(": "), "quote it: {text}");
    serde_json::from_str(text).ok().filter(|value: &Value| !value.is_string()).unwrap_or_else(|| json!(text))
}

/// The command lines of an example that start Piton.
fn calls(text: &str) -> Vec<&str> {
    let call = |line: &&str| line.starts_with("piton ");
    text.lines()
        .map(|line| line.trim_start_matches(['-', ' ']).trim_start_matches("run: "))
        .filter(call)
        .collect()
}

#[test]
fn the_workflow_is_pinned_and_its_own_token_only_reads() {
    let (text, workflow) = example("github.yml");
    assert_eq!(workflow["permissions"], json!({"contents": "read"}));
    assert_eq!(workflow["on"], json!({"workflow_dispatch": null}));
    let job = &workflow["jobs"]["run"];
    assert!(job["permissions"].is_null() && job["timeout-minutes"].is_u64());
    let steps = job["steps"].as_array().expect("steps");
    for step in steps {
        if let Some(action) = step["uses"].as_str() {
            let (_, version) = action.split_once('@').expect("a version");
            assert!(version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit()), "{action}");
        }
        // A value of GitHub's in a command line would be read by its shell.
        let run = step["run"].as_str().unwrap_or_default();
        assert!(!run.contains("${{"), "{run}");
    }
    assert_eq!(steps[0]["with"], json!({"fetch-depth": 0, "persist-credentials": false}));
    assert!(text.contains("claude-code@2."), "{text}");
    assert_eq!(calls(&text).len(), 1);
}

#[test]
fn the_job_of_gitlab_is_started_by_a_person_and_alone() {
    let (text, file) = example("gitlab.yml");
    let job = &file["piton"];
    assert_eq!(job["rules"][0]["when"], "manual");
    assert_eq!((&job["resource_group"], &job["interruptible"]), (&json!("piton"), &json!(false)));
    assert_eq!(job["variables"]["GIT_DEPTH"], "0");
    assert!(job["script"].as_array().is_some_and(|script| script.len() == 1));
    assert_eq!(calls(&text).len(), 1);
}

#[test]
fn piton_takes_the_words_of_the_examples() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    for name in ["github.yml", "gitlab.yml"] {
        let (text, _) = example(name);
        for call in calls(&text) {
            // The command line is read before the plan, which does not exist here.
            let said = sandbox.run(call.strip_prefix("piton ").expect("its name"));
            assert!(said.code != Some(0) && said.stderr.contains("plan.toml"), "{call}: {said}");
            assert!(!said.stderr.contains("unexpected argument"), "{call}: {said}");
        }
    }
}
