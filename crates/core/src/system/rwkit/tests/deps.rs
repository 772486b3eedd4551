//! What tasks say they wait for.

use super::*;

/// Tasks with these dependencies, the first ones without any.
fn list(count: usize, last: &str) -> String {
    let plain = (1..=count)
        .map(|nth| format!("- [ ] T{nth:03} P1 US-001 a [deps: none] [files: f{nth}] [size: S]\n"));
    plain.collect::<String>() + &format!("- [ ] T099 P1 US-002 b [deps: {last}] [files: z] [size: S]\n")
}

/// What the last task of such a list waits for, and what is told.
fn last(count: usize, deps: &str) -> (String, String) {
    let read = reading(&list(count, deps));
    (format!("{:?}", by_id(&read, "T099").depends_on), told(&read))
}

fn quiet(count: usize, deps: &str) -> String {
    let (needs, told) = last(count, deps);
    assert_eq!(told, "", "{deps:?}");
    needs
}

#[test]
fn i9_a_range_is_every_task_in_it() {
    for range in ["T002-T004", "T002–T004", "T002 - T004", "T002-004", "T002..T004", "T002 to T004", "T002-4"]
    {
        let (needs, told) = last(5, range);
        let expected = if range == "T002-4" { "[]" } else { "[T002, T003, T004]" };
        assert_eq!(needs, expected, "{range:?} {told}");
    }
    assert_eq!(quiet(5, "T001, T003-T004 and T005"), "[T001, T003, T004, T005]");
    let gaps = "- [ ] T001 a [files: a] [size: S]\n- [ ] T008 a [files: b] [size: S]\n- [ ] T010 a [deps: T001-T008] [files: c] [size: S]\n";
    assert_eq!(needs(&reading(gaps))[2], "T010 < [T001, T008]", "i3: gaps are no ends");
    assert_eq!(
        needs(&reading(&gaps.replace("T001", "T000")))[2],
        "T010 < [T000, T008]",
        "i2: some count from 0"
    );
}

#[test]
fn i9_a_range_without_one_of_its_ends_is_refused() {
    assert_eq!(
        last(3, "T002-T007").1,
        "4:31: error: `T099` waits for `T002-T007`, some of which does not exist (`T007` does not exist)\n"
    );
    assert_eq!(
        last(3, "T003-T001").1,
        "4:31: error: `T099` waits for `T003-T001`, some of which does not exist (`T001` comes before `T003`)\n"
    );
}

#[test]
fn i10_a_story_stands_for_its_tasks_and_other_words_are_told() {
    for words in ["All US-001 tasks", "all tasks of US-001", "US-001", "us-001 tasks"] {
        assert_eq!(quiet(2, words), "[T001, T002]", "{words:?}");
    }
    let text = "- [ ] T001 P1 DB Make it [files: a] [size: S]\n- [ ] T002 P1 ALL Test it [deps: DB tasks] [files: b] [size: S]\n";
    assert_eq!(needs(&reading(text))[1], "T002 < [T001]", "a pseudo-story is one");
    let expected =
        "3:31: warning: `T099` waits for \"service tasks\", which is not a task (not waited for)\n";
    assert_eq!(last(2, "service tasks"), ("[]".to_owned(), expected.to_owned()));
    let strict = reading_with(&folder(&[(LIST, &list(2, "service tasks"))]), &profiles(), Strictness::Strict);
    assert!(!strict.reading.is_usable());
    assert_eq!(
        last(2, "T001 when it is ready"),
        ("[T001]".to_owned(), "3:31: warning: `T099` waits for \"T001 when it is ready\", which is not a task (only `T001` is waited for)\n".to_owned())
    );
    assert_eq!(quiet(2, "T001 (the table)"), "[T001]");
    assert_eq!(
        last(2, "All US-009 tasks").1,
        "3:31: error: `T099` waits for `US-009`, which does not exist (no task has this id)\n"
    );
}

