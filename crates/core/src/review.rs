//! A check that an agent makes: it reviews the work, changes nothing, and ends with what it found.
//!
//! Verifiers of iterative plans have words of their own: `T1_VERIFIED`, `REVIEW_PASS`, `GAPS_FOUND`, `REVIEW_FAIL`.

use crate::fence::Fence;
use crate::order::Arrange;
use crate::plan::TaskId;
use crate::run::Verdict;
use crate::signal::{Kind, kinds};

/// What is reviewed if the check does not say.
pub const WHOLE: &str = "the work as a whole";

/// The most findings of one review that are passed on: more would mean a rewrite.
const MOST: usize = 100;

/// How findings are written. A reviewer that prints these lines has only quoted its prompt.
const EXAMPLES: [&str; 3] = [
    "CRITICAL: what is broken or lost, and where",
    "MAJOR: what has to be fixed before this is used, and where",
    "MINOR: what could be better",
];

/// The instruction how a reviewer has to end.
pub fn ending() -> String {
    let [critical, major, minor] = EXAMPLES;
    format!(
        "- End with your findings, one per line, worst first:\n\nFINDINGS:\n- {critical}\n- {major}\n- {minor}\n\n- Or, if there are none, with the line `FINDINGS: none`.\n"
    )
}

/// How a question begins that `ID_VERIFIED` answers.
pub fn whether_done(task: &TaskId) -> String {
    format!("whether {task} is done: ")
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Critical,
    Major,
    Minor,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub weight: Weight,
    pub text: String,
}

/// What a reviewer found that was asked `ask`: its last list of findings, outside of code fences. `None` if it did not
/// say. A finding in a quote is one all the same; approval is believed only in the reviewer's own words.
pub fn findings(output: &str, ask: &str) -> Option<Vec<Finding>> {
    let (mut found, mut fence): (Option<Vec<Finding>>, Option<Fence>) = (None, None);
    let (mut failed, mut items) = (false, Vec::new());
    let lines: Vec<&str> = output.lines().collect();
    for (line, kind) in lines.iter().map(|line| line.trim()).zip(kinds(&lines)) {
        let (open, code) = Fence::after(fence, line);
        fence = open;
        let words = line.trim_start_matches(['#', '*', '-', '+', ' ', '[', '`', '>']);
        if code || EXAMPLES.contains(&words) {
            continue;
        }
        if let Some(rest) = words.strip_prefix("FINDINGS") {
            let rest = rest.trim_start_matches(['*', ' ', ':', '(', ')']).trim_end_matches(['.', '*', ' ']);
            let none = ["none", "0", "no findings"].iter().any(|none| rest.eq_ignore_ascii_case(none));
            // A list that names nothing has not been said yet, and one that is quoted says nothing at all.
            if kind != Kind::Shown {
                found = none.then(Vec::new);
            }
        } else if let Some((weight, text)) = weighed(words) {
            found.get_or_insert_default().push(Finding { weight, text: text.to_owned() });
        } else {
            match word(words, ask) {
                Some(Word::Fine) if kind == Kind::Own && !line.starts_with(['-', '+']) => {
                    found.get_or_insert_default();
                }
                Some(Word::Fine) => {}
                Some(Word::Gaps) => failed = true,
                None => items.extend(item(line)),
            }
        }
    }
    if failed && found.as_ref().is_none_or(Vec::is_empty) {
        // A review that speaks of gaps has found some, even if it does not say how bad they are.
        let unnamed = || vec!["it says that there are gaps but does not name any"];
        let gaps = if items.is_empty() { unnamed() } else { items };
        let gap = |text: &str| Finding { weight: Weight::Major, text: text.to_owned() };
        found = Some(gaps.into_iter().map(gap).collect());
    }
    if let Some(found) = &mut found {
        found.arrange_by_key(|finding| finding.weight);
        found.truncate(MOST);
    }
    found
}

/// A line that is a verdict by itself.
enum Word {
    Fine,
    Gaps,
}

