//! The list and the state file as they lie on disk: broken, deleted, linked, moved, in other line ends, written at the very
//! moment Piton writes.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn ledger() -> Sandbox {
    let sandbox = receipts("", "");
    let _ = sandbox.run("next --plan plans/1-1-receipts-todolist.md").exits(0);
    sandbox
}

fn edit(sandbox: &Sandbox, change: impl FnOnce(&mut Value)) {
    let mut file = state(sandbox);
    change(&mut file);
    sandbox.write(STATE, &format!("{file:#}\n"));
}

/// j1, j2: it is written again, and what was there is kept.
#[test]
fn a_state_file_that_is_broken_empty_or_gone_is_written_again() {
    let sandbox = ledger();
    for text in ["{\"status\": \"completed\",}", "{\"tasks\": {\"T001\": {\"sta", "", "{}{}"] {
        sandbox.write(STATE, text);
        sandbox.age(STATE);
        let _ = sandbox.run("start T001 --by ann").exits(0);
        let _ = sandbox.run("reset T001").exits(0);
        is_counted(&state(&sandbox));
        assert_eq!(sandbox.read(format!("{STATE}.bad")), text);
    }
    fs::remove_file(sandbox.project().join(STATE)).expect("our own file");
    let _ = sandbox.run("start T001 --by ann").exits(0);
    assert_eq!(statuses(&sandbox)[0], "in_progress");
    assert!(sandbox.run("log").exits(0).stdout.contains("the file was deleted"));
}

/// j3: copies beside it are ignored.
#[test]
fn what_lies_beside_the_state_file_is_not_read() {
    let sandbox = ledger();
    let mut copy = state(&sandbox);
    copy["tasks"]["T001"]["status"] = "blocked".into();
    for ending in ["tmp", "bak", "orig"] {
        sandbox.write(format!("{STATE}.{ending}"), &copy.to_string());
    }
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!(statuses(&sandbox)[0], "pending");
    assert_eq!(sandbox.read(format!("{STATE}.tmp")), copy.to_string(), "it is not ours");
}

#[test]
fn a_stale_copy_is_no_wish_to_go_back() {
    let sandbox = ledger();
    let old = sandbox.read(STATE);
    let _ = sandbox.run("start T001 --by ann").exits(0);
    sandbox.write(STATE, &old);
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!(statuses(&sandbox)[0], "in_progress");
    // An edit of the old copy is applied all the same, once.
    let mut stale: Value = serde_json::from_str(&old).expect("JSON");
    stale["logs"]
        .as_array_mut()
        .expect("lines")
        .push(serde_json::json!({ "level": "info", "message": "by hand" }));
    for _ in 0..2 {
        sandbox.write(STATE, &stale.to_string());
        let _ = sandbox.run("journal add looked").exits(0);
    }
    let lines = state(&sandbox)["logs"].to_string();
    assert_eq!(lines.matches("by hand").count(), 1, "{lines}");
}

/// j27.
#[test]
fn a_link_is_followed_inside_the_project_only_and_a_folder_is_left_alone() {
    let sandbox = ledger();
    let (file, inside) = (sandbox.project().join(STATE), sandbox.project().join("kept.json"));
    fs::rename(&file, &inside).expect("our own file");
    symlink(&inside, &file).expect("a new link");
    let _ = sandbox.run("start T001 --by ann").exits(0);
    assert!(file.is_symlink());
    assert_eq!(statuses(&sandbox)[0], "in_progress");
    let outside = sandbox.root().join("kept.json");
    fs::rename(&inside, &outside).expect("our own file");
    fs::remove_file(&file).expect("our own link");
    symlink(&outside, &file).expect("a new link");
    let before = sandbox.read(&outside);
    let _ = sandbox.run("reset T001").exits(1).says("leads out of the project");
    assert_eq!(sandbox.read(&outside), before);
    fs::remove_file(&file).expect("our own link");
    fs::create_dir(&file).expect("a new folder");
    let _ = sandbox.run("reset T001").exits(1).says("is a folder, so Piton leaves it alone");
    assert!(file.is_dir());
}

/// An edit in the very moment in which Piton writes is overwritten, and applied all the same.
#[test]
fn an_edit_in_the_moment_of_writing_is_heard() {
    let sandbox = ledger();
    let start = sandbox.piton(["start", "T001", "--by", "ann"]);
    let mut start = start.pausing_at(&sandbox, "files.before-write", 1).spawn();
    let pause = start.until_paused(&sandbox);
    edit(&sandbox, |file| file["in_between"] = true.into());
    drop(pause);
    let _ = start.wait().exits(0);
    assert_eq!(state(&sandbox)["in_between"], true);
    assert_eq!(statuses(&sandbox)[0], "in_progress");
}

