//! Comments of people on the work of a task.

use piton_core::run::{Action, AgentEnd, Class, Command, Event, Recorded, Status, next};

use crate::bench::{Bench, id, spec, work};

fn send(comments: &[u64]) -> Command {
    Command::SendComments {
        task: id("a"),
        by: "ann".to_owned(),
        comments: comments.to_vec(),
        follow_up: None,
    }
}

fn sent_back(bench: &Bench) -> usize {
    let is = |recorded: &&Recorded| matches!(&recorded.event, Event::Failed { class: Class::SentBack, .. });
    bench.journal.iter().filter(is).count()
}

#[test]
fn work_that_waits_to_land_goes_back_and_does_not_land() {
    for status in [Status::Verifying, Status::Verified] {
        let mut bench = Bench::running(vec![spec("a", &[])]);
        bench.bring("a", status);
        let landing = bench.prepare_landing("a", 7, &["a"]);
        bench.accept(&send(&[7, 8]));
        assert_eq!((bench.task("a").decided, sent_back(&bench)), (Status::Failed, 1));
        assert!(bench.refuse(&landing).stale, "what was found out about the old work does not count");
        assert_eq!(bench.task("a").progress.comments, [7, 8]);
        bench.start("a");
        assert_eq!((bench.task("a").decided, bench.task("a").attempt), (Status::InProgress, 2));
        assert!(!bench.task("a").progress.sent_back, "its agent has them in its prompt");
    }
}

#[test]
fn an_agent_at_work_is_not_interrupted_and_its_work_does_not_land_unread() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::InProgress);
    bench.ready("a", 0, 0);
    bench.accept(&send(&[7]));
    assert_eq!(bench.task("a").decided, Status::InProgress);
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    bench.accept(&bench.captured("a", work(7)));
    assert_eq!((bench.task("a").decided, sent_back(&bench)), (Status::Failed, 1));
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    bench.accept(&bench.captured("a", work(8)));
    assert_eq!(bench.task("a").decided, Status::Verifying, "this one has read them");
}

#[test]
fn comments_are_not_held_against_a_task() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    let budget = bench.task("a").budget;
    for round in 0..u64::from(budget) + 3 {
        bench.bring("a", Status::Verified);
        bench.accept(&send(&[100 + round]));
        assert_eq!(bench.task("a").decided, Status::Failed, "round {round}");
    }
    bench.bring("a", Status::Verified);
}

#[test]
fn checks_that_were_cut_off_do_not_run_again_before_an_agent_has_read_the_comments() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::Verifying);
    bench.accept(&Command::TryFailed {
        action: Action::Check { task: id("a"), fence: bench.task("a").fence },
        class: Class::Stopped,
        reason: "stopped with the run".to_owned(),
        feedback: String::new(),
    });
    assert!(bench.task("a").progress.recheck);
    bench.accept(&send(&[7]));
    bench.start("a");
    assert_eq!(bench.task("a").decided, Status::InProgress);
}

#[test]
fn a_task_that_has_stopped_continues() {
    for status in [Status::Abandoned, Status::Blocked] {
        let mut bench = Bench::running(vec![spec("a", &[])]);
        bench.bring("a", status);
        bench.accept(&send(&[7]));
        assert_eq!(bench.task("a").decided, Status::Failed);
        assert!(!next(&bench.state, bench.now).is_empty(), "it can begin");
    }
}

#[test]
fn the_same_comments_are_sent_once() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::Failed);
    bench.accept(&send(&[7]));
    assert_eq!(bench.decide(&send(&[7])).expect("nothing to do"), []);
    bench.accept(&send(&[7, 8]));
    assert_eq!(bench.task("a").progress.comments, [7, 8]);
}

#[test]
fn comments_on_a_completed_task_are_for_a_task_that_follows_it() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::Merging);
    assert!(bench.refuse(&send(&[7])).reason.contains("is landing now"));
    bench.accept(&bench.landed("a", 7));
    let refusal = bench.refuse(&send(&[7]));
    assert_eq!(refusal.hint.as_deref(), Some("piton review a --send --follow-up NEW-ID"));
    let follow_up = |comments: Vec<u64>| Command::SendComments {
        task: id("a"),
        by: "ann".to_owned(),
        comments,
        follow_up: Some(id("b")),
    };
    bench.accept(&follow_up(vec![7]));
    assert_eq!(bench.task("a").decided, Status::Completed);
    let mut open = Bench::running(vec![spec("a", &[])]);
    open.bring("a", Status::Failed);
    assert!(open.refuse(&follow_up(vec![7])).reason.contains("for its next attempt"));
}
