//! A check that an agent makes: it reviews the work, changes nothing, and ends with what it found.

use crate::run::Verdict;

/// What is reviewed where nobody says so.
pub const WHOLE: &str = "the work as a whole";

/// The most findings of one review that are told on: more is a rewrite.
const MOST: usize = 100;

/// What the reviewer is told.
pub fn prompt(ask: &str) -> String {
    format!(
        "# Review\n\nReview {}\n\n\
        ## How to work\n\
        - You are in a git worktree that holds the work; look at it, run what you need, change no file.\n\
        - Nobody answers questions.\n\
        - End with your findings, one to a line, worst first:\n\n\
        FINDINGS:\n\
        - CRITICAL: what is broken or lost, and where\n\
        - MAJOR: what has to be mended before this is used, and where\n\
        - MINOR: what could be better\n\n\
        - Or, if there is none, with the line `FINDINGS: none`.\n",
        ask.trim()
    )
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

/// What a reviewer found: its last list of findings, outside of code fences. `None` if it did not say.
pub fn findings(output: &str) -> Option<Vec<Finding>> {
    let (mut found, mut fenced): (Option<Vec<Finding>>, bool) = (None, false);
    for line in output.lines().map(str::trim) {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let words = line.trim_start_matches(['#', '*', '-', '+', ' ', '[', '`', '>']);
        if let Some(rest) = words.strip_prefix("FINDINGS") {
            let rest = rest.trim_start_matches(['*', ' ', ':', '(', ')']).trim_end_matches(['.', '*', ' ']);
            let none = ["none", "0", "no findings"].iter().any(|none| rest.eq_ignore_ascii_case(none));
            // A list that names nothing has not been said yet.
            found = none.then(Vec::new);
        } else if let Some((weight, text)) = weighed(words) {
            found.get_or_insert_default().push(Finding { weight, text: text.to_owned() });
        } else if words.trim_end_matches(['.', '*', ']', '`', '!']) == "APPROVED" {
            found.get_or_insert_default();
        }
    }
    if let Some(found) = &mut found {
        found.sort_by_key(|finding| finding.weight);
        found.truncate(MOST);
    }
    found
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
pub fn verdict(output: &str) -> Verdict {
    let Some(found) = findings(output) else {
        return Verdict::Broken { reason: "it did not say what it found".to_owned() };
    };
    let count = |weight| found.iter().filter(|finding| finding.weight == weight).count();
    match (count(Weight::Critical), count(Weight::Major)) {
        (0, 0) => Verdict::Pass,
        (critical, major) => Verdict::Rejected { reason: format!("{critical} critical, {major} major") },
    }
}

/// The findings, worst first, as they are told to whoever mends them.
pub fn told(output: &str) -> Option<String> {
    let line = |finding: &Finding| {
        let weight = match finding.weight {
            Weight::Critical => "CRITICAL",
            Weight::Major => "MAJOR",
            Weight::Minor => "MINOR",
        };
        format!("{weight}: {}\n", finding.text)
    };
    Some(findings(output)?.iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(output: &str) -> Option<Vec<(Weight, String)>> {
        let pair = |finding: Finding| (finding.weight, finding.text);
        findings(output).map(|found| found.into_iter().map(pair).collect())
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
        insta::assert_snapshot!(told(output).expect("found"), @r"
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
    fn what_was_not_said_is_no_approval() {
        let echoed = "```\nFINDINGS: none\n```\n";
        let unlike = "The MAJORITY of tests pass. Not APPROVED yet.\nMAJORITY: yes\n";
        for open in ["", "I looked.", "FINDINGS:", echoed, unlike, "FINDINGS: none\nFINDINGS:\n"] {
            assert!(matches!(verdict(open), Verdict::Broken { .. }), "{open}");
        }
        // Whoever approves and names a fault has named a fault.
        let both = "CRITICAL: it loses data\nAPPROVED\n";
        assert!(matches!(verdict(both), Verdict::Rejected { .. }));
    }
}
