use super::*;
use crate::plan::Method;
use crate::time::Span;

fn oid(n: u64) -> Oid {
    Oid::new(&format!("{n:040x}")).expect("forty digits")
}

fn at(seconds: u64) -> Timestamp {
    Timestamp(1_800_000_000_000).plus(Span::seconds(seconds))
}

/// Pushed at second 0 as commit 2 on commit 1, and open.
fn open() -> Request {
    let mut request = Request::begin("piton/run/T1".to_owned(), oid(1), oid(2));
    for fact in [
        RequestFact::Pushed { head: oid(2) },
        RequestFact::Opened { number: 5, url: "https://example.org/5".to_owned() },
    ] {
        request = Request::after(Some(request), &fact, at(0)).expect("it is there");
    }
    request
}

fn green() -> Seen {
    Seen { mergeable: Mergeable::Yes, passed: 2, ..Seen::bare(Phase::Open, oid(2)) }
}

fn prepared_again() -> RequestFact {
    let (branch, on) = ("b".to_owned(), Vec::new());
    RequestFact::Prepared { branch, base: oid(1), head: oid(4), tree: oid(5), on }
}

fn by(merge: MergeBy) -> Requests {
    Requests { merge, ..Requests::default() }
}

fn remark(id: &str) -> Remark {
    Remark { id: id.to_owned(), by: "ann".to_owned(), text: "name it".to_owned(), place: "a.rs:3".to_owned() }
}

fn red() -> Seen {
    let red = RedCheck { name: "build".to_owned(), url: "https://ci/1".to_owned() };
    Seen { passed: 1, red: vec![red], ..green() }
}

fn judged(merge: MergeBy, request: &Request, seen: &Seen) -> Judgement {
    judge(&by(merge), request, seen, Some(&oid(1)), at(300))
}

fn is_stuck(judgement: &Judgement) -> bool {
    matches!(judgement, Judgement::Stuck { .. })
}

#[test]
fn a_green_request_is_merged_by_whom_the_settings_name() {
    for (merge, expected) in [
        (MergeBy::Piton, Judgement::Merge),
        (MergeBy::Host, Judgement::Merge),
        (MergeBy::Person, Judgement::Wait),
    ] {
        assert_eq!(judged(merge, &open(), &green()), expected, "{merge:?}");
    }
}

#[test]
fn piton_merges_nothing_that_is_not_green_reviewed_and_on_the_target() {
    let pending = Seen { pending: vec!["build".to_owned()], ..green() };
    let stuck = Seen { stuck: vec!["build".to_owned()], ..green() };
    let needed = Seen { review: Review::Needed, ..green() };
    let blocked = Seen { mergeable: Mergeable::Blocked, ..green() };
    let unknown = Seen { mergeable: Mergeable::Unknown, ..green() };
    let draft = Seen { draft: true, ..green() };
    for seen in [pending, stuck, needed, blocked, unknown, draft] {
        assert_eq!(judged(MergeBy::Piton, &open(), &seen), Judgement::Wait, "{seen:?}");
    }
    let settings = by(MergeBy::Piton);
    assert_eq!(judge(&settings, &open(), &green(), None, at(300)), Judgement::LookAtTarget);
    let moved = judge(&settings, &open(), &green(), Some(&oid(9)), at(300));
    assert!(matches!(moved, Judgement::BringUp { .. }), "{moved:?}");
}

#[test]
fn a_host_without_checks_is_given_time_to_begin_them() {
    let none = Seen { passed: 0, ..green() };
    let settings = by(MergeBy::Piton);
    assert_eq!(judge(&settings, &open(), &none, Some(&oid(1)), at(30)), Judgement::Wait);
    assert_eq!(judge(&settings, &open(), &none, Some(&oid(1)), at(60)), Judgement::Merge);
    // A clock that was set back does not make it wait for ever.
    assert_eq!(judge(&settings, &open(), &none, Some(&oid(1)), Timestamp(0)), Judgement::Merge);
}

#[test]
fn red_checks_are_sent_back_when_all_have_ended_and_so_often_at_most() {
    let early = Seen { pending: vec!["test".to_owned()], ..red() };
    assert_eq!(judged(MergeBy::Piton, &open(), &early), Judgement::Wait);
    let Judgement::SendBack { reason, feedback, .. } = judged(MergeBy::Person, &open(), &red()) else {
        panic!("it goes back")
    };
    assert_eq!(reason, "checks of #5 are red on the host: build");
    assert!(feedback.contains("https://ci/1"), "{feedback}");
    let tired = Request { rounds: 3, ..open() };
    assert!(is_stuck(&judged(MergeBy::Piton, &tired, &red())));
}

#[test]
fn what_is_red_on_the_target_too_is_not_sent_back_and_not_merged() {
    let excused = Seen { red_on_target: vec!["build".to_owned()], ..red() };
    for merge in MergeBy::ALL.map(|(_, merge)| merge) {
        assert_eq!(judged(merge, &open(), &excused), Judgement::Wait);
        let reviewed = Seen { wanted: vec![remark("r1")], ..excused.clone() };
        assert!(matches!(judged(merge, &open(), &reviewed), Judgement::SendBack { .. }));
        let waited = Request { seen: Some(Box::new(excused.clone())), ..open() };
        assert!(matches!(judged(merge, &waited, &red()), Judgement::BringUp { .. }));
        assert_eq!(judged(merge, &waited, &excused), Judgement::Wait);
    }
}

