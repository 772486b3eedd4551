//! Templates of prompts that people wrote.

use piton_core::plan::TaskSpec;
use piton_core::prompt::{Advice, Brief, Failure, Prompts, of_feedback, of_review, prompt};
use serde_json::json;

pub(crate) const WORDS: &[&str] = &[
    "{{ task.id }}",
    "{{ task . nope }}",
    "{{ feedback }}",
    "{{ ask }}\n{{ ending }}",
    "{% if feedback %}",
    "{% else %}",
    "{% endif %}",
    "{% for file in task.files %}",
    "{% endfor %}",
    "{% include \"task\" %}",
    "{% include \"worker\" %}",
    "{% set x = attempt + 1 %}",
    "{% macro m(a) %}",
    "{% endmacro %}",
    "{% raw %}",
    "{#",
    "#}",
    "{{",
    "}}",
    "-%}",
    " | upper",
    " | join(', ')",
    "range(9999)",
    "9223372036854775807",
    "éééé",
    "\u{1f980}",
    "\r\n",
    "\n",
];

/// The first line is its name.
pub(crate) fn templates(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (name, text) = text.split_once('\n').unwrap_or(("worker", &text));
    let read = || Prompts::with([(name.to_owned(), text.to_owned())]);
    let prompts = match read() {
        Ok(prompts) => prompts,
        Err(broken) => {
            assert_eq!(read().err().as_ref(), Some(&broken), "reading twice gives two values");
            for one in &broken {
                // It is shown with what stands there.
                assert!(one.text.get(one.problem.span.clone()).is_some(), "{one:?}");
                assert!(!one.to_string().is_empty());
            }
            return;
        }
    };
    let spec: TaskSpec = serde_json::from_value(json!({
        "id": "T1", "title": "t", "prompt": "p", "group": 0, "priority": 1, "agent": "a", "attempts": 1,
        "timeout": 1000, "files": ["src/a.rs"], "criteria": ["{{ task.nope }}"],
    }))
    .expect("a task");
    let advice = [Advice { by: "Ann".to_owned(), text: "{% nope %}".to_owned() }];
    let failure = Failure { feedback: "{{ 1 / 0 }}\n```".to_owned(), ..Failure::default() };
    let brief = Brief {
        attempt: 3,
        role: Some(name),
        guardrails: &advice,
        advice: &advice,
        failure: Some(&failure),
        ..Brief::default()
    };
    // It may fail for untested values, and says where.
    let told = [
        prompt(&prompts, &spec, brief),
        of_review(&prompts, "reviewer", "{{ ask }}"),
        of_feedback(&prompts, &spec, 2, "x", "y"),
    ];
    for broken in told.into_iter().filter_map(Result::err) {
        assert!(broken.text.get(broken.problem.span.clone()).is_some(), "{broken:?}");
    }
}
