//! Signals as agents give them, and what only looks like one.

use proptest::prelude::*;

use super::reader::LONGEST_REASON;
use super::*;
use crate::plan::TaskId;
use crate::run::{Verdict, verdict};

fn unit() -> TaskId {
    TaskId::new("T1").expect("a valid id")
}

fn say(text: &str) -> Heard {
    heard(Output { text, reach: Reach::Message, ..Output::default() }, &unit(), Timestamp(0))
}

fn signal(text: &str) -> Option<Signal> {
    say(text).signal
}

/// Accepted without a word.
#[track_caller]
fn plainly(text: &str, expected: &Signal) {
    let heard = say(text);
    assert_eq!((heard.signal.as_ref(), &heard.notes[..]), (Some(expected), &[][..]), "{text:?}");
}

/// Accepted, and said to be odd.
#[track_caller]
fn oddly(text: &str, expected: &Signal) {
    let heard = say(text);
    assert_eq!(heard.signal.as_ref(), Some(expected), "{text:?}");
    assert!(!heard.notes.is_empty(), "{text:?}");
}

#[test]
fn every_word_is_understood() {
    let reason = "no key".to_owned();
    for (word, expected) in [
        ("T1_DONE", Signal::Done),
        ("T1_VERIFIED", Signal::Verified),
        ("T1_ALREADY:no key", Signal::Already(reason.clone())),
        ("T1_ALREADY", Signal::Already(String::new())),
        ("BLOCKED:no key", Signal::Blocked(reason.clone())),
        ("BLOCKED", Signal::Blocked(String::new())),
        ("TESTS_PASS", Signal::TestsPass),
        ("TESTS_FAIL:no key", Signal::TestsFail(reason.clone())),
        ("REVIEW_PASS", Signal::ReviewPass),
        ("REVIEW_FAIL", Signal::ReviewFail),
        ("FIXED", Signal::Fixed),
        ("NEEDS_ESCALATION:no key", Signal::Escalate(reason.clone())),
        ("PRELIMINARY_DONE", Signal::PreliminaryDone),
        ("GAPS_FOUND", Signal::GapsFound),
        ("FAILED: no key", Signal::Failed(reason.clone())),
        ("REFUSED:no key", Signal::Refused(reason.clone())),
        ("RETRY:no key", Signal::Retry(reason)),
        ("LIMIT:5m", Signal::Limit(Timestamp(300_000))),
    ] {
        plainly(&format!("Work.\n<signal>{word}</signal>\n"), &expected);
    }
    assert!(
        say("<signal>FIXED</signal>").claims_done() && say("<signal>PRELIMINARY_DONE</signal>").claims_done()
    );
    assert_eq!(say("<signal>NEEDS_ESCALATION:who?</signal>").blocker(), Some("who?"));
    assert!(!say("<signal>TESTS_PASS</signal>").claims_done(), "that is not to say that it is done");
}

/// S1.
#[test]
fn what_is_code_a_quote_or_an_example_is_not_said() {
    for text in [
        "```\n<signal>T1_DONE</signal>\n```",
        "~~~text\n<signal>T1_DONE</signal>\n~~~\nNot yet.",
        "````\n```\n<signal>T1_DONE</signal>\n```\n````",
        "```text\n<signal>T1_DONE</signal>",
        "> <signal>T1_DONE</signal>",
        "  > > <signal>T1_DONE</signal>",
        "I end with `<signal>T1_DONE</signal>` when I am done.",
        "`<signal>T1_DONE</signal>` is what I would say.",
        "`<signal>T1_DONE</signal>`\n\nBut the tests are red.",
        "- Completion: `<signal>T1_DONE</signal>`",
        "  - Completion: <signal>T1_DONE</signal>",
        "Example:\n\n    <signal>T1_DONE</signal>\n",
        "\"<signal>T1_DONE</signal>\"",
        "| done | <signal>T1_DONE</signal> |",
        "- Completion:\n  <signal>T1_DONE</signal>",
        "1. say this:\n\n   <signal>T1_DONE</signal>",
        "<signal>T1_DONE</signal> is what I would say.",
        "### <signal>T1_DONE</signal>",
    ] {
        assert_eq!(signal(text), None, "{text}");
    }
    plainly("```\ncode\n```\n<signal>T1_DONE</signal>", &Signal::Done);
}

