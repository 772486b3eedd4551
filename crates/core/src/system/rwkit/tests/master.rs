//! The list of lists.

use super::*;
use crate::system::issue::plan::Word;
use crate::system::rwkit::master::{self, Master, Standing, compare, update};

/// The way the system writes one.
const PLAIN: &str = "# Master TodoList

## Plans & Todolists

| # | Plan File | TodoList File | Status | Progress |
|---|-----------|---------------|--------|----------|
| 1 | 1-1-bird-plan.md | 1-1-bird-todolist.md | completed | 100% |
| 2 | 1-2-pipes-plan.md | 1-2-pipes-todolist.md | pending | 0% |
| 3 | 1-3-score-plan.md | - | no todolist | - |

## Execution Order

1. [x] 1-1-bird-todolist.md
2. [ ] 1-2-pipes-todolist.md
3. [ ] (create todolist first)
";

/// The way people let it grow.
const GROWN: &str = "# Master

| # | Module | Plan File | TodoList File | Status | Est. Effort | Priority |
|---|--------|-----------|---------------|--------|-------------|----------|
| 0 | Setup | 0-setup-plan.md | 0-setup-todolist.md | **completed** | ~14 hours | HIGH |
| 1 | Sign & in | 1-sign-plan.md | 1-sign-todolist.md | **in_progress** | ~3 | - |
| 2 | Maps | 2-maps-plan.md | `plans/2-maps-todolist.md` | Waiting for Bob | | |

## Execution Order (Recommended)

### Phase 1: Foundation

1. [ ] **Module 2: Maps** (2 days)
   - Leaflet
2. [x] **Module 0: Setup** (2 days) ✅
   - `plans/0-setup-todolist.md`
   - 4 tests
3. [ ] **Module 1: Sign in** 🔄
   - `plans/1-sign-plan.md`
4. [ ] **Module 9: Nowhere**

## Definition of Done

- [ ] All modules
";

fn entries(master: &Master) -> Vec<String> {
    let line = |entry: &master::Entry| {
        let list = entry.list.as_ref().map_or("-", |list| list.as_str());
        format!("{list} {:?}{}", entry.status, if entry.is_open() { " open" } else { "" })
    };
    master.entries.iter().map(line).collect()
}

fn problems(text: &str, master: &Master) -> String {
    master.problems.iter().map(|problem| shown(text, problem)).collect()
}

#[test]
fn a_plain_one_is_read_without_a_word() {
    let master = master::read(PLAIN);
    assert_eq!(problems(PLAIN, &master), "");
    assert_eq!(
        entries(&master),
        ["1-1-bird-todolist.md Some(Completed)", "1-2-pipes-todolist.md Some(Pending) open", "- None"]
    );
}

#[test]
fn k15_k16_columns_are_found_by_name_and_boxes_by_number_or_name() {
    let master = master::read(GROWN);
    assert_eq!(
        entries(&master),
        [
            "plans/2-maps-todolist.md Some(Blocked) open",
            "0-setup-todolist.md Some(Completed)",
            "1-sign-todolist.md Some(InProgress) open"
        ],
        "the boxes give the order"
    );
    insta::assert_snapshot!("a_master_list_that_grew", problems(GROWN, &master));
}

#[test]
fn a_row_and_a_box_are_brought_up_to_date_and_nothing_else() {
    let standing = |status, done| Standing { status, done, total: 8 };
    let new =
        update(PLAIN.as_bytes(), "plans/1-2-pipes-todolist.md", standing(Word::InProgress, 3)).expect("text");
    let expected = PLAIN.replace("| pending | 0% |", "| in_progress | 37% |");
    assert_eq!(String::from_utf8(new.clone()).expect("text"), expected);
    let new = update(&new, "1-2-pipes-todolist.md", standing(Word::Completed, 8)).expect("text");
    let expected = PLAIN.replace("| pending | 0% |", "| completed | 100% |").replace("2. [ ]", "2. [x]");
    assert_eq!(String::from_utf8(new).expect("text"), expected);
    let crlf = GROWN.replace('\n', "\r\n");
    let new =
        update(crlf.as_bytes(), "plans/1-sign-todolist.md", standing(Word::Completed, 8)).expect("text");
    let expected = crlf.replace("**in_progress**", "**completed**").replace("3. [ ]", "3. [x]");
    assert_eq!(String::from_utf8(new).expect("text"), expected);
    assert_eq!(update(PLAIN.as_bytes(), "other-todolist.md", standing(Word::Pending, 0)), None);
    let same = update(PLAIN.as_bytes(), "1-1-bird-todolist.md", standing(Word::Completed, 8)).expect("text");
    assert_eq!(String::from_utf8(same).expect("text"), PLAIN, "what is right stays");
}

#[test]
fn progress_is_said_the_way_it_was() {
    let text = "| List | Progress |\n|---|---|\n| a-todolist.md | 0/9 |\n";
    let new =
        update(text.as_bytes(), "a-todolist.md", Standing { status: Word::InProgress, done: 2, total: 9 });
    assert_eq!(String::from_utf8(new.expect("text")).expect("text"), text.replace("0/9", "2/9"));
}

/// Found by the fuzzer: the name of the list was overwritten by its status.
#[test]
fn a_column_with_two_names_is_that_of_the_list() {
    let text = "| TodoList File \\ Status | Progress |\n|---|---|\n| a-todolist.md | 0/9 |\n";
    let new =
        update(text.as_bytes(), "a-todolist.md", Standing { status: Word::Completed, done: 9, total: 9 });
    assert_eq!(String::from_utf8(new.expect("text")).expect("text"), text.replace("0/9", "9/9"));
}

#[test]
fn k17_the_list_decides() {
    let master = master::read(PLAIN);
    let told =
        compare(&master, |list| if list.as_str().contains("bird") { Some((3, 50)) } else { Some((4, 4)) });
    let told: String = told.iter().map(|problem| shown(PLAIN, problem)).collect();
    assert_eq!(
        told,
        "7:49: warning: this says completed, but `1-1-bird-todolist.md` has 47 open (the list decides)\n\
         8:51: warning: this says that there is work left, but `1-2-pipes-todolist.md` is done (the list decides)\n"
    );
    assert_eq!(compare(&master, |_| None), []);
}

#[test]
fn one_that_names_nothing_is_never_complete() {
    for text in ["", "# Master\n", "| Status |\n|---|\n| completed |\n"] {
        let master = master::read(text);
        assert!(
            problems(text, &master).contains("error: the master list does not name any list"),
            "{text:?}"
        );
    }
    let outside = "| TodoList |\n|---|\n| ../../x-todolist.md |\n| b-todolist.md |\n";
    let master = master::read(outside);
    assert_eq!(entries(&master), ["b-todolist.md None open"]);
    assert_eq!(
        problems(outside, &master),
        "3:3: warning: \"../../x-todolist.md\" cannot be a file of the project: it is absolute, or leaves the project (left out)\n"
    );
}
