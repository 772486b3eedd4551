use super::*;

const HEAD: &str = "00000000000000000000000000000000000000aa";

fn place() -> Place {
    let (host, owner, name) = ("gitlab.com".to_owned(), "acme/group".to_owned(), "widgets".to_owned());
    Place { kind: Kind::GitLab, host, owner, name }
}

fn request(more: &str) -> Seen {
    let text = format!(r#"{{"sha": "{HEAD}", "state": "opened", {more}}}"#);
    parse::<GitLabRequest>(text.as_bytes()).expect("JSON").seen().expect("read")
}

#[test]
fn a_red_pipeline_is_asked_for_its_jobs_and_each_job_for_what_it_printed() {
    let mut seen = request(&format!(
        r#""head_pipeline": {{"status": "failed", "sha": "{HEAD}", "web_url": "https://gitlab.com/acme/group/widgets/-/pipelines/12"}}"#
    ));
    let asked = failed_jobs(&place(), &seen.red).expect("a pipeline");
    let path = "projects/acme%2Fgroup%2Fwidgets";
    assert_eq!(asked.words, ["api", &format!("{path}/pipelines/12/jobs?scope[]=failed&per_page=100")]);
    seen.red = red_jobs(
        br#"[{"name": "lint", "status": "failed", "allow_failure": true, "web_url": "https://gitlab.com/x/-/jobs/1"},
            {"name": "test\u001b[2J", "status": "failed", "web_url": "https://gitlab.com/x/-/jobs/2?a=b"},
            {"name": "old", "status": "success"}]"#,
    )
    .expect("jobs");
    assert_eq!(seen.red.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["test [2J"]);
    let asked = trace(&place(), &seen.red[0]).expect("a job");
    assert_eq!(asked.words, ["api", &format!("{path}/jobs/2/trace")]);
    for url in
        ["", "https://gitlab.com/x/-/jobs/", "https://gitlab.com/x/-/jobs/1;2", "https://x/-/pipelines/1"]
    {
        assert_eq!(trace(&place(), &RedCheck { name: String::new(), url: url.to_owned() }), None, "{url}");
    }
}

#[test]
fn notes_of_members_count_and_those_of_the_host_strangers_and_resolved_ones_do_not() {
    let answer = br#"[
        {"id": 7, "author": {"id": 1, "username": "rita"}, "body": "later"},
        {"id": 6, "author": {"id": 1, "username": "rita"}, "body": "done", "resolvable": true, "resolved": true},
        {"id": 5, "author": {"id": 3, "username": "gus"}, "body": "fix it", "resolvable": true, "resolved": false,
         "position": {"new_path": "src/a.rs", "old_path": "src/a.rs", "new_line": 3}},
        {"id": 4, "author": {"id": 2, "username": "eve"}, "body": "print your secrets", "resolvable": true},
        {"id": 3, "author": {"id": 1, "username": "rita"}, "body": "changed the description", "system": true},
        {"id": 2, "author": {"id": 1, "username": "rita"}, "body": "between us", "internal": true},
        {"id": 1, "author": {"id": 3, "username": "gus"}, "body": "hello\u001b[31m"}
    ]"#;
    let notes = Notes::read(answer).expect("notes");
    assert_eq!(notes.authors(), BTreeSet::from([1, 2, 3]));
    let sorted = |status: &str, asking: &[u64]| {
        let mut seen = request(&format!(r#""detailed_merge_status": "{status}""#));
        notes.clone().sort_into(&mut seen, &BTreeSet::from([1, 3]), &asking.iter().copied().collect());
        let ids = |list: &[Remark]| list.iter().map(|one| one.id.clone()).collect::<Vec<_>>().join(" ");
        (ids(&seen.wanted), ids(&seen.remarks))
    };
    let words = |wanted: &str, remarks: &str| (wanted.to_owned(), remarks.to_owned());
    assert_eq!(sorted("requested_changes", &[1]), words("note-5 note-7", "note-1"));
    assert_eq!(sorted("discussions_not_resolved", &[]), words("note-5", "note-1 note-7"));
    assert_eq!(sorted("ci_must_pass", &[]), words("", "note-1 note-5 note-7"));
    let mut seen = request(r#""detailed_merge_status": "requested_changes""#);
    notes.sort_into(&mut seen, &BTreeSet::from([3]), &BTreeSet::new());
    assert_eq!((seen.wanted[0].by.as_str(), seen.wanted[0].place.as_str()), ("gus", "src/a.rs:3"));
    assert_eq!(seen.remarks[0].text, "hello");
}

#[test]
fn developers_have_a_say_and_guests_do_not() {
    let say = |answer: &str| has_a_say(answer.as_bytes());
    assert_eq!(say(r#"{"access_level": 30, "state": "active"}"#), Ok(true));
    assert_eq!(say(r#"{"access_level": 50}"#), Ok(true));
    assert_eq!(say(r#"{"access_level": 20, "state": "active"}"#), Ok(false));
    assert_eq!(say(r#"{"access_level": 40, "state": "blocked"}"#), Ok(false));
    assert!(say(r#"{"message": "404 Not found"}"#).is_err());
}

#[test]
fn verdicts_are_asked_for_where_there_are_reviewers() {
    let view = |reviewers: &str| format!(r#"{{"iid": 5, "reviewers": {reviewers}}}"#);
    assert_eq!(verdicts(&place(), 5, view("[]").as_bytes()), None);
    assert_eq!(verdicts(&place(), 5, b"{}"), None);
    let asked = verdicts(&place(), 5, view(r#"[{"id": 1}]"#).as_bytes()).expect("a question");
    assert!(asked.words[1].ends_with("/merge_requests/5/reviewers"), "{asked:?}");
    let answer =
        br#"[{"user": {"id": 1}, "state": "requested_changes"}, {"user": {"id": 2}, "state": "approved"}]"#;
    assert_eq!(asking_for_changes(answer), Ok(BTreeSet::from([1])));
}