#[test]
fn the_prompt_is_not_the_agents_word() {
    let prompt = "# T1: Do it\n\nEnd with this line:\n<signal>T1_DONE</signal>\nor with the reason:\n\
                  <signal>BLOCKED:the reason</signal>\n";
    let said = |text: &str| {
        heard(Output { text, prompt, reach: Reach::Message, ..Output::default() }, &unit(), Timestamp(0))
            .signal
    };
    for echo in
        [prompt.to_owned(), prompt.replace('\n', "\n  "), format!("prompt:\n{prompt}\nI cannot go on.\n")]
    {
        assert_eq!(said(&echo), None, "{echo}");
    }
    assert_eq!(said("<signal>T1_DONE</signal>\n"), Some(Signal::Done), "who says nothing else has said it");
    assert_eq!(said(&format!("{prompt}\nAll done.\n\n<signal>T1_DONE</signal>\n")), Some(Signal::Done));
    assert_eq!(
        said(&format!("{prompt}\n<signal>BLOCKED:no key</signal>")),
        Some(Signal::Blocked("no key".into()))
    );
}

/// S2.
#[test]
fn the_last_signal_for_this_unit_counts() {
    plainly("<signal>TESTS_FAIL:2</signal>\nMended.\n<signal>T1_DONE</signal>\nBye.", &Signal::Done);
    assert_eq!(signal("<signal>T1_DONE</signal>\n<signal>T2_DONE</signal>"), Some(Signal::Done));
    assert_eq!(signal("<signal>T2_DONE</signal> <signal>T1_DONE</signal>"), Some(Signal::Done));
    for other in [
        "<signal>T2_DONE</signal>",
        "<signal>T10_DONE</signal>",
        "<signal>1_DONE</signal>",
        "<signal>T1.1_DONE</signal>",
        "<signal>_DONE</signal>",
    ] {
        let heard = say(other);
        assert_eq!(heard.signal, None, "{other}");
        assert_eq!(heard.notes.len(), 1, "{other}");
    }
    let ten = TaskId::new("T10").expect("valid");
    let output = Output { text: "<signal>T1_DONE</signal>", ..Output::default() };
    assert_eq!(heard(output, &ten, Timestamp(0)).signal, None);
}

#[test]
fn done_and_blocked_at_once_is_not_done() {
    for text in [
        "<signal>T1_DONE</signal>\n<signal>BLOCKED:no key</signal>",
        "<signal>BLOCKED:no key</signal>\n\nNever mind.\n\n<signal>T1_DONE</signal>",
        "<signal>BLOCKED:no key</signal>\n**Signal:** T1_DONE",
    ] {
        let heard = say(text);
        let Some(Signal::Failed(reason)) = &heard.signal else { panic!("{heard:?}") };
        assert_eq!(reason, "it says both that it is done and that it is blocked: no key");
        assert!(!heard.claims_done() && heard.blocker().is_none());
    }
}