fn word(words: &str, ask: &str) -> Option<Word> {
    let bare = words.trim_end_matches(['.', '*', ']', '`', '!', ' ']);
    let tagged = bare.strip_prefix("<signal>").map(|body| body.trim_end_matches("</signal>").trim());
    let said = tagged.unwrap_or(bare);
    match said.split([':', '：']).next().unwrap_or_default().trim() {
        "GAPS_FOUND" | "REVIEW_FAIL" => Some(Word::Gaps),
        _ if matches!(said, "APPROVED" | "REVIEW_PASS") => Some(Word::Fine),
        // A finding about another task is not about this one.
        _ => {
            let id = TaskId::new(said.strip_suffix("_VERIFIED")?).ok()?;
            ask.to_lowercase().starts_with(&whether_done(&id).to_lowercase()).then_some(Word::Fine)
        }
    }
}

/// An item of a list: if the review found gaps, this is one, without a weight.
fn item(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None if number.len() < line.len() => number.strip_prefix(['.', ')'])?,
        None => return None,
    };
    let text = rest.strip_prefix([' ', '\t'])?.trim();
    // `MAJOR: none` is not a gap, nor is a box that is ticked.
    let none = ["CRITICAL", "MAJOR", "MINOR", "[x]", "[X]", "✅"].iter().any(|word| text.starts_with(word));
    (!text.is_empty() && !none).then_some(text)
}

fn weighed(words: &str) -> Option<(Weight, &str)> {
    let weights = [("CRITICAL", Weight::Critical), ("MAJOR", Weight::Major), ("MINOR", Weight::Minor)];
    weights.into_iter().find_map(|(word, weight)| {
        let rest = words.strip_prefix(word)?;
        // `MAJOR: text`, `[MAJOR] text`, `MAJOR - text`; but not `MAJORITY`, and not `MAJOR: none`.
        let text = rest.trim_start_matches([':', ']', '*', '-', '–', '—', '`', ')', ' ']);
        let said = text.len() < rest.len() && !text.is_empty();
        let none = ["none", "none.", "0", "-"].iter().any(|none| text.eq_ignore_ascii_case(none));
        (said && !none).then_some((weight, text))
    })
}

/// What a review that ended well says about the work. Only what is minor may stay.
pub fn verdict(output: &str, ask: &str) -> Verdict {
    let Some(found) = findings(output, ask) else {
        return Verdict::Broken { reason: "it did not say what it found".to_owned() };
    };
    let count = |weight| found.iter().filter(|finding| finding.weight == weight).count();
    match (count(Weight::Critical), count(Weight::Major)) {
        (0, 0) => Verdict::Pass,
        (critical, major) => Verdict::Rejected { reason: format!("{critical} critical, {major} major") },
    }
}

