//! What real files have that Task Master would not write.

use super::*;
use crate::system::kit::draft::testing::{problems, read_bytes};

fn told(text: &str) -> String {
    problems(read(text).reading())
}

#[test]
fn ids_are_compared_as_text_and_duplicates_stay_apart() {
    let text = with_tasks(
        r#"{"id":"1","title":"A","status":"pending"},
{"id":1,"title":"B","status":"pending","dependencies":["1"]},
{"id":2,"title":"C","status":"pending","dependencies":[1,"1"," 1 "]},
{"title":"No number here","status":"pending"},
{"id":1.5,"title":"D","status":"pending"},
{"id":{},"title":"","status":"pending"}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-master: master
    1 "A"
    1-master "B" after 1
    2 "C" after 1
    no-number-here "No number here"
    1.5 "D"
    task-6 "Task task-6"
    .taskmaster/tasks/tasks.json:2:7: warning: the id `1` was used before (called `1-master` here)
    .taskmaster/tasks/tasks.json:4:1: warning: this task has no id (one is made of its title)
    .taskmaster/tasks/tasks.json:5:7: warning: an id with a fraction loses its last zeros (read as 1.5)
    .taskmaster/tasks/tasks.json:6:7: warning: an id must be a number or text, not an object (an id is made of the title)
    "#);
}

#[test]
fn words_for_a_status_are_understood_however_they_are_written() {
    let words = [
        "pending",
        "To Do",
        "",
        "done",
        "Completed",
        "In Progress",
        "in_progress",
        "review",
        "deferred",
        "blocked",
        "canceled",
        "Cancelled",
        "finsihed",
        "donee",
    ];
    let tasks: Vec<String> = words
        .iter()
        .enumerate()
        .map(|(nth, word)| format!("{{\"id\":{},\"title\":\"{word}\",\"status\":\"{word}\"}}", nth + 1))
        .collect();
    let more = ",\n{\"id\":90,\"title\":\"none\"},\n{\"id\":91,\"title\":\"null\",\"status\":null},\n{\"id\":92,\"title\":\"number\",\"status\":1}";
    insta::assert_snapshot!(seen(&with_tasks(&(tasks.join(",\n") + more))), @r#"
    group 1-master: master
    1 "pending"
    2 "To Do"
    3 "Task 3"
    4 "done" done
    5 "Completed" done
    6 "In Progress" by a person
    7 "in_progress" by a person
    8 "review" by a person
    9 "deferred" by a person
    10 "blocked" by a person
    13 "finsihed" by a person
    14 "donee" by a person
    90 "none"
    91 "null"
    92 "number" by a person
    .taskmaster/tasks/tasks.json:6:17: warning: Piton does not take 6 and 1 more: it is in progress (left to a person)
    .taskmaster/tasks/tasks.json:8:17: warning: Piton does not take 8: it is in review (left to a person)
    .taskmaster/tasks/tasks.json:9:17: warning: Piton does not take 9: it is deferred (left to a person)
    .taskmaster/tasks/tasks.json:10:18: warning: Piton does not take 10: it is blocked (left to a person)
    .taskmaster/tasks/tasks.json:13:38: warning: `finsihed` is not a status of Task Master (Piton does not take this task)
    .taskmaster/tasks/tasks.json:14:35: warning: `donee` is not a status of Task Master (Piton does not take this task; did you mean `done`?)
    .taskmaster/tasks/tasks.json:17:36: warning: a status must be text, not a number (Piton does not take this task)
    "#);
}

#[test]
fn a_task_and_its_subtasks_may_disagree() {
    let text = with_tasks(
        r#"{"id":1,"title":"Done with an open subtask","status":"done","subtasks":[{"id":1,"title":"x"}]},
{"id":2,"title":"All subtasks done","status":"pending","subtasks":[{"id":1,"title":"x","status":"done"},{"id":2,"title":"y","status":"cancelled"}]},
{"id":3,"title":"All subtasks cancelled","status":"pending","subtasks":[{"id":1,"title":"x","status":"cancelled"}]}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-master: master
    1 "Done with an open subtask" done
    2 "All subtasks done" done
    3 "All subtasks cancelled"
    .taskmaster/tasks/tasks.json:1:74: warning: 1 is done, but 1 subtask of it is not (the task counts as done)
    .taskmaster/tasks/tasks.json:2:46: warning: all subtasks of 2 are done (the task counts as done)
    "#);
}

#[test]
fn what_is_waited_for_may_be_gone_or_not_to_be_done() {
    let text = with_tasks(
        r#"{"id":1,"title":"A","status":"pending","dependencies":[16, 1, "2", "3.1"],"subtasks":[{"id":1,"title":"x","dependencies":["9.1","2.1","1"]}]},
{"id":2,"title":"B","status":"cancelled"},
{"id":3,"title":"C","status":"pending","subtasks":[{"id":1,"title":"x","dependencies":["1.1"]}]},
{"id":4,"title":"D","status":"pending","dependencies":"3"}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-master: master
    1 "A" after 3
    3 "C"
    4 "D"
    .taskmaster/tasks/tasks.json:1:76: warning: there is no task `16` (not waited for)
    .taskmaster/tasks/tasks.json:1:83: warning: 1 waits for a task that was dropped (not waited for)
    .taskmaster/tasks/tasks.json:1:143: warning: there is no subtask `9.1` (not waited for)
    .taskmaster/tasks/tasks.json:3:88: warning: 3 and 1 would wait for each other (this subtask does not make its task wait)
    .taskmaster/tasks/tasks.json:4:55: warning: `dependencies` must be a list, not text (ignored)
    "#);
}

#[test]
fn fields_of_other_kinds_are_left_out_with_a_word() {
    let text = with_tasks(
        r#"{"id":1,"title":"A","status":"pending","priority":"urgent","files":["/etc/passwd","src/a.js"],"subtasks":{}},
"a task",
{"id":2,"title":"B","status":"pending","priority":3,"relevantFiles":[{"path":"../x"},{"action":"create"}],"subtasks":["step"]}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-master: master
    1 "A" in src/a.js
    2 "B"
    .taskmaster/tasks/tasks.json:1:71: warning: a priority is critical, high, medium or low (ignored)
    .taskmaster/tasks/tasks.json:1:89: warning: "/etc/passwd" cannot be a file of the project: it is absolute, or leaves the project (left out)
    .taskmaster/tasks/tasks.json:1:126: warning: `subtasks` must be a list, not an object (left out)
    .taskmaster/tasks/tasks.json:2:1: warning: a task must be an object, not text (left out)
    .taskmaster/tasks/tasks.json:3:51: warning: a priority is critical, high, medium or low (ignored)
    .taskmaster/tasks/tasks.json:3:78: warning: "../x" cannot be a file of the project: it is absolute, or leaves the project (left out)
    .taskmaster/tasks/tasks.json:3:119: warning: a subtask must be an object, not text (left out)
    "#);
}

#[test]
fn what_is_not_such_a_file_is_refused_with_what_it_has() {
    insta::assert_snapshot!([
        told("{\"version\": 1, \"items\": []}"),
        told("[]"),
        told("{}"),
        told(""),
        told("{\"master\": {\"tasks\": []}}"),
        told("{\"master\": {\"tasks\": [{\"id\": 1,}]}}"),
        told("{\"master\": {\"tasks\": [{\"id\": 1"),
        told("{\"tasks\": {}}"),
        problems(read_bytes(&TASKMASTER, &[(PLACE, b"\xff\xfe\0")]).reading()),
    ].concat(), @r"
    .taskmaster/tasks/tasks.json:1:1: error: this is not a file of tasks of Task Master (no list `tasks`, nor tags with one; it has `version`, `items`)
    .taskmaster/tasks/tasks.json:1:1: error: this is not a file of tasks of Task Master (it is a list)
    .taskmaster/tasks/tasks.json:1:1: error: this is not a file of tasks of Task Master (it is empty)
    .taskmaster/tasks/tasks.json:1:1: error: the file is empty (there is nothing to read in it)
    .taskmaster/tasks/tasks.json:1:1: error: this plan has no tasks (Piton found nothing here that it could work on)
    .taskmaster/tasks/tasks.json:1:31: error: a comma with nothing after it (reading stopped here)
    .taskmaster/tasks/tasks.json:1:31: error: the file breaks off in the middle (reading stopped here)
    .taskmaster/tasks/tasks.json:1:1: error: this is not a file of tasks of Task Master (no list `tasks`, nor tags with one; it has `tasks`)
    .taskmaster/tasks/tasks.json:1:1: error: this file is UTF-16, but not all of it (save it as UTF-8)
    ");
}

#[test]
fn two_lists_in_one_file_and_names_that_appear_twice() {
    let text = r#"{"tasks":[{"id":1,"title":"Old","status":"pending"}],"master":{"tasks":[{"id":1,"id":2,"title":"New","status":"pending"}]}}"#;
    insta::assert_snapshot!(seen(text), @r#"
    group 1-master: master
    2 "New"
    .taskmaster/tasks/tasks.json:1:81: warning: `id` appears twice (the last one is used)
    "#);
}

#[test]
fn byte_order_marks_and_foreign_line_ends_are_read() {
    let text = format!("\u{feff}{}", SHOP.replace('\n', "\r\n"));
    let (odd, plain) = (read(&text), read(SHOP));
    assert_eq!(odd.reading().plan.hash(), plain.reading().plan.hash());
}
