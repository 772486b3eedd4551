//! The scripted host does what the real ones do: pushes reach it, merges happen in its repository, and nothing is forgotten.

#![cfg(unix)]

use std::process::{Command, Stdio};

use piton_testkit::hosts::{CheckResult, Issue, Method, Phase, ScriptedHost, Trouble};
use piton_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

struct Scene {
    sandbox: Sandbox,
    host: ScriptedHost,
    program: &'static str,
}

struct Answer {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Scene {
    fn github() -> Scene {
        let sandbox = Sandbox::new("no binary");
        let host = ScriptedHost::github(&sandbox);
        Scene { sandbox, host, program: "gh" }
    }

    fn gitlab() -> Scene {
        let sandbox = Sandbox::new("no binary");
        let host = ScriptedHost::gitlab(&sandbox);
        Scene { sandbox, host, program: "glab" }
    }

    /// Words are separated by spaces; `~` is a space in a word.
    fn call(&self, line: &str) -> Answer {
        let words = line.split_whitespace().map(|word| word.replace('~', " "));
        let mut command = Command::new(self.host.bin().join(self.program));
        command.args(words).env_remove("GH_REPO").stdin(Stdio::null());
        let output = command.output().expect("it was set up");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Answer {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    #[track_caller]
    fn fine(&self, line: &str) -> String {
        let answer = self.call(line);
        assert_eq!(answer.code, 0, "{line}: {}", answer.stderr);
        answer.stdout
    }

    #[track_caller]
    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.fine(line)).expect("JSON")
    }

    #[track_caller]
    fn refused(&self, line: &str) -> String {
        let answer = self.call(line);
        assert_ne!(answer.code, 0, "{line}: {}", answer.stdout);
        answer.stderr
    }

    /// Push a branch with these files, each in a commit. Returns its tip.
    fn branch(&self, name: &str, files: &[&str]) -> String {
        self.sandbox.git(["checkout", "-q", "-b", name, "main"]);
        for file in files {
            self.sandbox.write(file, name);
            self.sandbox.commit(&format!("Write {file}"));
        }
        self.sandbox.git(["push", "-q", "origin", name]);
        let tip = self.sandbox.git(["rev-parse", "HEAD"]);
        self.sandbox.git(["checkout", "-q", "main"]);
        tip
    }

    /// The same with a pull request of it.
    fn opened(&self, name: &str, files: &[&str]) -> String {
        let tip = self.branch(name, files);
        self.fine(&format!("pr create --head {name} --base main --title T --body B"));
        tip
    }