/// The findings, worst first, as the agent that fixes them reads them.
pub fn findings_text(output: &str, ask: &str) -> Option<String> {
    let line = |finding: &Finding| {
        let weight = match finding.weight {
            Weight::Critical => "CRITICAL",
            Weight::Major => "MAJOR",
            Weight::Minor => "MINOR",
        };
        format!("{weight}: {}\n", finding.text)
    };
    Some(findings(output, ask)?.iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASK: &str = "whether T1 is done: Undo what T2 did";

    fn verdict(output: &str) -> Verdict {
        super::verdict(output, ASK)
    }

    fn text(output: &str) -> Option<String> {
        findings_text(output, ASK)
    }

    fn said(output: &str) -> Option<Vec<(Weight, String)>> {
        let pair = |finding: Finding| (finding.weight, finding.text);
        findings(output, ASK).map(|found| found.into_iter().map(pair).collect())
    }

    #[test]
    fn findings_are_the_last_list_worst_first() {
        let output = "Looking.\nFINDINGS:\n- MINOR: old\n\n## FINDINGS:\n- MINOR: a name\n* [MAJOR] no test for x\n\
                      1 more\n**CRITICAL** - data is lost\n";
        let expected = [
            (Weight::Critical, "data is lost".to_owned()),
            (Weight::Major, "no test for x".to_owned()),
            (Weight::Minor, "a name".to_owned()),
        ];
        assert_eq!(said(output), Some(expected.to_vec()));
        assert_eq!(verdict(output), Verdict::Rejected { reason: "1 critical, 1 major".to_owned() });
        insta::assert_snapshot!(text(output).expect("found"), @r"
        CRITICAL: data is lost
        MAJOR: no test for x
        MINOR: a name
        ");
    }

    #[test]
    fn only_what_is_minor_may_stay() {
        assert_eq!(verdict("FINDINGS:\n- MINOR: a name\n- MAJOR: none\n"), Verdict::Pass);
        for fine in ["FINDINGS: none", "**FINDINGS:** None.", "all good\nAPPROVED\n", "FINDINGS: 0"] {
            assert_eq!(verdict(fine), Verdict::Pass, "{fine}");
        }
    }

    #[test]
    fn a_verifier_may_use_the_words_of_its_system() {
        for fine in
            ["<signal>T1_VERIFIED</signal>", "It holds.\n\n**T1_VERIFIED**", "<signal>REVIEW_PASS</signal>"]
        {
            assert_eq!(verdict(fine), Verdict::Pass, "{fine}");
        }
        let weighed = "Gaps:\n- CRITICAL: data is lost\n- MINOR: a name\n\n<signal>GAPS_FOUND</signal>\n";
        assert_eq!(verdict(weighed), Verdict::Rejected { reason: "1 critical, 0 major".to_owned() });
        let waits = "- MINOR: a name\n<signal>GAPS_FOUND</signal>\n";
        assert_eq!(verdict(waits), Verdict::Pass, "what is minor may wait");
        let plain = "Checked:\n- [x] it builds\n\n<signal>REVIEW_FAIL</signal>\n1. no test for x\n- the docs are old\n";
        insta::assert_snapshot!(text(plain).expect("found"), @r"
        MAJOR: no test for x
        MAJOR: the docs are old
        ");
        for bare in [
            "<signal>GAPS_FOUND</signal>",
            "T1_VERIFIED\nGAPS_FOUND: two",
            "REVIEW_PASS\n<signal>REVIEW_FAIL</signal>",
        ] {
            assert_eq!(
                verdict(bare),
                Verdict::Rejected { reason: "0 critical, 1 major".to_owned() },
                "{bare}"
            );
        }
    }

    #[test]
    fn what_is_said_of_another_task_is_nothing_about_this_one() {
        for other in ["<signal>T2_VERIFIED</signal>", "T10_VERIFIED", "_VERIFIED", "not T1_VERIFIED"] {
            assert!(matches!(verdict(other), Verdict::Broken { .. }), "{other}");
        }
        assert_eq!(verdict("t1_VERIFIED"), Verdict::Pass);
        assert!(matches!(super::verdict("T1_VERIFIED", WHOLE), Verdict::Broken { .. }), "a part is not all");
    }

    #[test]
    fn a_review_that_prints_what_it_was_told_has_found_nothing_yet() {
        let ask = "the work. End with `<signal>T1_VERIFIED</signal>` or `<signal>GAPS_FOUND</signal>`";
        let echoed = crate::prompt::of_review(&crate::prompt::Prompts::default(), "reviewer", ask);
        let echoed = echoed.expect("ours are fine");
        assert!(matches!(verdict(&echoed), Verdict::Broken { .. }), "{echoed}");
        assert_eq!(verdict(&format!("{echoed}\n<signal>T1_VERIFIED</signal>\n")), Verdict::Pass);
    }

    #[test]
    fn what_was_not_said_is_no_approval() {
        let echoed = "```\nFINDINGS: none\n```\n";
        let unlike = "The MAJORITY of tests pass. Not APPROVED yet.\nMAJORITY: yes\n";
        for open in ["", "I looked.", "FINDINGS:", echoed, unlike, "FINDINGS: none\nFINDINGS:\n"] {
            assert!(matches!(verdict(open), Verdict::Broken { .. }), "{open}");
        }
        for quoted in [
            "> APPROVED",
            "> FINDINGS: none",
            "- <signal>T1_VERIFIED</signal>",
            "+<signal>T1_VERIFIED</signal>",
            "@@ -1 +1 @@\n <signal>REVIEW_PASS</signal>",
            "Example:\n\n    APPROVED",
            "~~~\nAPPROVED",
        ] {
            assert!(matches!(verdict(quoted), Verdict::Broken { .. }), "{quoted}");
        }
        assert_eq!(verdict("- FINDINGS: none"), Verdict::Pass);
        assert!(
            matches!(verdict("> - MAJOR: no test"), Verdict::Rejected { .. }),
            "a quoted fault is a fault"
        );
        // A review that approves and names a fault has named a fault.
        let both = "CRITICAL: it loses data\nAPPROVED\n";
        assert!(matches!(verdict(both), Verdict::Rejected { .. }));
    }
}