#[test]
fn a_review_is_delivered_once() {
    let wanted = Seen { review: Review::ChangesWanted, wanted: vec![remark("r1")], ..green() };
    let Judgement::SendBack { feedback, remarks, .. } = judged(MergeBy::Piton, &open(), &wanted) else {
        panic!("it goes back")
    };
    assert!(feedback.contains("ann wrote on a.rs:3:\nname it"), "{feedback}");
    let fact = RequestFact::SentBack { remarks };
    let delivered = Request::after(Some(open()), &fact, at(1)).expect("it is there");
    assert_eq!((delivered.rounds, judged(MergeBy::Piton, &delivered, &wanted)), (1, Judgement::Wait));
    let again = Seen { wanted: vec![remark("r1"), remark("r2")], ..wanted };
    assert!(matches!(judged(MergeBy::Piton, &delivered, &again), Judgement::SendBack { .. }));
}

#[test]
fn landed_is_what_the_host_says_about_a_commit_of_ours() {
    let merged = |head| Seen { phase: Phase::Merged { commit: Some(oid(7)) }, head: oid(head), ..green() };
    for merge in MergeBy::ALL.map(|(_, merge)| merge) {
        assert_eq!(judged(merge, &open(), &merged(2)), Judgement::Landed { commit: oid(7) });
        assert!(is_stuck(&judged(merge, &open(), &merged(3))));
        let unnamed = Seen { phase: Phase::Merged { commit: None }, ..green() };
        assert_eq!(judged(merge, &open(), &unnamed), Judgement::Wait);
        let closed = Seen { phase: Phase::Closed, ..green() };
        assert!(is_stuck(&judged(merge, &open(), &closed)));
    }
}

#[test]
fn a_head_of_somebody_else_stops_and_an_old_one_of_ours_waits() {
    let foreign = Seen { head: oid(8), ..green() };
    assert!(is_stuck(&judged(MergeBy::Piton, &open(), &foreign)));
    let renewed = Request { head: oid(4), heads: vec![oid(2), oid(4)], ..open() };
    assert_eq!(judged(MergeBy::Piton, &renewed, &green()), Judgement::Wait);
}

#[test]
fn a_conflict_is_brought_up_only_when_the_target_has_moved() {
    let conflict = Seen { mergeable: Mergeable::Conflict, ..green() };
    for merge in MergeBy::ALL.map(|(_, merge)| merge) {
        assert_eq!(judged(merge, &open(), &conflict), Judgement::Wait);
        let moved = judge(&by(merge), &open(), &conflict, Some(&oid(9)), at(300));
        assert!(matches!(moved, Judgement::BringUp { .. }), "{moved:?}");
    }
}

#[test]
fn a_rejected_merge_is_asked_for_again_a_few_times() {
    let reject = |request| {
        let fact = RequestFact::MergeRefused { head: oid(2), reason: "not now".to_owned() };
        Request::after(Some(request), &fact, at(1)).expect("it is there")
    };
    let mut request = open();
    for _ in 0..3 {
        assert_eq!(judged(MergeBy::Piton, &request, &green()), Judgement::Merge);
        request = reject(request);
        assert!(request.words().contains("not now"), "{}", request.words());
    }
    assert_eq!(judged(MergeBy::Piton, &request, &green()), Judgement::Wait, "three times are enough");
    let next = Request::after(Some(request), &prepared_again(), at(2)).expect("it is there");
    assert_eq!((next.refusals, next.refused), (0, None), "another commit is another question");
}

#[test]
fn a_push_replaces_nothing_but_what_piton_pushed() {
    let request = Request { head: oid(4), heads: vec![oid(2), oid(4)], ..open() };
    assert_eq!(push(&request, None), Push::Needed { expected: None });
    assert_eq!(push(&request, Some(&oid(4))), Push::Done);
    assert_eq!(push(&request, Some(&oid(2))), Push::Needed { expected: Some(oid(2)) });
    assert_eq!(push(&request, Some(&oid(3))), Push::Foreign { at: oid(3) });
}

#[test]
fn a_request_that_was_merged_is_not_used_again() {
    let merged = Seen { phase: Phase::Merged { commit: Some(oid(7)) }, ..green() };
    let fact = RequestFact::Seen { seen: Box::new(merged) };
    let over = Request::after(Some(open()), &fact, at(1)).expect("it is there");
    let next = Request::after(Some(over), &prepared_again(), at(2)).expect("it is there");
    assert_eq!((next.opened, next.step), (None, Step::Push));
    let next = Request::after(Some(open()), &prepared_again(), at(2)).expect("it is there");
    assert!(next.opened.is_some());
}

#[test]
fn settings_and_facts_survive_the_journal() {
    let settings = Requests { method: Method::Squash, labels: vec!["piton".to_owned()], ..by(MergeBy::Host) };
    let text = serde_json::to_string(&settings).expect("JSON");
    assert_eq!(serde_json::from_str::<Requests>(&text).expect("settings"), settings);
    let event = crate::run::Event::Request {
        task: TaskId::new("T1").expect("an id"),
        fence: 3,
        fact: RequestFact::Seen { seen: Box::new(red()) },
    };
    let text = serde_json::to_string(&event).expect("JSON");
    assert!(text.starts_with(r#"{"event":"request","task":"T1","fence":3,"fact":"seen","seen":{"#), "{text}");
    assert_eq!(serde_json::from_str::<crate::run::Event>(&text).expect("an event"), event);
}