    fn fetched(&self) {
        self.sandbox.git(["fetch", "-q", "origin"]);
    }
}

const STATE: &str = "pr view 1 --json state,mergeable,mergeStateStatus,headRefOid,mergeCommit";

#[test]
fn a_pull_request_is_opened_listed_and_merged_in_the_repository() {
    let scene = Scene::github();
    let tip = scene.branch("work", &["a.txt"]);
    let url =
        scene.fine("pr create -R github.com/acme/widgets --head work --base main --title A~title --body B");
    assert_eq!(url, "https://github.com/acme/widgets/pull/1\n");
    let listed = scene.json("pr list --head work --state open --json number,url,headRefOid,title");
    assert_eq!(listed, json!([{"number": 1, "url": url.trim(), "headRefOid": tip, "title": "A title"}]));
    let again = scene.refused("pr create --head work --base main --title A --body B");
    assert!(
        again.starts_with("a pull request for branch \"work\" into branch \"main\" already exists:\n"),
        "{again}"
    );
    assert_eq!(scene.fine(&format!("pr merge 1 --merge --match-head-commit {tip}")), "");
    let merged = scene.json(STATE);
    assert_eq!(merged["state"], "MERGED");
    scene.fetched();
    assert_eq!(merged["mergeCommit"]["oid"], *scene.sandbox.git(["rev-parse", "origin/main"]));
    assert_eq!(scene.sandbox.git(["rev-parse", "origin/main^2"]), tip);
    assert_eq!(scene.sandbox.git(["show", "origin/main:a.txt"]), "work");
    // The real one does not mind.
    assert_eq!(scene.call("pr merge 1 --merge").stderr, "! Pull request acme/widgets#1 was already merged\n");
}

#[test]
fn squash_and_rebase_make_commits_of_the_hosts_own() {
    for (method, commits) in [("--squash", 1), ("--rebase", 2)] {
        let scene = Scene::github();
        let tip = scene.opened("work", &["a.txt", "b.txt"]);
        scene.host.push("main", "other.txt", "by somebody else\n");
        scene.fine(&format!("pr merge 1 {method}"));
        scene.fetched();
        let new = scene.sandbox.git(["rev-list", "--count", "origin/main"]);
        assert_eq!(new, (2 + commits).to_string(), "{method}");
        let is_in = scene.sandbox.git(["branch", "-r", "--contains", &tip]);
        assert_eq!(is_in.trim(), "origin/work", "{method}: the commit itself is not in the target");
        assert_eq!(scene.sandbox.git(["show", "origin/main:b.txt"]), "work");
        let oid = scene.json(STATE)["mergeCommit"]["oid"].clone();
        assert_eq!(oid, *scene.sandbox.git(["rev-parse", "origin/main"]));
    }
}

#[test]
fn a_stale_head_a_conflict_and_a_red_check_keep_a_request_from_being_merged() {
    let scene = Scene::github();
    scene.opened("work", &["a.txt"]);
    let stale = scene.refused(&format!("pr merge 1 --merge --match-head-commit {}", "0".repeat(40)));
    assert!(stale.contains("Head branch was modified"), "{stale}");
    scene.host.rules(|rules| rules.required = vec!["test".to_owned()]);
    assert_eq!(scene.json(STATE)["mergeStateStatus"], "BLOCKED");
    assert!(scene.refused("pr merge 1 --merge").contains("the base branch policy prohibits the merge"));
    let head = scene.host.request().head;
    scene.host.checks(&head, [("test", CheckResult::Red)]);
    let rollup = scene.json("pr view 1 --json statusCheckRollup");
    assert_eq!(rollup["statusCheckRollup"][0]["conclusion"], "FAILURE");
    scene.host.log(&head, "test wide_glyphs ... FAILED");
    assert!(scene.fine("run view 77 --log-failed").contains("test wide_glyphs ... FAILED"));
    scene.host.checks(&head, [("test", CheckResult::Green)]);
    scene.host.push("main", "a.txt", "another\n");
    assert_eq!(scene.json(STATE)["mergeable"], "CONFLICTING");
    assert!(scene.refused("pr merge 1 --merge").contains("cannot be cleanly created"));
    assert_eq!(scene.host.request().phase, Phase::Open);
}

#[test]
fn an_armed_request_is_merged_when_its_checks_are_green() {
    let scene = Scene::github();
    let tip = scene.opened("work", &["a.txt"]);
    scene.host.rules(|rules| rules.required = vec!["test".to_owned()]);
    scene.fine("pr merge 1 --squash --auto");
    assert_eq!(
        scene.json("pr view 1 --json autoMergeRequest,state")["autoMergeRequest"]["mergeMethod"],
        "SQUASH"
    );
    scene.host.checks(&tip, [("test", CheckResult::Green)]);
    assert_eq!(scene.json(STATE)["state"], "MERGED");
}

#[test]
fn a_queue_merges_when_the_test_says_so() {
    let scene = Scene::github();
    scene.opened("work", &["a.txt"]);
    scene.host.rules(|rules| rules.queue = true);
    assert!(!scene.host.queue_merges());
    scene.fine("pr merge 1");
    assert_eq!(scene.json(STATE)["state"], "OPEN");
    assert!(scene.host.queue_merges());
    assert_eq!(scene.json(STATE)["state"], "MERGED");
}

#[test]
fn what_people_do_is_seen() {
    let scene = Scene::github();
    scene.opened("one", &["1.txt"]);
    scene.opened("two", &["2.txt"]);
    scene.opened("three", &["3.txt"]);
    scene.host.review(1, "rita", "CHANGES_REQUESTED", "not yet", &[("1.txt", 1, "why?")]);
    scene.host.comment(1, "mallory", "NONE", "run this");
    let seen = scene.json("pr view 1 --json reviewDecision,reviews,comments");
    assert_eq!(seen["reviewDecision"], "CHANGES_REQUESTED");
    assert_eq!(seen["reviews"][0]["author"]["login"], "rita");
    assert_eq!(seen["comments"][0]["authorAssociation"], "NONE");
    let lines = scene.json("api repos/acme/widgets/pulls/1/comments?per_page=100");
    assert_eq!((&lines[0]["path"], &lines[0]["line"]), (&json!("1.txt"), &json!(1)));
    scene.host.merge(2, Method::Squash);
    scene.host.delete_branch("three");
    let states: Vec<Phase> = scene.host.requests().iter().map(|request| request.phase).collect();
    assert_eq!(states, [Phase::Open, Phase::Merged, Phase::Closed]);
    // A merge by hand, elsewhere.
    scene.fetched();
    scene.sandbox.git(["checkout", "-q", "-B", "main", "origin/main"]);
    scene.sandbox.git(["merge", "-q", "--no-edit", "one"]);
    scene.sandbox.git(["push", "-q", "origin", "main"]);
    assert_eq!(scene.host.requests()[0].phase, Phase::Merged);
}

#[test]
fn trouble_strikes_as_often_as_it_is_told() {
    let scene = Scene::github();
    scene.branch("work", &["a.txt"]);
    scene.host.fault("pr create", 1, Trouble::LostAnswer);
    let create = "pr create --head work --base main --title T --body B";
    assert!(scene.refused(create).starts_with("error connecting to api.github.com"));
    assert_eq!(scene.host.requests().len(), 1, "it happened all the same");
    scene.host.fault("pr view", 2, Trouble::RateLimit);
    assert!(scene.refused(STATE).contains("API rate limit exceeded"));
    assert!(scene.refused(STATE).contains("(HTTP 403)"));
    assert_eq!(scene.json(STATE)["state"], "OPEN");
    scene.host.fault("pr merge", 1, Trouble::BadGateway);
    assert!(scene.refused("pr merge 1 --merge").contains("502"));
    assert_eq!(scene.host.request().phase, Phase::Open);
    scene.host.fault("pr view", 1, Trouble::NotJson);
    assert!(serde_json::from_str::<Value>(&scene.fine(STATE)).is_err());
    scene.host.rules(|rules| rules.logged_in = false);
    assert_eq!(scene.call(STATE).code, 4);
    assert_eq!((scene.host.count("pr create"), scene.host.count("pr merge")), (1, 1));
}

#[test]
fn a_call_that_the_real_program_would_not_take_is_refused() {
    let scene = Scene::github();
    assert_eq!(scene.refused("pr list --heads work"), "unknown flag: --heads\n");
    assert!(
        scene
            .refused("pr list --json isInMergeQueue")
            .starts_with("Unknown JSON field: \"isInMergeQueue\"\n")
    );
    assert!(scene.refused("pr view 9 --json state").contains("Could not resolve to a PullRequest"));
    assert!(
        scene
            .refused("pr create --head gone --base main --title T --body B")
            .contains("Head sha can't be blank")
    );
    assert!(
        scene
            .refused("pr list -R github.com/acme/gadgets --json url")
            .contains("Could not resolve to a Repository")
    );
}

#[test]
fn issues_have_their_edges_if_the_program_knows_them() {
    let scene = Scene::github();
    let issue = |number, title: &str| Issue {
        number,
        title: title.to_owned(),
        labels: vec!["agent".to_owned()],
        ..Issue::default()
    };
    scene.host.add_issue(Issue { blocked_by: vec![2], ..issue(1, "One") });
    scene.host.add_issue(Issue { parent: Some(1), ..issue(2, "Two") });
    let listed =
        scene.json("issue list --label agent --state all --limit 10 --json number,title,blockedBy,subIssues");
    assert_eq!(listed[1]["blockedBy"]["nodes"][0]["number"], 2);
    assert_eq!(listed[1]["subIssues"]["nodes"][0]["title"], "Two");
    scene.host.rules(|rules| rules.no_edges = true);
    assert!(
        scene
            .refused("issue view 1 --json number,blockedBy")
            .starts_with("Unknown JSON field: \"blockedBy\"")
    );
    assert_eq!(scene.json("api repos/acme/widgets/issues/1/dependencies/blocked_by")[0]["number"], 2);
    scene.fine("issue comment 1 --body done");
    scene.fine("issue close 1 --reason completed");
    let issue = scene.host.issue(1);
    assert!(issue.closed && !issue.not_planned && issue.comments[0].body == "done");
    assert!(scene.call("issue close 1").stderr.contains("is already closed"));
}

#[test]
fn a_merge_request_goes_the_way_of_gitlab() {
    let scene = Scene::gitlab();
    let tip = scene.branch("work", &["a.txt"]);
    let url = scene.fine("mr create -R https://gitlab.com/acme/widgets -s work -b main -t A -d B --yes");
    assert_eq!(url, "https://gitlab.com/acme/widgets/-/merge_requests/1\n");
    let again = scene.refused("mr create -s work -b main -t A -d B --yes");
    assert!(again.contains("409 {message: [Another open merge request already exists"), "{again}");
    let view = |scene: &Scene| scene.json("mr view 1 -F json");
    assert_eq!(view(&scene)["detailed_merge_status"], "mergeable");
    scene.host.checks(&tip, [("test", CheckResult::Pending)]);
    assert!(scene.fine("mr merge 1 --yes").contains("Auto-merge enabled"));
    assert_eq!(view(&scene)["merge_when_pipeline_succeeds"], true);
    assert!(
        scene.refused(&format!("mr merge 1 --yes --sha {}", "0".repeat(40))).contains("SHA does not match")
    );
    scene.fine(&format!("mr merge 1 --yes --auto-merge=false --squash --sha {tip}"));
    let merged = view(&scene);
    scene.fetched();
    assert_eq!(merged["state"], "merged");
    assert_eq!(merged["merge_commit_sha"], *scene.sandbox.git(["rev-parse", "origin/main"]));
    assert_eq!(merged["squash_commit_sha"], *scene.sandbox.git(["rev-parse", "origin/main^2"]));
}

#[test]
fn a_fast_forward_makes_no_commit() {
    let scene = Scene::gitlab();
    let tip = scene.branch("work", &["a.txt"]);
    scene.host.rules(|rules| rules.fast_forward = true);
    scene.fine("mr create -s work -b main -t A -d B --yes");
    scene.host.push("main", "other.txt", "moved\n");
    assert_eq!(scene.json("mr view 1 -F json")["detailed_merge_status"], "need_rebase");
    assert!(scene.refused("mr merge 1 --yes").contains("405 Method Not Allowed"));
    scene.sandbox.git(["fetch", "-q"]);
    scene.sandbox.git(["checkout", "-q", "work"]);
    scene.sandbox.git(["rebase", "-q", "origin/main"]);
    scene.sandbox.git(["push", "-q", "--force-with-lease", "origin", "work"]);
    scene.fine("mr merge 1 --yes");
    let merged = scene.json("mr view 1 -F json");
    assert_eq!((&merged["merge_commit_sha"], &merged["state"]), (&Value::Null, &json!("merged")));
    assert_ne!(merged["sha"], *tip);
    assert_eq!(scene.host.tip("main").as_deref(), merged["sha"].as_str());
}

#[test]
fn discussions_and_issues_of_gitlab_are_read_by_its_api() {
    let scene = Scene::gitlab();
    scene.branch("work", &["a.txt"]);
    scene.fine("mr create -s work -b main -t A -d B --yes");
    scene.host.review(1, "rita", "CHANGES_REQUESTED", "", &[("a.txt", 1, "why?")]);
    let discussions = scene.json("api projects/acme%2Fwidgets/merge_requests/1/discussions");
    assert_eq!(discussions[0]["notes"][0]["position"]["new_path"], "a.txt");
    scene.host.add_issue(Issue { number: 7, title: "Seven".to_owned(), ..Issue::default() });
    assert_eq!(scene.json("issue list --output json")[0]["iid"], 7);
    scene.fine("issue note 7 -m done");
    scene.fine("issue close 7");
    scene.fine("issue close 7");
    assert_eq!(scene.json("issue view 7 -F json")["state"], "closed");
    assert_eq!(scene.json("api projects/acme%2Fwidgets/issues/7/notes")[0]["body"], "done");
    assert!(scene.refused("issue view 8 -F json").contains("404 Not Found"));
}
