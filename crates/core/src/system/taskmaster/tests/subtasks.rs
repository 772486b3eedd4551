//! Subtasks that are tasks of their own.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::plan::TaskId;
use crate::system::config::{Config, Subtasks};
use crate::system::kit::outline::Word;
use crate::system::taskmaster::write::{stamped, tick, ticked};
use crate::system::{Folder, Given, config};
use crate::time::Timestamp;

fn config() -> Config {
    config::read_config("[policy]\nsubtasks = \"tasks\"\n[defaults]\nchecks = [\"true\"]\n").0
}

fn split(text: &str) -> Box<dyn ReadPlan> {
    let config = config();
    assert_eq!(config.policy.subtasks, Some(Subtasks::Tasks));
    let files = BTreeMap::from([(PLACE.to_owned(), text.as_bytes().to_vec())]);
    TASKMASTER.read(&Folder { files }, &Given::new("tasks.json", PLACE, &config))
}

fn seen(text: &str) -> String {
    shown(split(text).reading())
}

fn ticked_off(text: &str, of: &[(&str, Word)]) -> String {
    let stand = of.iter().map(|(name, word)| (TaskId::new(name).expect("an id"), *word)).collect();
    let ticked = tick(text.as_bytes(), &stand).expect("JSON");
    assert_eq!(ticked.missing, &[], "every task is in the file");
    String::from_utf8(ticked.bytes).expect("text")
}