/// b1, b2, k19: a byte order mark, line ends of two kinds and a line that is there twice.
#[test]
fn a_list_of_odd_bytes_is_ticked_and_not_a_byte_else_changes() {
    let sandbox = receipts("", "");
    let line = "\r\n> - [ ] T001 P1 ALL Keep receipts in a file\r\n\r\n## Execution Batches";
    let odd = sandbox
        .read(LIST)
        .replacen("\n\n## Execution Batches", line, 1)
        .replace("### Tasks\n", "### Tasks\r\n");
    let odd = format!("\u{feff}{}", odd.trim_end());
    sandbox.write(LIST, &odd);
    sandbox.commit("Odd");
    let _ = sandbox.run(RUN).exits(0);
    let now = sandbox.read(LIST);
    assert_eq!(now.replace("\n- [x] T", "\n- [ ] T"), odd);
    assert_eq!(now.matches("\n- [x] T").count(), 6);
}

/// A list that is edited while its boxes are ticked keeps the edit, whenever it comes.
#[test]
fn what_a_person_writes_into_the_list_meanwhile_stays() {
    for moment in 1..=4 {
        let sandbox = receipts("", "");
        let _ = sandbox.run("next --plan plans/1-1-receipts-todolist.md").exits(0);
        sandbox.write("receipts.sh", "echo help");
        sandbox.commit("By hand");
        let report = sandbox.piton(["report", "T001", "done", "--by", "ann"]);
        let mut report = report.pausing_at(&sandbox, "files.before-write", moment).spawn();
        let pause = report.until_paused(&sandbox);
        sandbox.write(LIST, &(sandbox.read(LIST) + "\nA word of mine.\n"));
        drop(pause);
        let _ = report.wait().exits(0);
        let _ = sandbox.run("journal add looked").exits(0);
        let list = sandbox.read(LIST);
        assert!(list.ends_with("\nA word of mine.\n"), "{moment}: {list}");
        assert_eq!(marks(&sandbox), "x     ", "{moment}");
    }
}

/// k18: other names, other folders, and no name at all.
#[test]
fn a_list_may_be_called_otherwise_and_lie_elsewhere() {
    let sandbox = receipts("", "");
    let text = sandbox.read(LIST);
    for name in ["requirements/a-todo.md", "a.todolist.md", "docs/b.todo.md"] {
        sandbox.write(name, &text);
        let _ = sandbox.run(&format!("plan {name}")).exits(0).says("6 tasks in 3 batches");
    }
    sandbox.write("what-to-do.md", &text);
    let _ = sandbox.run("plan what-to-do.md --dialect rwkit").exits(0).says("6 tasks in 3 batches");
    let link = sandbox.project().join("plans/link-todolist.md");
    symlink(sandbox.project().join(LIST), link).expect("a new link");
    let _ = sandbox.run("next --plan plans/link-todolist.md").exits(0).says("T001");
    assert_eq!(state(&sandbox)["config"]["todolist_path"], LIST, "a link is what it leads to");
}

/// b12: what is too large is refused with its size; i18: a name stays in its project.
#[test]
fn what_cannot_be_a_list_is_refused_in_a_sentence() {
    let sandbox = receipts("", "");
    sandbox.write("plans/big-todolist.md", &"x".repeat(17 << 20));
    let _ =
        sandbox.run("plan plans/big-todolist.md").exits(1).says("has 17 MB; a part of a plan has at most 16");
    sandbox.write("plans/empty-todolist.md", "# Nothing\n");
    let _ = sandbox.run("plan plans/empty-todolist.md").exits(1).says("the list has no tasks");
    let _ = sandbox.run("run plans/empty-todolist.md").exits(1);
    for name in ["../shop", "a/../../shop", "/tmp/shop", "con", "-x"] {
        let made = sandbox.piton(["new", "rwkit", "--", name]).run();
        assert_eq!(made.code, Some(2), "{name}: {made}");
    }
    assert!(!sandbox.root().join("shop-todolist.md").exists());
}

/// j21: a file from another machine, whose paths mean nothing here.
#[test]
fn a_state_file_from_another_machine_is_taken_over() {
    for (project, list) in [
        ("/home/dev/shop", "/home/dev/shop/plans/1-1-receipts-todolist.md"),
        (r"C:\\work\\shop", r"C:\\work\\shop\\plans\\1-1-receipts-todolist.md"),
    ] {
        let sandbox = receipts("", "");
        sandbox.write("receipts.sh", "case $1 in help) echo keep;; esac\n");
        sandbox.commit("By hand");
        let left = format!(
            r#"{{ "version": "3.0.0", "status": "paused",
                "config": {{ "todolist_path": "{list}", "project_path": "{project}" }},
                "tasks": {{ "T001": {{ "status": "completed" }} }} }}"#
        );
        sandbox.write(STATE, &left);
        let _ =
            sandbox.run("next --plan plans/1-1-receipts-todolist.md").exits(0).says("1 task already done");
        let file = state(&sandbox);
        assert_eq!(file["tasks"]["T001"]["status"], "completed", "{list}: {file:#}");
        assert_eq!(file["config"]["project_path"], sandbox.project().as_str());
    }
}
