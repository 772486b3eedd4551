//! Whatever the text: no panic, and no task lost in silence.

use super::*;
use proptest::prelude::*;

/// Keys and values as people mistype them, some of them right.
fn key() -> impl Strategy<Value = String> {
    let known: Vec<&str> =
        keys::TASK.names.iter().chain(keys::PLAN.names).chain(keys::CHECK.names).copied().collect();
    prop_oneof![4 => prop::sample::select(known).prop_map(str::to_owned), 1 => "[a-z_]{1,6}"]
}

fn value() -> impl Strategy<Value = String> {
    let values = [
        "\"T1\"",
        "\"t2\"",
        "\"\"",
        "1",
        "-1",
        "99999999999",
        "1.5",
        "true",
        "[]",
        "[\"T1\", \"T2\", \"T9\"]",
        "[[\"a\"]]",
        "{}",
        "{ run = \"x\" }",
        "[{ run = \"x\", timeout = \"9d\" }]",
        "\"5m\"",
        "1979-05-27",
        "\"\"\"\nmany\r\nlines\"\"\"",
        "\"a\\u0000\"",
        "[\"../x\", \"y\"]",
    ];
    prop::sample::select(values.map(str::to_owned).to_vec())
}

fn header() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just("[[task]]".to_owned()),
        1 => prop::sample::select(vec!["[[tsk]]", "[[Task]]", "[[task.checks]]", "[[group]]", "[task]", "[[tasks]]"])
            .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn any_text_is_read(text in "\\PC*", toml in "([a-z]{1,4}|task|[\\[\\]={}\"'\n#.,0-9 ]){0,40}") {
        for text in [text, toml] {
            let reading = read(&text, &text, &Config::default(), &Overrides::default());
            let _ = show(&text, &reading.diagnostics);
            let _ = check_config(&text);
            prop_assert!(crate::plan::RunId::new(&reading.plan.name).is_ok());
        }
    }

    /// Whatever is mistyped: a task is in the plan, or an error says that something is wrong.
    #[test]
    fn no_task_is_lost_in_silence(
        tasks in prop::collection::vec((header(), prop::collection::vec((key(), value()), 0..4), any::<[bool; 4]>()), 0..6),
    ) {
        let mut text = String::new();
        for (i, (header, more, keep)) in tasks.iter().enumerate() {
            let whole = [format!("id = \"T{i}\""), "title = \"t\"".into(), "prompt = \"p\"".into(), "checks = []".into()];
            let kept = whole.iter().zip(keep).filter(|(_, keep)| **keep || more.len() % 2 == 0).map(|(line, _)| line.clone());
            let lines: Vec<String> = kept.chain(more.iter().map(|(key, value)| format!("{key} = {value}"))).collect();
            text.push_str(&format!("{header}\n{}\n", lines.join("\n")));
        }
        let reading = read(&text, "plan", &Config::default(), &Overrides::default());
        let shown = show(&text, &reading.diagnostics);
        prop_assert!(!reading.is_usable() || reading.plan.tasks.len() == tasks.len(), "{text}\n{shown}");
        if reading.is_usable() {
            prop_assert!(crate::plan::Graph::new(&reading.plan.tasks).is_ok());
            prop_assert!(!tasks.is_empty());
        }
    }

    #[test]
    fn a_name_made_fit_stays_as_it_is(text in "\\PC{0,80}") {
        let name = name_from(&text);
        prop_assert!(crate::plan::RunId::new(&name).is_ok(), "{name:?}");
        prop_assert_eq!(name_from(&name), name.clone());
        prop_assert!(name.len() <= 60);
    }
}
