//! What real files have that the loop's own skill would not write.

use super::*;
use crate::system::kit::draft::testing::problems;

fn told(text: &str) -> String {
    problems(read(text).reading())
}

#[test]
fn priorities_are_numbers_words_or_missing() {
    let text = with_stories(
        r#"{"id":"1","title":"Nothing said","passes":false},
{"id":"2","title":"Low","passes":false,"priority":"low"},
{"id":"3","title":"High","passes":false,"priority":"high"},
{"id":"4","title":"51","passes":false,"priority":51},
{"id":"5","title":"In quotes","passes":false,"priority":"2"},
{"id":"6","title":"Odd","passes":false,"priority":"soon"},
{"id":"7","title":"Twice 1","passes":false,"priority":1},
{"id":"8","title":"Huge","passes":false,"priority":18446744073709551615}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-prd: prd
    3 "High" priority 1
    7 "Twice 1" after 3 priority 1
    5 "In quotes" after 7 priority 2
    2 "Low" after 5 priority 3
    4 "51" after 2 priority 51
    1 "Nothing said" after 4
    6 "Odd" after 1
    8 "Huge" after 6 priority 99
    scripts/ralph/prd.json:6:51: warning: a priority is a number, or high, medium or low (ignored)
    "#);
}

#[test]
fn ids_may_be_missing_or_appear_twice() {
    let text = with_stories(
        r#"{"title":"Keep it","passes":false},
{"id":"US-001","title":"A","passes":false},
{"id":"us-001","title":"B","passes":false,"dependsOn":["US-001"]},
{"id":3,"description":"As a clerk, I want this.\nAnd that.","passes":false},
"a story",
{"id":"","title":"日本","passes":false}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-prd: prd
    keep-it "Keep it"
    US-001 "A"
    us-001-2 "B" after US-001
    3 "As a clerk, I want this."
    story-5 "日本"
    scripts/ralph/prd.json:1:17: warning: this story has no id (called `keep-it` here)
    scripts/ralph/prd.json:3:7: warning: the id `us-001` was used before (called `us-001-2` here)
    scripts/ralph/prd.json:5:1: warning: a story must be an object, not text (left out)
    scripts/ralph/prd.json:6:1: warning: this story has no id (called `story-5` here)
    "#);
}

#[test]
fn a_flag_may_be_missing_or_of_another_kind() {
    let text = with_stories(
        r#"{"id":"1","title":"Missing"},
{"id":"2","title":"Null","passes":null},
{"id":"3","title":"Text","passes":"true"},
{"id":"4","title":"Number","passes":1},
{"id":"5","title":"Done","passes":true}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-prd: prd
    1 "Missing"
    2 "Null" after 1
    3 "Text" done after 2
    4 "Number" after 3
    5 "Done" done after 4
    scripts/ralph/prd.json:3:35: warning: `passes` must be true or false, not text (read as true)
    scripts/ralph/prd.json:4:37: warning: `passes` must be true or false, not a number (read as false)
    "#);
}

#[test]
fn a_list_of_features_is_a_list_of_stories() {
    let text = r#"[{"category":"ui","description":"A page","steps":["Open it","Read it"],"started":true,"complete":true},
{"category":"ui","description":"Another page","steps":[],"started":false,"complete":false}]"#;
    insta::assert_snapshot!(seen(text), @r#"
    group 1-prd: prd
    a-page "A page" done
    another-page "Another page" after a-page
    scripts/ralph/prd.json:1:2: warning: this story has no id (called `a-page` here)
    scripts/ralph/prd.json:2:1: warning: this story has no id (called `another-page` here)
    "#);
    assert!(read(text).reading().plan.tasks[0].prompt.contains("Its steps:\n- Open it\n- Read it"));
}

#[test]
fn what_is_not_such_a_file_is_refused_with_what_it_has() {
    insta::assert_snapshot!([
        told(r#"{"title":"A product","vision":"","goals":[],"personas":[],"userStories":["As a clerk"],"a":1,"b":2,"c":3,"d":4}"#),
        told("{}"),
        told("[]"),
        told("7"),
        told("{\"userStories\": [{\"id\": \"US-001\" \"passes\": false}]}"),
        told(""),
    ].concat(), @r"
    scripts/ralph/prd.json:1:1: error: this prd.json is not a list of user stories (it has `title`, `vision`, `goals`, `personas`, `userStories`, `a`, `b`, `c`, …)
    scripts/ralph/prd.json:1:1: error: this prd.json is not a list of user stories (it is empty)
    scripts/ralph/prd.json:1:1: error: this prd.json is not a list of user stories (it is a list)
    scripts/ralph/prd.json:1:1: error: this prd.json is not a list of user stories (it is a number)
    scripts/ralph/prd.json:1:34: error: a comma is missing here (reading stopped here)
    scripts/ralph/prd.json:1:1: error: the file is empty (there is nothing to read in it)
    ");
}

#[test]
fn a_branch_that_git_would_not_take_is_ignored() {
    let branch = |name: &str| {
        let text = RECEIPTS.replace("ralph/keep-receipts", name);
        (read(&text).branch(), told(&text).contains("git would not take this name"))
    };
    assert_eq!(branch("feature"), (Some("feature".to_owned()), false));
    assert_eq!(branch(""), (None, false));
    for odd in ["-x", "a b", "a..b", "a.lock", "/a", "a/", "HEAD", "a/-b", "a~1", "refs@{1}"] {
        assert_eq!(branch(odd), (None, true), "{odd}");
    }
}

#[test]
fn byte_order_marks_and_foreign_line_ends_are_read() {
    let text = format!("\u{feff}{}", RECEIPTS.replace('\n', "\r\n"));
    let (odd, plain) = (read(&text), read(RECEIPTS));
    assert_eq!(odd.reading().plan.hash(), plain.reading().plan.hash());
}
