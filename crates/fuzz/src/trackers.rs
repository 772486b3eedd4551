//! Issues of trackers: whatever a program answers, the questions end, the snapshot is read back as it was written, and the
//! plan of it is safe. Whatever is in the file, too.

use std::collections::{BTreeMap, HashSet};

use piton_core::plan::Graph;
use piton_core::system::asked::{Ask, Asking, Closing, ReportedFacts, Snapshot};
use piton_core::system::config::Config;
use piton_core::system::{Folder, Given, named};

use crate::folders::shown_in_their_files;
use crate::plans::{can_be_told, safe};
use crate::same;

pub(crate) const ANSWERS: &[&str] = &[
    "[{\"number\":1,\"state\":\"OPEN\",",
    "{\"number\":2,\"state\":\"CLOSED\",\"stateReason\":\"NOT_PLANNED\",",
    "{\"iid\":3,\"state\":\"opened\",\"blocking_issues_count\":1,",
    "{\"id\":\"bd-a1\",\"status\":\"open\",",
    "{\"data\":[",
    "\"title\":\"x\"",
    "\"body\":\"blocked by #1\"",
    "\"body\":\"- [ ] #2\\n## Acceptance criteria\\n- a\"",
    "\"description\":\"<!-- x\\r\\n```\"",
    "\"blockedBy\":[{\"number\":1}]",
    "\"subIssues\":{\"nodes\":[{\"number\":2}]}",
    "\"parent\":{\"number\":1,\"title\":\"p\"}",
    "\"labels\":[{\"name\":\"P0\"},\"priority: low\"]",
    "\"dependencies\":[{\"issue_id\":\"bd-a1\",\"depends_on_id\":\"bd-a1.1\",\"type\":\"blocks\"}]",
    "\"issue_type\":\"epic\"",
    "\"piton_issues\":1,\"ask\":\"gh:#1\",\"of\":\"h/o/r\",\"issues\":[",
    "\"is_group\":true",
    "\"link_type\":\"blocks\"",
    "\"comments\":[{\"authorAssociation\":\"OWNER\",\"body\":\"x\"}]",
    "\"\\u202e\\u0000\"",
    "},{",
    "}]",
    "null",
];

const OF: &str = "github.com/o/r";
const PLACE: &str = ".piton/issues/gh.json";

pub(crate) fn issues(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for typed in ["gh:label:a", "gh:#1,#2", "gl:label:a", "gl:#1", "bd:"] {
        let snapshot = same(|| asked(typed, &text));
        if let Some(snapshot) = snapshot {
            let written = snapshot.text();
            assert_eq!(Snapshot::read(written.as_bytes()).as_ref(), Some(&snapshot), "{written}");
            plan(written.as_bytes());
        }
        let ask = Ask::parse(typed).expect("an ask").expect("a good one");
        let (of, id) = (OF.to_owned(), "1".to_owned());
        let closing =
            Closing { source: ask.source, of, id, closes: true, evidence: ReportedFacts::default() };
        let answers = vec![text.clone().into_owned(); 2];
        let _ = closing.seen(&answers).and_then(|seen| closing.next(seen));
    }
    if let Some(Ok(ask)) = Ask::parse(&text) {
        assert_eq!(Ask::parse(&ask.to_string()), Some(Ok(ask.clone())), "what is shown can be typed");
        let name = ask.file_name();
        assert!(
            name.len() < 100
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
        );
    }
    plan(bytes);
}

/// What comes of a conversation in which every answer is this one.
fn asked(typed: &str, answer: &str) -> Option<Snapshot> {
    let ask = Ask::parse(typed).expect("an ask").expect("a good one");
    let mut asking = Asking::new(ask, OF, true, None);
    for _ in 0..1000 {
        let Some(question) = asking.question() else { return Some(asking.end()) };
        if asking.answered(&question, answer).is_err() && !asking.refused(&question, "not found", true) {
            return None;
        }
    }
    panic!("the questions about {typed} do not end");
}

fn plan(bytes: &[u8]) {
    let folder = Folder { files: BTreeMap::from([(PLACE.to_owned(), bytes.to_vec())]) };
    let config = Config::default();
    let read = named("tracker").expect("in the table").read(&folder, &Given::new("gh.json", PLACE, &config));
    let reading = read.reading();
    shown_in_their_files(reading, &reading.problems);
    safe(&reading.plan);
    reading.plan.tasks.iter().take(5).for_each(can_be_told);
    let ids: HashSet<String> = reading.plan.tasks.iter().map(|task| task.id.folded()).collect();
    assert_eq!(ids.len(), reading.plan.tasks.len(), "ids are unique");
    assert!(!reading.is_usable() || Graph::new(&reading.plan.tasks).is_ok(), "what is used has no circle");
    for task in &reading.plan.tasks {
        let hidden =
            |c: char| c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{202a}'..='\u{202e}');
        assert!(!task.prompt.chars().any(hidden), "{:?}", task.prompt);
    }
}
