//! Files, links, clocks and branches as one meets them: each test is one way in which they are odd.

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::edits::{about, append, ledger, log, status};
use super::*;

fn file(sandbox: &Sandbox, name: &str) -> Utf8PathBuf {
    sandbox.project().join(PLAN).join(name)
}

/// The state file, changed by `jq`, as a tool with habits of its own writes it.
#[must_use]
fn rewritten(sandbox: &Sandbox, change: &str, encode: impl Fn(&str) -> Vec<u8>) -> bool {
    let lines =
        format!("jq '{change}' $PLAN_DIR/execution-state.json > tmp; mv tmp $PLAN_DIR/execution-state.json");
    let there = about(sandbox, "", &lines);
    let path = file(sandbox, "execution-state.json");
    let text = sandbox.read(&path);
    fs::write(path, encode(&text)).expect("our own file");
    there
}

fn wide(text: &str) -> Vec<u8> {
    [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

#[test]
fn an_edit_is_heard_whatever_encoding_the_editor_has() {
    let sandbox = ledger();
    let begin = "(.tasks[] | select(.id == \"1.1\")).status = \"in_progress\"";
    if !rewritten(&sandbox, begin, |text| [b"\xef\xbb\xbf", text.as_bytes()].concat()) {
        return;
    }
    let _ = sandbox.run("next").exits(0).says("RESUME");
    assert_eq!(status(&sandbox, "1.1"), "in_progress");
    assert!(rewritten(&sandbox, "(.tasks[] | select(.id == \"1.1\")).notes = \"für ✅\"", wide));
    let _ = sandbox.run("next").exits(0);
    assert_eq!(entry(&sandbox, "1.1")["notes"], "für ✅");
    assert!(!sandbox.exists(format!("{PLAN}/execution-state.json.bad")));
    // Of a field that is there twice the last one counts, and the log says so.
    let twice = |text: &str| {
        text.replacen("\"notes\": \"für ✅\"", "\"notes\": \"a\", \"notes\": \"b\"", 1).into_bytes()
    };
    assert!(rewritten(&sandbox, ".", twice));
    let _ = sandbox.run("next").exits(0);
    assert_eq!(entry(&sandbox, "1.1")["notes"], "b");
    assert!(log(&sandbox).contains("`notes` appears twice: the last one is used"), "{}", log(&sandbox));
}

#[test]
fn what_an_agent_writes_into_its_copies_is_heard_in_any_encoding() {
    let sandbox = months();
    let script = format!(
        "cd {PLAN}\njq '(.tasks[] | select(.id == \"1.1\")).exports = [\"month()\"]' execution-state.json > t\n\
         (printf '\\357\\273\\277'; cat t) > execution-state.json\n\
         printf '\\n---\\n\\n## Task 1.1: Mine\\n\\nDid it.\\n' | iconv -f UTF-8 -t UTF-16LE >> journal.md\n"
    );
    if !recipe(sandbox.project(), "iconv --version") {
        return;
    }
    sandbox.write(sandbox.root().join("told.sh"), &script);
    act(&sandbox, &format!("[1.1]\n{}run sh SIDE/told.sh\n", does_well("1.1")));
    let _ = sandbox.run("run 7").exits(0);
    assert_eq!(entry(&sandbox, "1.1")["exports"], json!(["month()"]));
    assert_eq!(journal(&sandbox).matches("## Task 1.1: Mine\n\nDid it.").count(), 1, "{}", journal(&sandbox));
}

/// PowerShell's `>>` writes UTF-16 behind whatever is there.
#[test]
fn a_journal_of_several_encodings_is_heard_and_does_not_grow_for_ever() {
    let sandbox = ledger();
    let path = file(&sandbox, "journal.md");
    let mut bytes = fs::read(&path).expect("the journal");
    bytes.extend_from_slice(&wide("\r\n---\r\n\r\n## Note\r\n\r\nAll is well.\r\n")[2..]);
    fs::write(&path, &bytes).expect("our own file");
    for _ in 0..3 {
        let _ = sandbox.run("next").exits(0);
    }
    assert_eq!(fs::read(&path).expect("the journal"), bytes, "nothing was missing");
    assert_eq!(log(&sandbox).matches("note by journal.md: ## Note").count(), 1, "{}", log(&sandbox));
    // A whole file of another kind goes on in its own way.
    for (name, encode) in [("CRLF", &|text: &str| text.as_bytes().to_vec() as Vec<u8>), ("UTF-16", &wide)]
        as [(&str, &dyn Fn(&str) -> Vec<u8>); 2]
    {
        let sandbox = ledger();
        let path = file(&sandbox, "journal.md");
        let before = encode(&sandbox.read(&path).replace('\n', "\r\n"));
        fs::write(&path, &before).expect("our own file");
        let _ = sandbox.run("start 1.1 --by ada").exits(0);
        let _ = sandbox.run("report 1.1 blocked --reason Why --by ada").exits(0);
        let after = fs::read(&path).expect("the journal");
        let more = encode("\r\n---\r\n\r\n## Task 1.1: ");
        let more = more.strip_prefix([0xff, 0xfe].as_slice()).unwrap_or(&more);
        assert!(after.starts_with(&before) && after[before.len()..].starts_with(more), "{name}: {after:?}");
        let _ = sandbox.run("next").exits(0);
        assert_eq!(fs::read(&path).expect("the journal"), after, "{name}");
    }
}

#[test]
fn an_entry_about_a_task_that_is_not_in_the_plan_is_told() {
    let sandbox = ledger();
    append(&sandbox, "\n---\n\n## Task 99: What\n\nDid it.\n");
    for _ in 0..2 {
        let _ = sandbox.run("next").exits(0);
    }
    assert_eq!(log(&sandbox).matches("there is no task 99 in the plan").count(), 1, "{}", log(&sandbox));
}

#[test]
fn what_a_crash_of_somebody_left_is_nobodys_word() {
    let sandbox = ledger();
    let lies = sandbox.read(file(&sandbox, "execution-state.json")).replace("pending", "completed");
    for name in ["execution-state.json.tmp", "execution-state.json.bak", "execution-state.json.bad"] {
        sandbox.write(file(&sandbox, name), &lies);
    }
    let lock = fs::File::create(file(&sandbox, "execution-state.lock")).expect("a new file");
    lock.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("our own file");
    let _ = sandbox.run("start 1.1 --by ada").exits(0);
    assert_eq!(statuses(&sandbox)[..3], ["done", "in_progress", "pending"]);
    assert_eq!(sandbox.read(file(&sandbox, "execution-state.json.tmp")), lies, "it is not ours");
    assert!(!sandbox.exists(format!("{PLAN}/execution-state.lock")), "nobody has held it for an hour");
}

#[test]
fn a_file_that_is_a_folder_or_lies_outside_the_project_is_left_alone() {
    let sandbox = ledger();
    for name in ["execution-state.json", "journal.md", "tasks.md"] {
        let (path, outside) = (file(&sandbox, name), sandbox.root().join(name));
        fs::rename(&path, &outside).expect("our own file");
        let before = sandbox.read(&outside);
        std::os::unix::fs::symlink(&outside, &path).expect("a new link");
        let _ = sandbox.run("start 1.1 --by ada").exits(1).says(name).says("leads out of the project");
        assert_eq!(sandbox.read(&outside), before);
        fs::remove_file(&path).expect("our own link");
        if name != "tasks.md" {
            fs::create_dir(&path).expect("a new folder");
            let _ = sandbox.run("start 1.1 --by ada").exits(1).says(name).says("is a folder");
            fs::remove_dir(&path).expect("our own folder");
        }
        fs::rename(&outside, &path).expect("our own file");
    }
    let _ = sandbox.run("next").exits(0);
    assert_eq!(ticked(&sandbox), ["0"]);
    let _ = sandbox.run("doctor").exits(0);
}

#[test]
fn a_second_copy_of_the_state_file_is_named() {
    let sandbox = months();
    sandbox.write("execution-state.json", "{}");
    let warning = format!(
        "execution-state.json is a second copy of the state file; {PLAN}/execution-state.json is used"
    );
    let _ = sandbox.run("import 7").exits(0).says(&warning);
    let _ = sandbox.run("doctor").exits(0).says("execution-state.json is a second copy of its state file");
    let _ = sandbox.run("run 7 --task 1.1").exits(0).says(&warning);
}

#[test]
fn times_that_are_still_to_come_are_told_and_not_believed() {
    let sandbox = months();
    let state = json!({ "created_at": "2999-01-01T00:00:00Z", "updated_at": "2999-01-01T00:00:00Z", "tasks": [{ "id": "1.1", "status": "pending" }] });
    sandbox.write(file(&sandbox, "execution-state.json"), &state.to_string());
    let _ = sandbox.run("next --plan 7").exits(0).says("contains a time in the future");
    let created = crate::state(&sandbox)["created_at"].as_str().expect("a time").to_owned();
    assert!(created.starts_with("20"), "{created}");
}

// Git.

/// Halted at 3.1 with two tasks landed; a person fixes it and says so.
fn halted() -> Sandbox {
    let sandbox = months();
    act(&sandbox, "[3.1]\nexit 1\n");
    let _ = sandbox.run("run 7").exits(4);
    act(&sandbox, "");
    sandbox
}

#[track_caller]
fn goes_on(sandbox: &Sandbox) {
    let _ = sandbox.run("retry 3.1").exits(0);
    let _ = sandbox.run("run 7").exits(0).lacks("1.1      attempt").lacks("1.2      attempt");
    is_whole(sandbox);
    assert_eq!(statuses(sandbox), ALL_DONE);
}

#[test]
fn a_worktree_that_is_gone_is_made_again_and_one_that_is_locked_is_used() {
    let sandbox = halted();
    fs::remove_dir_all(workplace(&sandbox)).expect("our own folder");
    goes_on(&sandbox);
    let sandbox = halted();
    fs::remove_dir_all(workplace(&sandbox)).expect("our own folder");
    sandbox.git(["worktree", "prune"]);
    goes_on(&sandbox);
    let sandbox = halted();
    sandbox.git(["worktree", "lock", workplace(&sandbox).as_str()]);
    goes_on(&sandbox);
    assert!(sandbox.git(["worktree", "list", "--porcelain"]).contains("\nlocked"), "and stays so");
}

#[test]
fn a_merge_that_somebody_left_in_the_worktree_is_no_obstacle() {
    let sandbox = halted();
    let place = workplace(&sandbox);
    sandbox.git_in(&place, ["switch", "-q", "-c", "other", "main"]);
    sandbox.write(place.join("spend.sh"), "exit 3\n");
    sandbox.git_in(&place, ["commit", "-q", "-a", "-m", "Other"]);
    let merge = Command::new("git").args(["merge", BRANCH]).current_dir(&place).output().expect("git");
    assert!(!merge.status.success(), "both changed it");
    goes_on(&sandbox);
}

/// The work is in the main branch already, by a person's own merge: nothing is lost and nothing done twice.
#[test]
fn a_branch_that_was_merged_meanwhile_goes_on() {
    let sandbox = halted();
    sandbox.git(["stash", "-q"]);
    sandbox.git(["merge", "-q", "--no-ff", "-m", "Early", BRANCH]);
    sandbox.git(["stash", "pop", "-q"]);
    let _ = sandbox.run("retry 3.1").exits(0);
    let _ = sandbox.run("run 7").exits(0).lacks("1.1      attempt").lacks("1.2      attempt");
    assert_eq!(statuses(&sandbox), ALL_DONE);
}

#[test]
fn a_branch_that_is_gone_needs_a_person_who_makes_it_again() {
    let sandbox = halted();
    let tip = sandbox.git(["rev-parse", BRANCH]);
    sandbox.git(["branch", "-q", "-D", BRANCH]);
    let _ = sandbox.run("retry 3.1").exits(0);
    let run = sandbox.run("run 7").exits(4);
    let _ = run.says("needs a person: the target branch `issue/7-by-month` no longer exists");
    sandbox.git(["branch", BRANCH, &tip]);
    let _ = sandbox.run("unblock 3.1").exits(0);
    let _ = sandbox.run("run 7").exits(0).lacks("1.1      attempt");
    is_whole(&sandbox);
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_moves_there_and_loses_nothing_of_theirs() {
    let sandbox = halted();
    let elsewhere = sandbox.root().join("elsewhere");
    sandbox.git(["worktree", "add", "-q", elsewhere.as_str(), BRANCH]);
    sandbox.write(elsewhere.join("mine.txt"), "mine\n");
    goes_on(&sandbox);
    assert_eq!(sandbox.git_in(&elsewhere, ["status", "--porcelain"]), "?? mine.txt");
    assert_eq!(sandbox.git_in(&elsewhere, ["rev-parse", "HEAD"]), sandbox.git(["rev-parse", BRANCH]));
}

/// What is not on the branch any more is not done, whatever the list says: the ticks in it are Piton's own.
#[test]
fn work_that_somebody_took_from_the_branch_is_done_again() {
    let sandbox = halted();
    sandbox.git(["branch", "-q", "-f", BRANCH, "main"]);
    let _ = sandbox.run("retry 3.1").exits(0);
    let run = sandbox.run("run 7").exits(0).says("1.1      no longer landed").says("1.2      landed");
    assert!(!run.contains("started by tasks.md"), "{run}");
    is_whole(&sandbox);
    assert_eq!(statuses(&sandbox), ALL_DONE);
}

/// The checks of the whole pass without it as well, so they must not be asked.
#[test]
fn a_tick_of_ours_is_no_claim_once_its_work_is_gone() {
    let sandbox = halted();
    let place = workplace(&sandbox);
    let lost = sandbox.git(["rev-parse", BRANCH]);
    let before = sandbox.git(["rev-parse", &format!("{BRANCH}^1")]);
    sandbox.git_in(&place, ["switch", "-q", "--discard-changes", "-c", "aside", &before]);
    sandbox.write(place.join("README.md"), "Other words\n");
    sandbox.git_in(&place, ["commit", "-q", "-a", "-m", "Other words"]);
    sandbox.git(["branch", "-q", "-f", BRANCH, "aside"]);
    let _ = sandbox.run("run 7").exits(4).says("1.2      no longer landed");
    let _ = sandbox.run("next").exits(0);
    assert_eq!(status(&sandbox, "1.2"), "pending", "{}", log(&sandbox));
    assert_eq!(ticked(&sandbox), ["0", "1.1", "2"]);
    assert!(
        log(&sandbox).contains("the box of 1.2 was ticked: its work is no longer on the branch"),
        "{}",
        log(&sandbox)
    );
    // A person has brought it back, and says so.
    sandbox.git_in(&place, ["cherry-pick", "-m", "1", &lost]);
    sandbox.git(["branch", "-q", "-f", BRANCH, "aside"]);
    let _ = sandbox.run("report 1.2 done").exits(0);
    assert_eq!((status(&sandbox, "1.2").as_str(), ticked(&sandbox).len()), ("completed", 5));
}

#[test]
fn a_branch_that_was_rewritten_with_the_work_in_it_is_known_again() {
    let sandbox = halted();
    let place = workplace(&sandbox);
    sandbox.git_in(&place, ["switch", "-q", "--discard-changes", "-c", "aside", "main"]);
    sandbox.git_in(&place, ["merge", "-q", "--squash", BRANCH]);
    sandbox.git_in(&place, ["commit", "-q", "-m", "All at once"]);
    sandbox.git(["branch", "-q", "-f", BRANCH, "aside"]);
    // What was half-done stands on what is gone; what is landed is known again.
    let _ = sandbox.run("retry 3.1").exits(0);
    let _ = sandbox.run("run 7").exits(4).says("3.1      needs a person").says("piton clean --unfinished");
    let _ = sandbox.run("clean --unfinished").exits(0);
    let _ = sandbox.run("reset 3.1").exits(0);
    let _ = sandbox.run("run 7").exits(0).lacks("1.1      attempt").lacks("1.2      attempt");
    is_whole(&sandbox);
    assert_eq!(statuses(&sandbox), ALL_DONE);
}

#[test]
fn a_project_that_was_moved_goes_on_where_it_is() {
    let sandbox = halted();
    let moved = sandbox.root().join("moved");
    fs::rename(sandbox.project(), &moved).expect("our own folder");
    let run = sandbox.piton(["run", "7"]).within(&moved).run();
    let run = run.exits(0).lacks("1.1      attempt").lacks("1.2      attempt").says("3.1      landed");
    assert!(run.contains("Closes #7"), "{run}");
    let next = sandbox.piton(["next"]).within(&moved).run();
    assert_eq!(next.exits(0).stdout, "ALL_COMPLETE: No pending tasks\n");
}

/// The project is the folder that holds `.claude`: its checks run there, and its run is found from there.
#[test]
fn the_ledger_of_an_issue_works_without_git() {
    let sandbox = Sandbox::without_git(env!("CARGO_BIN_EXE_piton"));
    sandbox.copy(EXAMPLE, "");
    let _ = sandbox.run("next --plan 7").exits(0).says("NEXT_TASK: {\"id\":\"1.1\"");
    let _ = sandbox.run("start 1.1").exits(0);
    sandbox.write("tests/red.sh", "exit 1\n");
    let _ = sandbox.run("report 1.1 done").exits(1);
    fs::remove_file(sandbox.project().join("tests/red.sh")).expect("our own file");
    let _ = sandbox.run("start 1.1").exits(0);
    let _ = sandbox.run("report 1.1 done").exits(1).says("no file that 1.1 names has changed");
    sandbox.write("spend.sh", BY_MONTH);
    let _ = sandbox.run("report 1.1 done --note Here --file spend.sh").exits(0);
    assert_eq!(ticked(&sandbox), ["0", "1.1"]);
    assert_eq!(entry(&sandbox, "1.1")["notes"], "Here");
    let _ =
        sandbox.piton(["next"]).within(sandbox.project().join(PLAN)).run().exits(0).says("{\"id\":\"1.2\"");
    let _ = sandbox.run("run 7").exits(1).says("git");
}

// What an agent says.

#[test]
fn how_an_agent_ended_counts_and_not_what_it_printed() {
    let sandbox = months();
    act(
        &sandbox,
        &format!(
            "[1.1 1]\n{}say All tests passed, DONE\nexit 1\n[1.1]\nsay error: rate limit reached\n{}",
            does_well("1.1"),
            does_well("1.1")
        ),
    );
    let run = sandbox.run("run 7").exits(0);
    let _ =
        run.says("1.1      failed: the agent ended with exit status 1").says("1.1      attempt 2 started");
    is_whole(&sandbox);
}
