//! What agents say that decides something: a reviewer's findings, and questions that are answered without a person.

use piton_core::answer::answer;
use piton_core::review::{findings, findings_text, verdict};
use piton_core::run::Verdict;

use crate::same;

pub(crate) const FINDINGS: &[&str] = &[
    "FINDINGS:\n",
    "FINDINGS: none",
    "**FINDINGS** 0.",
    "## FINDINGS (",
    "- CRITICAL: data is lost\n",
    "[MAJOR] x",
    "MAJOR: none",
    "MINOR - a name",
    "MAJORITY",
    "APPROVED",
    "not APPROVED",
    "REVIEW_PASS",
    "REVIEW_FAIL",
    "<signal>GAPS_FOUND</signal>",
    "<signal>",
    "</signal>",
    "T1_VERIFIED",
    "T2_VERIFIED",
    "_VERIFIED",
    "：",
    "```",
    "~~~~\n",
    "1. ",
    "- [x] ",
    "> ",
    "\u{a0}",
    "\r\n",
    "\n",
];

const ASK: &str = "whether T1 is done: Undo what T2 did";

pub(crate) fn review(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let found = same(|| findings(&text, ASK));
    if let Some(found) = &found {
        assert!(found.len() <= 100 && found.is_sorted_by_key(|finding| finding.weight));
        assert!(found.iter().all(|finding| !finding.text.is_empty() && !finding.text.contains('\n')));
    }
    assert_eq!(findings_text(&text, ASK).map(|text| text.lines().count()), found.as_ref().map(Vec::len));

    if same(|| verdict(&text, ASK)) == Verdict::Pass {
        assert!(text.lines().any(passes), "no line says that it is fine");
    }
    // A failed review passes only if it lists findings, and all of them are minor.
    let failed = format!("REVIEW_FAIL\n{text}");
    if verdict(&failed, ASK) == Verdict::Pass {
        assert!(findings(&failed, ASK).is_some_and(|found| !found.is_empty()), "there are gaps");
    }
    // A verdict about another task is not one about this task.
    if found.is_none() {
        assert!(findings(&format!("T2_VERIFIED\n{text}"), ASK).is_none());
    }
    let longest = text.split(|c| c != '~').map(str::len).max().unwrap_or(0);
    let code = format!("{}\n{text}", "~".repeat(longest.max(2) + 1));
    assert_eq!(findings(&code, ASK), None, "code is not a verdict");
}

/// Whether a line lets work pass, whatever else it says.
fn passes(line: &str) -> bool {
    let none =
        |rest: &str| ["none", "0", "no findings"].iter().any(|none| rest.to_lowercase().contains(none));
    line.split_once("FINDINGS").is_some_and(|(_, rest)| none(rest))
        || ["APPROVED", "REVIEW_PASS", "T1_VERIFIED", "t1_VERIFIED", "MINOR"]
            .iter()
            .any(|word| line.contains(word))
}

pub(crate) const QUESTIONS: &[&str] = &[
    "?",
    "(Recommended)",
    "(RECOMMENDED)",
    "(recommended",
    "- ",
    "2. ",
    "• ",
    "force-push",
    "DELETE",
    "drop ",
    "Deploy",
    "rm -r",
    "\u{130}",
    "\u{212a}",
    "\u{1e9e}",
    "\r\n",
    "\n",
];

/// The first line is the question.
pub(crate) fn question(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (question, said) = text.split_once('\n').unwrap_or((&text, ""));
    let Some(answer) = same(|| answer(question, said)) else { return };
    assert!(answer.chars().any(char::is_alphanumeric), "{answer:?} is no answer");
    for part in [question, &answer] {
        let part = part.to_lowercase();
        for word in ["force-push", "delete", "drop ", "deploy", "rm -r"] {
            assert!(!part.contains(word), "no person was asked: {part}");
        }
    }
    let recommended = |line: &str| line.to_lowercase().contains("(recommended)");
    if !text.lines().any(recommended) {
        assert!(answer == "yes" && question.trim_end().ends_with('?'), "{answer:?} was not recommended");
    }
}