#[test]
fn i10_those_who_wait_for_a_whole_story_do_not_wait_for_each_other() {
    let text = "- [ ] T001 P1 US-001 a [files: a] [size: S]
- [ ] T0E1 P1 US-001 b [deps: All US-001 tasks] [files: b] [size: S]
- [ ] T0E2 P1 US-001 c [deps: All US-001 tasks] [files: c] [size: S]
- [ ] T002 P1 US-001 d [deps: T0E1] [files: d] [size: S]
";
    let read = reading(text);
    assert_eq!(told(&read), "");
    assert_eq!(needs(&read), ["T001 < []", "T0E1 < [T001]", "T0E2 < [T001, T002]", "T002 < [T0E1]"]);
}

#[test]
fn i11_i12_nothing_has_many_words_and_lists_have_many_separators() {
    for none in ["none", "None", "NONE", "-", "–", "", " ", "n/a", "`none`"] {
        assert_eq!(quiet(2, none), "[]", "{none:?}");
    }
    for both in [
        "T001, T002",
        "T001,T002",
        "T001; T002",
        "T001 and T002",
        "T001 AND T002",
        "T001 & T002",
        "T001 T002",
        "T001, and T002",
    ] {
        let (needs, _) = last(2, both);
        assert_eq!(needs, "[T001, T002]", "{both:?}");
    }
}

#[test]
fn i8_case_drifts_and_width_does_not() {
    assert_eq!(
        last(2, "t001"),
        (
            "[T001]".to_owned(),
            "3:31: warning: `t001` is written `T001` elsewhere (read as the same)\n".to_owned()
        )
    );
    assert_eq!(
        last(2, "T1"),
        (
            "[]".to_owned(),
            "3:31: error: `T099` waits for `T1`, which does not exist (did you mean `T001`?)\n".to_owned()
        )
    );
}

#[test]
fn i13_an_unknown_id_is_refused_with_the_nearest() {
    assert_eq!(
        last(2, "T003").1,
        "3:31: error: `T099` waits for `T003`, which does not exist (did you mean `T001`?)\n"
    );
    assert_eq!(
        last(2, "T002, X-99999").1,
        "3:37: error: `T099` waits for `X-99999`, which does not exist (no task has this id)\n"
    );
}

#[test]
fn i14_a_task_does_not_wait_for_itself_nor_in_a_circle() {
    assert_eq!(last(1, "T099").1, "2:31: error: `T099` waits for itself (remove this)\n");
    assert_eq!(
        last(1, "T001-T099").1,
        "2:31: error: `T099` waits for itself (remove this)\n",
        "nor by a range that it stands in"
    );
    let text = "- [ ] T001 a [deps: T003] [files: a] [size: S]\n- [ ] T002 b [deps: T001] [files: b] [size: S]\n- [ ] T003 c [deps: T009, T002] [files: c] [size: S]\n- [ ] T009 c [files: d] [size: S]\n";
    let read = reading(text);
    assert_eq!(
        told(&read),
        "1:21: error: these tasks wait for each other: T001 → T003 → T002 → T001 (`T001` waits for `T003`)\n"
    );
    assert_eq!(tasks(&read).len(), 4, "no task is lost");
}

#[test]
fn i4_an_id_that_is_there_twice_is_kept_twice_and_cannot_be_waited_for() {
    let text = "- [ ] T009 a [files: a] [size: S]\n- [ ] T009 b [files: b] [size: S]\n- [ ] T010 c [deps: T009] [files: c] [size: S]\n";
    let read = reading(text);
    assert_eq!(tasks(&read), ["T009 a", "T009@L2 b", "T010 c"]);
    assert_eq!(
        told(&read),
        "2:7: warning: the id `T009` is used twice, in line 1 and line 2 (called `T009@L2` here)\n\
         3:21: error: `T010` waits for `T009`, which is the id of several tasks (give each of them an id of its own)\n"
    );
}