#[test]
fn each_subtask_is_a_task_that_takes_from_its_own_task_what_it_lacks() {
    insta::assert_snapshot!(seen(SHOP), @r#"
    group 1-master: master
    1 "Set up the project" done priority 30 so that "`npm test` runs."
    2.1 "Read a line" done after 1 in src/receipts.js, docs/receipts.md priority 10
    2.2 "Write a line" after 2.1 in src/receipts.js, docs/receipts.md priority 10 so that "Read it back."
    3.1 "Use the reader" after 1, 2.1
    4 "Design a logo" by a person priority 70
    .taskmaster/tasks/tasks.json:3:14: warning: 2 open tasks of the tag `print` are not read (the tag `master` is the current one)
    .taskmaster/tasks/tasks.json:45:18: warning: Piton does not take 4: it is in progress (left to a person)
    "#);
}

#[test]
fn an_agent_gets_the_words_of_the_subtask_and_what_the_whole_task_is_about() {
    let reading = split(SHOP);
    insta::assert_snapshot!(reading.reading().plan.tasks[2].prompt, @r"
    Write a line

    At the end of the file.

    This is a subtask of task 2 of the list, Keep receipts. Its other subtasks are tasks of their own.

    About the whole task:

    A receipt has a day, a shop and an amount.

    This is task 2.2 of .taskmaster/tasks/tasks.json. Do only this task, and do not change that file: Piton does when the task is completed.
    ");
}

#[test]
fn a_task_is_waited_for_by_waiting_for_its_last_subtasks() {
    let text = with_tasks(
        r#"{"id":1,"title":"A","status":"pending","subtasks":[{"id":1,"title":"a"},{"id":2,"title":"b","dependencies":[1]},{"id":3,"title":"c","dependencies":["1.1"]},{"id":4,"title":"d","status":"cancelled","dependencies":[2]}]},
        {"id":2,"title":"B","status":"pending","dependencies":[1],"subtasks":[{"id":1,"title":"a"},{"id":2,"title":"b","dependencies":[1]}]},
        {"id":3,"title":"C","status":"pending","dependencies":["2.1", 2],"subtasks":[]},
        {"id":4,"title":"D","status":"pending","dependencies":[],"subtasks":[{"id":1,"title":"a","dependencies":["2.2"]},{"id":2,"title":"b","dependencies":["3"]},{"id":3,"title":"c","dependencies":["3.1"]}]}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-master: master
    1.1 "a"
    1.2 "b" after 1.1
    1.3 "c" after 1.1
    2.1 "a" after 1.2, 1.3
    2.2 "b" after 2.1
    3 "C" after 2.1, 2.2
    4.1 "a" after 2.2
    4.2 "b" after 4.3
    4.3 "c" after 3
    "#);
}

#[test]
fn a_subtask_does_not_wait_where_two_would_wait_for_each_other() {
    let text = with_tasks(
        r#"{"id":1,"title":"A","subtasks":[{"id":1,"title":"a","dependencies":["2.1"]}]},{"id":2,"title":"B","dependencies":[1],"subtasks":[{"id":1,"title":"a"}]}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-master: master
    1.1 "a"
    2.1 "a" after 1.1
    .taskmaster/tasks/tasks.json:1:89: warning: 1.1 and 2.1 would wait for each other (this dependency does not make it wait)
    "#);
    let text = with_tasks(
        r#"{"id":1,"title":"A","subtasks":[{"id":1,"title":"a","dependencies":[2]},{"id":2,"title":"b","dependencies":[1]}]}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-master: master
    1.1 "a" after 1.2
    1.2 "b"
    .taskmaster/tasks/tasks.json:1:129: error: 1.2 and 1.1 wait for each other (remove one of the dependencies)
    "#);
}

#[test]
fn the_status_of_a_task_counts_for_its_subtasks() {
    let text = with_tasks(
        r#"{"id":1,"title":"A","status":"done","subtasks":[{"id":1,"title":"a","status":"pending"},{"id":2,"title":"b","status":"cancelled"}]},
        {"id":2,"title":"B","status":"in-progress","subtasks":[{"id":1,"title":"a","status":"done"},{"id":2,"title":"b"},{"id":3,"title":"c","status":"in-progress"}]},
        {"id":3,"title":"C","status":"deferred","subtasks":[{"id":1,"title":"a"},{"id":2,"title":"b","status":"done"}]},
        {"id":4,"title":"D","status":"cancelled","subtasks":[{"id":1,"title":"a"}]},
        {"id":5,"title":"E","status":"pending","subtasks":[{"id":1,"title":"a","status":"cancelled"}]},
        {"id":6,"title":"F","status":"pending","subtasks":[{"id":1,"title":"a","status":"done"}]}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-master: master
    1.1 "a" done
    2.1 "a" done
    2.2 "b"
    2.3 "c" by a person
    3.1 "a" by a person
    3.2 "b" done
    5 "E"
    6.1 "a" done
    .taskmaster/tasks/tasks.json:1:50: warning: 1 is done, but 1 subtask of it is not (they count as done)
    .taskmaster/tasks/tasks.json:2:138: warning: Piton does not take 2.3: it is in progress (left to a person)
    .taskmaster/tasks/tasks.json:3:77: warning: Piton does not take 3.1: it is deferred (left to a person)
    "#);
}

#[test]
fn odd_subtasks_are_named_by_their_places() {
    let text = with_tasks(
        r#"{"id":1,"title":"A","subtasks":[{"title":"a"},{"id":[],"title":"b"},{"id":1,"title":"c"},"x"]},{"title":"No id","subtasks":[{"id":1,"title":"a"}]},{"id":"1.1","title":"Same"},{"id":7,"title":"F","dependencies":["1.9","7.1"],"subtasks":[{"id":1,"title":"a","dependencies":[9,"1"]}]}"#,
    );
    insta::assert_snapshot!(seen(&text), @r#"
    group 1-master: master
    1.1-master "a"
    1.2 "b"
    1.1-2 "c"
    no-id.1 "a"
    1.1 "Same"
    7.1 "a"
    .taskmaster/tasks/tasks.json:1:53: warning: this task has no id (one is made of its place)
    .taskmaster/tasks/tasks.json:1:73: warning: an id must be a number or text, not a list (an id is made of the place)
    .taskmaster/tasks/tasks.json:1:95: warning: the id `1.1` was used before (called `1.1-2` here)
    .taskmaster/tasks/tasks.json:1:110: warning: a subtask must be an object, not text (left out)
    .taskmaster/tasks/tasks.json:1:116: warning: this task has no id (one is made of its title)
    .taskmaster/tasks/tasks.json:1:232: warning: there is no task `1.9` (not waited for)
    .taskmaster/tasks/tasks.json:1:293: warning: there is no subtask `7.9` (not waited for)
    "#);
}

#[test]
fn a_task_is_done_with_the_last_of_its_subtasks() {
    let done = Word::Completed;
    let one = ticked_off(SHOP, &[("2.1", done), ("2.2", Word::Pending)]);
    assert_eq!(one, SHOP);
    let all = ticked_off(SHOP, &[("1", done), ("2.1", done), ("2.2", done), ("3.1", Word::InProgress)]);
    let changed: Vec<&str> = all.lines().filter(|line| !SHOP.contains(*line)).map(str::trim).collect();
    insta::assert_snapshot!(changed.join("\n"), @r#"{"status": "done","id": 2, "title": "Write a line", "description": "At the end of the file.", "details": "", "testStrategy": "Read it back.", "dependencies": [1]},"#);
    let of_two = |text: &str| text.lines().filter(|line| line.trim() == "\"status\": \"done\",").count();
    assert_eq!((of_two(SHOP), of_two(&all)), (1, 2), "task 2 is done with its subtasks");
    let open = ticked_off(&all, &[("2.1", done), ("2.2", Word::Pending)]);
    assert_eq!(of_two(&open), 1, "task 2 is open again with one of them");
    assert!(open.contains(r#"{"status": "pending","id": 2, "title": "Write a line""#));
}

#[test]
fn a_subtask_that_is_still_checked_does_not_make_its_task_done() {
    let text = with_tasks(
        r#"{"id":1,"status":"pending","subtasks":[{"id":1,"status":"done"},{"id":2,"status":"pending"}]}"#,
    );
    let now = ticked_off(&text, &[("1.2", Word::Completed)]);
    assert_eq!(now.matches("done").count(), 2);
    assert!(now.contains(r#""id":1,"status":"pending""#), "{now}");
}

#[test]
fn a_task_that_is_called_done_claims_its_subtasks_and_is_open_again_without_them() {
    let text = with_tasks(
        r#"{"id":1,"status":"done","subtasks":[{"id":1,"status":"pending"},{"id":2,"status":"done"},{"id":3,"status":"cancelled"}]}"#,
    );
    let claimed: Vec<String> = ticked(text.as_bytes()).into_keys().map(|id| id.to_string()).collect();
    assert_eq!(claimed, ["1", "1.1", "1.2"]);
    let now = ticked_off(&text, &[("1.1", Word::Pending), ("1.2", Word::Completed)]);
    assert_eq!(now, text.replacen("done", "pending", 1));
    let claimed: Vec<String> = ticked(now.as_bytes()).into_keys().map(|id| id.to_string()).collect();
    assert_eq!(claimed, ["1.2"]);
}

#[test]
fn what_a_person_left_for_later_stays_when_its_subtasks_are_done() {
    for word in ["deferred", "blocked", "cancelled"] {
        let text = with_tasks(&format!(
            r#"{{"id":1,"status":"{word}","subtasks":[{{"id":1,"status":"pending"}}]}}"#
        ));
        let stand = BTreeMap::from([(TaskId::new("1.1").expect("an id"), Word::Completed)]);
        let now = String::from_utf8(tick(text.as_bytes(), &stand).expect("JSON").bytes).expect("text");
        assert!(now.contains(&format!(r#""id":1,"status":"{word}""#)), "{now}");
    }
}

#[test]
fn times_of_subtasks_are_those_of_their_own_work() {
    let text = with_tasks(
        r#"{"id":1,"status":"pending","updatedAt":"x","subtasks":[{"id":1,"status":"pending","updatedAt":"y"},{"id":2,"status":"done","updatedAt":"z"}]}"#,
    );
    let now = ticked_off(&text, &[("1.1", Word::Completed), ("1.2", Word::Completed)]);
    let when = |id: &TaskId| (id.as_str() == "1.1").then_some(Timestamp(1_767_225_600_123));
    let stamped =
        stamped(text.as_bytes(), now.as_bytes(), &when, Timestamp(1_767_225_600_999)).expect("JSON");
    let wanted =
        now.replace("\"x\"", "\"2026-01-01T00:00:00.999Z\"").replace("\"y\"", "\"2026-01-01T00:00:00.123Z\"");
    assert_eq!(String::from_utf8(stamped).expect("text"), wanted);
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(text in super::properties::files(), picks in prop::collection::vec(any::<bool>(), 24)) {
        let reading = split(&text);
        let reading = reading.reading();
        let stand: BTreeMap<TaskId, Word> = reading
            .plan
            .tasks
            .iter()
            .zip(picks)
            .map(|(task, is_done)| (task.id.clone(), if is_done { Word::Completed } else { Word::Pending }))
            .collect();
        prop_assume!(reading.plan.tasks.len() <= 24);
        let once = tick(text.as_bytes(), &stand).expect("JSON");
        let again = tick(&once.bytes, &stand).expect("JSON");
        prop_assert_eq!(&again.bytes, &once.bytes, "once is enough");
        let now = ticked(&once.bytes);
        let is_alone = |id: &TaskId| !once.missing.contains(id) && reading.plan.tasks.iter().filter(|task| task.id == *id).count() == 1;
        let read = split(std::str::from_utf8(&once.bytes).expect("text"));
        for (id, word) in stand.iter().filter(|(id, _)| is_alone(id)) {
            prop_assert_eq!(read.reading().before[id].done, *word == Word::Completed, "{}", id);
            prop_assert!(!now.contains_key(id) || *word == Word::Completed, "{} is not done", id);
        }
    }
}