/// S3.
#[test]
fn odd_forms_are_understood_and_told() {
    plainly("<signal> T1_DONE </signal>", &Signal::Done);
    plainly("**<signal>T1_DONE</signal>**", &Signal::Done);
    plainly("<signal>\nT1_DONE\n</signal>\r\n", &Signal::Done);
    for text in [
        "<signal>t1_done</signal>",
        "<SIGNAL>T1_done</SIGNAL>",
        "<signal>T1_DONE",
        "&lt;signal&gt;T1_DONE&lt;/signal&gt;",
        "**Signal:** T1_DONE",
        "Signal: `T1_DONE`",
        "**Did:** All of it.\n**Signal:** T1_DONE\n**Commit:** abc1234\n",
        "**Signal:** <signal>T1_DONE</signal>",
        "`<signal>T1_DONE</signal>`",
        "Every test passes. <signal>T1_DONE</signal>",
        "<signal>DONE</signal>",
    ] {
        oddly(text, &Signal::Done);
    }
    insta::assert_snapshot!(say("<signal>t1_done").notes.join("\n"), @r"
    `t1_done` was read as a signal, although it is not closed
    `t1_done` was read as a signal, although it spells the unit differently
    ");
    for text in
        ["**Signal:** T1_DONE\n\nThat is from the log; I go on.", "**Signal:** None", "Signal T1_DONE"]
    {
        assert_eq!(signal(text), None, "{text}");
    }
    plainly("It was `**Signal:** T1_DONE` before.\n<signal>TESTS_PASS</signal>", &Signal::TestsPass);
}

/// S4.
#[test]
fn a_reason_may_hold_anything() {
    for (body, reason) in [
        ("BLOCKED: a: b", "a: b"),
        ("BLOCKED:Vec<T> or <b>?", "Vec<T> or <b>?"),
        ("BLOCKED: first\n\n  second: <x>\n", "first\n\n  second: <x>"),
        ("BLOCKED：中文", "中文"),
        ("BLOCKED:there is no <signal> in it", "there is no <signal> in it"),
    ] {
        plainly(&format!("<signal>{body}</signal>\nBye."), &Signal::Blocked(reason.to_owned()));
    }
    let Some(Signal::Blocked(long)) = signal(&format!("<signal>BLOCKED:{}</signal>", "ü".repeat(9000)))
    else {
        panic!("a long reason is one")
    };
    assert_eq!(long.chars().count(), LONGEST_REASON);
}

/// S5.
#[test]
fn words_in_prose_are_no_signal() {
    for text in [
        "not DONE: waiting",
        "DONE: waiting for T2",
        "T1_DONE",
        "I am not T1_DONE yet. BLOCKED: no",
        "I could not get to <signal>T1_DONE</signal>",
        "The word \"done.\" <signal>T1_DONE</signal>",
        "",
        "\n\n",
    ] {
        assert_eq!(signal(text), None, "{text}");
    }
}

/// S7: a result in a fence is data, also where it holds a signal.
#[test]
fn a_result_in_a_fence_is_no_signal() {
    assert_eq!(
        signal("```json\n{\"signal\": \"T1_DONE\"}\n<signal>T1_DONE</signal>\n```\nDone, I think.\n"),
        None
    );
}

/// S8.
#[test]
fn of_a_check_the_exit_status_decides_and_not_its_words() {
    assert_eq!(verdict::of_exit(0, "error: none\n<signal>TESTS_FAIL:3</signal>"), Verdict::Pass);
    assert_eq!(verdict::of_exit(1, "all passed\n<signal>TESTS_PASS</signal>"), Verdict::Fail { exit: 1 });
}

#[test]
fn of_output_that_was_cut_the_first_fence_may_be_an_end() {
    let text = "let x;\n```\nAll done.\n<signal>T1_DONE</signal>\n";
    let signal = |output| heard(output, &unit(), Timestamp(0)).signal;
    let whole = |text| Output { text, reach: Reach::Message, ..Output::default() };
    let cut_off = |text| Output { cut: true, ..whole(text) };
    assert_eq!(signal(cut_off(text)), Some(Signal::Done));
    assert_eq!(signal(whole(text)), None);
    let fenced = "x\n```sh\n<signal>T1_DONE</signal>\n";
    assert_eq!(signal(cut_off(fenced)), None, "this one begins here");
}

#[test]
fn a_signal_that_is_never_closed_ends_with_its_line() {
    oddly("<signal>BLOCKED:no key\nI stop here.\n", &Signal::Blocked("no key".into()));
    assert_eq!(signal("<signal>T1_DONE\n<signal>TESTS_FAIL:x</signal>"), Some(Signal::TestsFail("x".into())));
    assert_eq!(signal("<signal>T1_DONE\n```\n</signal>\n```"), Some(Signal::Done));
}

const PIECES: &[&str] = &[
    "<signal>T1_DONE</signal>",
    "<signal>T10_DONE</signal>",
    "<signal>BLOCKED:x</signal>",
    "<signal>",
    "</signal>",
    "T1_DONE",
    "**Signal:** T1_DONE",
    "&lt;signal&gt;",
    "```",
    "```text",
    "~~~",
    "> ",
    "`",
    "    ",
    "\n",
    "\n\n",
    "words. ",
    "é：",
    "- ",
];

fn any_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(0..PIECES.len(), 0..24)
        .prop_map(|pieces| pieces.into_iter().map(|piece| PIECES[piece]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a prompt holds, who only prints it has said nothing.
    #[test]
    fn an_echoed_prompt_never_is_a_signal(prompt in any_text(), cut in any::<bool>()) {
        let output = Output { text: &prompt, cut, prompt: &prompt, reach: Reach::Message };
        prop_assert_eq!(heard(output, &unit(), Timestamp(0)).signal, None);
    }

    #[test]
    fn in_a_fence_or_a_quote_nothing_is_said(text in any_text()) {
        let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
        prop_assert_eq!(signal(&quoted), None);
        // Longer than any that the text could close.
        let fence = "~".repeat(100);
        let fenced = format!("{fence}\n{text}\n{fence}\nNot yet.\n");
        prop_assert_eq!(signal(&fenced), None);
    }

    /// Prose behind a signal in the proper form takes nothing from it.
    #[test]
    fn prose_behind_a_signal_changes_nothing(text in any_text()) {
        let before = format!("{text}\n~~~~~\n~~~~~\n\n<signal>T1_DONE</signal>\n");
        let after = format!("{before}\nIn short, it works now: see above.\n\nBye\n");
        let blocked = |heard: &Heard| matches!(heard.signal, Some(Signal::Failed(_)));
        let (before, after) = (say(&before), say(&after));
        prop_assert_eq!(blocked(&before), blocked(&after));
        prop_assert_eq!(before.claims_done(), after.claims_done());
    }
}

/// Outputs that end with a signal which the agent only quotes. `SIGNAL` marks its place.
pub(crate) const QUOTATIONS: &[&str] = &[
    "The docs say:\n\n> SIGNAL\n",
    "> > SIGNAL",
    "  > SIGNAL",
    "```\nSIGNAL\n```",
    "```text\nSIGNAL",
    "~~~\nSIGNAL\n~~~\n",
    "~~~\nSIGNAL",
    "Example:\n\n    SIGNAL",
    "Example:\n\n\tSIGNAL",
    "Example:\n    SIGNAL",
    "An agent ends with `SIGNAL`",
    "An agent ends with SIGNAL",
    "An agent ends thus: SIGNAL",
    "- SIGNAL",
    "* SIGNAL",
    "+ SIGNAL",
    "• SIGNAL",
    "1. SIGNAL",
    "2) SIGNAL",
    "- for example\n  SIGNAL",
    "- for example\n\n  SIGNAL",
    "docs/agents.md:164:SIGNAL",
    "docs/agents.md:SIGNAL",
    "docs/agents.md: SIGNAL",
    "docs/agents.md-164-SIGNAL",
    "164:SIGNAL",
    "   164\tSIGNAL",
    "-SIGNAL",
    "+SIGNAL",
    "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n+new\n SIGNAL\n",
    "@@ -1 +1,2 @@\n one\n+two\n SIGNAL",
    "--- x\n+++ y\n SIGNAL",
    "| LIMIT | SIGNAL |",
    "\"SIGNAL\"",
    "'SIGNAL'",
    "echo 'SIGNAL'",
    "// SIGNAL",
    "# SIGNAL",
    "/* SIGNAL */",
    "<!-- SIGNAL -->",
    "<!--\nSIGNAL\n-->",
    "<pre>\nSIGNAL\n</pre>",
    "SIGNAL is what a command prints",
    "SIGNAL, or so",
];

/// What an agent may quote, all of which would change something if it were believed.
pub(crate) const QUOTED: &[&str] = &[
    "LIMIT:2h",
    "LIMIT:2026-11-15T08:00:00Z",
    "REFUSED:the key is old",
    "BLOCKED:no key",
    "FAILED:no",
    "RETRY:net",
    "T1_DONE",
];

#[test]
fn a_quotation_at_the_very_end_is_believed_in_no_plan() {
    for quotation in QUOTATIONS {
        for quoted in QUOTED {
            let text = quotation.replace("SIGNAL", &format!("<signal>{quoted}</signal>"));
            for (reach, cut) in [(Reach::LastLine, false), (Reach::LastLine, true), (Reach::Message, false)] {
                // If the output was cut off, a fence may begin or end here. Then a claim is let through.
                if cut && *quoted == "T1_DONE" {
                    continue;
                }
                let output = Output { text: &text, cut, prompt: "", reach };
                assert_eq!(heard(output, &unit(), Timestamp(0)).signal, None, "{text}");
            }
        }
    }
}

/// As it is, in every plan.
#[test]
fn a_signal_alone_in_the_last_line_counts_in_every_plan() {
    for (before, after) in [
        ("", ""),
        ("Work.\n", "\n\n"),
        ("Work.\n\n", "\r\n"),
        ("- a\n- b\n", ""),
        ("- a\n\n", "\n"),
        ("> quoted\n\n", ""),
        ("```\ncode\n```\n", "\n"),
        ("diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n", ""),
        ("  ", "  "),
        ("**", "**"),
        ("⏺ ", ""),
    ] {
        for reach in [Reach::LastLine, Reach::Message] {
            for quoted in QUOTED {
                let text = format!("{before}<signal>{quoted}</signal>{after}");
                let output = Output { text: &text, cut: false, prompt: "", reach };
                let heard = heard(output, &unit(), Timestamp(0));
                assert!(heard.signal.is_some() && heard.notes.is_empty(), "{text:?}: {heard:?}");
            }
        }
    }
}

#[test]
fn where_the_exit_status_speaks_only_the_last_line_does() {
    let read = |text: &str| heard(Output { text, ..Output::default() }, &unit(), Timestamp(0)).signal;
    assert_eq!(read("work\n<signal>T1_DONE</signal>\n\n"), Some(Signal::Done));
    assert_eq!(read("All good. <signal> DONE </signal>"), Some(Signal::Done));
    assert_eq!(read("<signal>BLOCKED: a: b <c></signal>"), Some(Signal::Blocked("a: b <c>".into())));
    assert_eq!(read("<signal>BLOCKED: a\nb</signal>"), Some(Signal::Blocked("a\nb".into())));
    assert_eq!(read("end with the line\n  `<signal>BLOCKED:b</signal>`"), Some(Signal::Blocked("b".into())));
    assert_eq!(read("<signal>T10_DONE</signal>"), None);
    assert_eq!(read("<signal>BLOCKED:x</signal>\nnever mind, it works"), None);
    assert_eq!(read("<signal>BLOCKED:x</signal>\n```\ncode\n```"), None);
    assert_eq!(read("I stop. <signal>BLOCKED:x</signal>"), None, "only a claim may stand behind other words");
    assert_eq!(read("**Signal:** BLOCKED: x"), None, "a field of the log of an iterative plan");
    assert_eq!(read(""), None);
}

/// It parks every agent of a provider.
#[test]
fn a_limit_counts_only_in_its_proper_form_as_the_very_last_line() {
    for text in [
        "<signal>LIMIT:5m</signal>\nBye.",
        "<signal>LIMIT:5m",
        "<signal>limit:5m</signal>",
        "`<signal>LIMIT:5m</signal>`",
        "&lt;signal&gt;LIMIT:5m&lt;/signal&gt;",
        "**Signal:** LIMIT:5m",
        "All is well. <signal>LIMIT:5m</signal>",
        "<signal>REFUSED:x</signal>\n\nBye.",
    ] {
        assert_eq!(signal(text), None, "{text}");
    }
    plainly("Work.\n<signal>LIMIT:5m</signal>\n", &Signal::Limit(Timestamp(300_000)));
}

#[test]
fn what_was_not_taken_at_the_end_is_told() {
    insta::assert_snapshot!(say("- <signal>T1_DONE</signal>").notes.join("\n"), @"`T1_DONE` was not read as a signal: a signal must be alone on its line, at the end, and not in code, a quote, a list or a diff");
    assert_eq!(say("- <signal>T1_DONE</signal>\n\nNot yet.").notes, [""; 0]);
}