#[test]
fn tasks_of_the_other_form_are_waited_for_by_their_numbers() {
    let text = "## Tasks with Dependencies\n### Root Tasks (No Dependencies)\n- [ ] Task 1: Make it [agent: backend-architect] [deps: none]\n### Dependent Tasks\n- [ ] Task 2: Show it [agent: frontend-developer] [deps: Task 1]\n- [ ] Task 3: Test it [deps: Task 1, Task 2]\n- [ ] Task 4: All [deps: Task 1-3]\n- [ ] Task 5: x [deps: Task 1 and Task 4]\n";
    let read = reading(text);
    assert_eq!(needs(&read), ["1 < []", "2 < [1]", "3 < [1, 2]", "4 < [1, 2, 3]", "5 < [1, 4]"]);
    assert_eq!(
        told(&read),
        "3:12: warning: no files are named by 5 tasks, so nothing proves that work was done (Piton trusts what agents report)\n"
    );
}

#[test]
fn what_is_crossed_out_is_not_waited_for() {
    let text = "- [ ] ~~T001 a~~\n- [ ] T002 b [deps: T001] [files: b] [size: S]\n";
    let read = reading(text);
    assert_eq!(tasks(&read), ["T002 b"]);
    assert_eq!(
        told(&read),
        "1:9: warning: this item is crossed out (dropped: it is neither done nor open)\n\
         2:21: warning: `T002` waits for `T001`, which is crossed out (not waited for)\n"
    );
}

/// The list with others beside it, each a path and its lines.
fn beside(text: &str, others: &[(&str, &str)]) -> RwkitReading {
    let (config, others) = (profiles(), folder(others));
    let given = Given { others: &others, ..Given::new(LIST, LIST, &config) };
    read(&folder(&[(LIST, text)]), &given)
}

fn outside(read: &RwkitReading, id: &str) -> Vec<String> {
    by_id(read, id).outside.iter().map(ToString::to_string).collect()
}

const AUTH: (&str, &str) = (
    "plans/1-2-auth-todolist.md",
    "- [x] T090 P1 US-009 a [files: a] [size: S]\n- [ ] T091 P1 US-009 b [files: b] [size: S]\n",
);
const MAPS: (&str, &str) = (
    "plans/1-3-maps-todolist.md",
    "- [ ] T001 P1 US-004 m [files: m] [size: S]\n- [ ] T095 P1 US-004 n [files: n] [size: S]\n",
);

#[test]
fn ids_of_the_other_lists_of_a_master_are_waited_for() {
    for (deps, expected) in [
        ("T090", vec!["T090 of plans/1-2-auth-todolist.md"]),
        ("T001, T091", vec!["T091 of plans/1-2-auth-todolist.md"]),
        ("t095", vec!["T095 of plans/1-3-maps-todolist.md"]),
        ("1-3-maps:T001", vec!["T001 of plans/1-3-maps-todolist.md"]),
        (
            "All US-009 tasks",
            vec!["T090 of plans/1-2-auth-todolist.md", "T091 of plans/1-2-auth-todolist.md"],
        ),
        ("T002-T091", vec!["T090 of plans/1-2-auth-todolist.md", "T091 of plans/1-2-auth-todolist.md"]),
    ] {
        let read = beside(&list(3, deps), &[AUTH, MAPS]);
        assert_eq!(told(&read), "", "{deps}");
        assert_eq!(outside(&read, "T099"), expected, "{deps}");
    }
    // The list's own come first, and they only.
    let read = beside(&list(3, "T001"), &[AUTH, MAPS]);
    assert_eq!((needs(&read)[3].as_str(), outside(&read, "T099").len()), ("T099 < [T001]", 0));
}

#[test]
fn an_id_that_no_list_has_or_several_have_is_refused() {
    let read = beside(&list(3, "T077"), &[AUTH, MAPS]);
    assert!(told(&read).contains("error: `T099` waits for `T077`, which does not exist"), "{}", told(&read));
    let twice = ("plans/1-4-tax-todolist.md", AUTH.1);
    let read = beside(&list(3, "T090"), &[AUTH, twice]);
    assert!(
        told(&read).contains("error: `T099` waits for `T090`, which is the name of several tasks (in plans/1-2-auth-todolist.md and plans/1-4-tax-todolist.md)"),
        "{}",
        told(&read)
    );
}
