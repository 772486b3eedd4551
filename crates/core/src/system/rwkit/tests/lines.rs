//! One line: its tags and what stands around them.

use super::*;
use crate::system::kit::problems::Problems;
use crate::system::rwkit::line::Head;
use crate::system::rwkit::tags::{Name, Tagged};

/// `id|priority|story|title|note`, then each tag.
fn taken_apart(line: &str) -> (String, Vec<String>, Vec<String>) {
    let mut found = Problems::default();
    let tagged = Tagged::read(line, 0..line.len(), &mut found);
    let head = Head::read(line, &tagged);
    let said = |said: &Option<crate::system::kit::problems::Spanned<String>>| {
        let Some(said) = said else { return "-".to_owned() };
        assert!(
            line[said.at.clone()].to_uppercase().contains(&said.value.to_uppercase()),
            "{line:?} {said:?}"
        );
        said.value.clone()
    };
    let priority = head.priority.map_or("-".to_owned(), |priority| priority.to_string());
    let parts = [said(&head.id), priority, said(&head.story), head.title, head.note];
    let tags = tagged.tags.iter().map(|tag| format!("{:?}={}", tag.name, line[tag.value.clone()].trim()));
    (parts.join("|"), tags.collect(), found.finish().iter().map(|problem| shown(line, problem)).collect())
}

fn quiet(line: &str) -> (String, Vec<String>) {
    let (head, tags, told) = taken_apart(line);
    assert_eq!(told, [] as [String; 0], "{line:?}");
    (head, tags)
}

#[test]
fn k1_brackets_inside_a_tag_balance() {
    let (head, tags) = quiet("T001 P1 US-001 Add it [files: app/[id]/[[...slug]]/page.tsx] [size: S]");
    assert_eq!(head, "T001|1|US-001|Add it|");
    assert_eq!(tags, ["Files=app/[id]/[[...slug]]/page.tsx", "Size=S"]);
}

#[test]
fn k1_brackets_that_do_not_match_are_told_and_cost_no_other_tag() {
    let (head, tags, told) = taken_apart("T001 a [files: app/[id/page.tsx] [size: S] [deps: T000");
    assert_eq!(head, "T001|-|-|a|");
    assert_eq!(tags, ["Files=app/[id/page.tsx", "Size=S", "Deps=T000"]);
    assert_eq!(
        told,
        [
            "1:8: warning: the brackets of this tag do not match (read up to here)\n",
            "1:44: warning: the brackets of this tag do not match (read up to here)\n"
        ]
    );
    let (_, tags, told) = taken_apart("T001 a [files: app/id]/page.tsx] [size: S]");
    assert_eq!(tags, ["Files=app/id", "Size=S"]);
    assert_eq!(
        told,
        ["1:32: warning: this bracket closes nothing (the text before it may belong to a tag)\n"]
    );
}

#[test]
fn k2_a_tag_that_is_there_twice_is_told() {
    let (_, tags, told) = taken_apart("T017 a [deps: T016] [deps: none] [agent: x] [Agent: y]");
    assert_eq!(tags, ["Deps=T016", "Deps=none", "Agent=x", "Agent=y"]);
    assert_eq!(
        told,
        [
            "1:21: warning: this line has more than one `[deps: …]` (both count; one that says `none` adds nothing)\n",
            "1:45: warning: this line has more than one `[agent: …]` (the first is used)\n"
        ]
    );
}

#[test]
fn k3_k4_k5_tags_are_read_as_people_write_them() {
    let (_, tags) = quiet("T1 a [agent:x] [ deps : T2;T3 ] [Files： a b/c.sql] [deferred: production]");
    assert_eq!(tags, ["Agent=x", "Deps=T2;T3", "Files=a b/c.sql", "Other=production"]);
    assert_eq!(quiet("T1 a [agent: plugin:agent]").1, ["Agent=plugin:agent"]);
}

#[test]
fn k7_k8_priorities_and_stories_may_be_missing_and_words_of_the_text_are_none() {
    assert_eq!(quiet("T001 P4 US-022 Do").0, "T001|4|US-022|Do|");
    assert_eq!(quiet("T001 US-022 Do").0, "T001|-|US-022|Do|");
    assert_eq!(quiet("T001 P1 Do").0, "T001|1|-|Do|");
    assert_eq!(quiet("T001 Do").0, "T001|-|-|Do|");
    assert_eq!(quiet("T001 [P1] [US-001] Do").0, "T001|1|US-001|Do|");
    for story in ["DB", "API", "SEARCH", "SEO", "PERF", "ATTRACT", "REPORT", "HELPFUL", "ALL"] {
        assert_eq!(quiet(&format!("T001 P1 {story} Create it")).0, format!("T001|1|{story}|Create it|"));
    }
    // It may be the first word of the text, too: then nothing is lost.
    assert_eq!(quiet("T001 P1 DB make index").0, "T001|1|DB|DB make index|");
    assert_eq!(quiet("T001 P1 API routes for it").0, "T001|1|API|API routes for it|");
    assert_eq!(quiet("T001 P1 SEO & more").0, "T001|1|-|SEO & more|");
    assert_eq!(quiet("T001 API Routes").0, "T001|-|-|API Routes|", "without a priority it is a word");
}

#[test]
fn k9_k10_text_may_stand_before_behind_and_between_tags() {
    assert_eq!(quiet("T001 P1 ALL Do [agent: x] after lunch").0, "T001|1|ALL|Do|after lunch");
    assert_eq!(quiet("[agent: x] [deps: none] T001 P1 ALL Do it").0, "T001|1|ALL|Do it|");
    assert_eq!(quiet("T001 [agent: x] P1 [deps: none] US-001 Do it").0, "T001|1|US-001|Do it|");
    assert_eq!(quiet("T001 Do [agent: x] it [deps: none] now").0, "T001|-|-|Do it|now");
    assert_eq!(
        quiet("T001 See [Guide: setup](guide.md) [size: S]").0,
        "T001|-|-|See [Guide: setup](guide.md)|"
    );
    assert_eq!(quiet("").0, "-|-|-||");
}

#[test]
fn i1_i7_ids_are_read_in_every_form() {
    let id = |line: &str| {
        let tagged = Tagged::read(line, 0..line.len(), &mut Problems::default());
        let head = Head::read(line, &tagged);
        (head.id.map(|said| said.value).unwrap_or_default(), head.certain)
    };
    for (line, expected) in [
        ("T001 a", "T001"),
        ("T001: a", "T001"),
        ("**T001** a", "T001"),
        ("T001 - a", "T001"),
        ("T0S1 a", "T0S1"),
        ("T0E12 a", "T0E12"),
        ("T012a a", "T012a"),
        ("t001 a", "t001"),
        ("Task 1: a", "1"),
        ("task 1.2 a", "1.2"),
        ("task-001 a", "task-001"),
    ] {
        assert_eq!(id(line), (expected.to_owned(), true), "{line:?}");
    }
    for line in
        ["TTFB under 1s", "Turborepo set up", "Twitter Card", "Title is kept", "Tasks are listed", "T", ""]
    {
        assert_eq!(id(line), (String::new(), false), "c23: {line:?}");
    }
    for line in ["3 retries", "WP02 a", "US-001 works"] {
        assert!(!id(line).1, "{line:?} is a number and no id of this system");
    }
}

#[test]
fn hostile_brackets_take_no_longer_than_their_length() {
    for line in [
        "[a:".repeat(200_000),
        "]".repeat(500_000),
        "[files:a]".repeat(100_000),
        format!("T1 {}", "[".repeat(500_000)),
    ] {
        let tagged = Tagged::read(&line, 0..line.len(), &mut Problems::default());
        assert_eq!(tagged.pieces.len(), tagged.tags.len() + 1);
        assert!(tagged.tags.iter().all(|tag| tag.name != Name::Agent));
    }
}
