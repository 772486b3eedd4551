//! A plain checklist.

use super::*;

const COLUMNS: &str = "agree-on-the-columns-title-author-year";
const ADD: &str = "shelf-sh-add-title-author-year-appends-a";
const FIND: &str = "shelf-sh-find-word-prints-the-lines-with";
const TELL: &str = "describe-both-commands-in-docs-use-md";
const LOOK: &str = "run-sh-check-sh-on-all-of-it";

/// The example without what a person has to do.
fn shelf(script: &str) -> Sandbox {
    let sandbox = project("todo", &well(script));
    let list = sandbox.read("TODO.md").replace("- [ ] Ask the librarian whether the names are clear\n", "");
    sandbox.write("TODO.md", &list);
    sandbox.commit("Nobody is asked");
    sandbox
}

/// What good agents do, but for what `others` says.
fn well(others: &str) -> String {
    let work = [
        (COLUMNS, "write docs/columns.md title, author, year, place"),
        (ADD, "write shelf.sh add() { echo \"$*\" >> books.csv; }"),
        (FIND, "append shelf.sh find() { grep \"$1\" books.csv; }"),
        (TELL, "write docs/use.md shelf.sh add and shelf.sh find"),
    ];
    let usual = work.iter().filter(|(id, _)| !others.contains(&format!("[{id}]")));
    usual.map(|(id, line)| format!("[{id}]\n{line}\n")).collect::<String>() + others
}

#[test]
fn a_checklist_is_shown_as_a_plan() {
    let sandbox = project("todo", "");
    let shown = sandbox.run("plan TODO.md").exits(0);
    let shown = shown.says("TODO 6 tasks in 2 groups, 1 claimed done, up to 3 at once");
    let shown = shown.says("title, author, year  TODO.md:7  [claimed done, and not run again]");
    let shown = shown.says(&format!("← {COLUMNS}  TODO.md:8  [sh check.sh]"));
    let shown = shown.says("TODO.md:15  [only looks: sh check.sh]");
    let shown = shown.says("TODO.md:16  [done by a person]");
    let _ = shown.says("1 open item below this heading is left out");
    let document = sandbox.run("plan TODO.md --json").exits(0).stdout;
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    let task = &document["tasks"][1];
    assert_eq!(task["source_file"], serde_json::json!({ "path": "TODO.md", "line": 8 }));
    assert_eq!((&task["kind"], &task["claimed"]), (&"work".into(), &false.into()));
    assert_eq!(task["judged_by"], serde_json::json!(["sh check.sh"]));
    assert_eq!(
        (&document["tasks"][0]["claimed"], &document["tasks"][4]["kind"]),
        (&true.into(), &"verify".into())
    );
    // The folder means its list, and so does any file of that kind.
    let _ =
        sandbox.run("plan .").exits(0).says("6 tasks in 2 groups").says("read as a plan of the todo system");
    sandbox.write("notes/later.md", "- [ ] One more thing\n");
    let _ = sandbox.run("plan notes/later.md").exits(0).says("one-more-thing");
}

#[test]
fn a_checklist_is_worked_through_and_ticked() {
    let sandbox = shelf("");
    let before = sandbox.read("TODO.md");
    let run = sandbox.run("run TODO.md").exits(0);
    let _ = run.says("1 task claimed done in the plan; --distrust-ticks does them again");
    assert_eq!(
        landed(&sandbox),
        [ADD, FIND, TELL],
        "what was claimed is not done again, and a look lands nothing"
    );
    let ticked = before.replace("- [ ]", "- [x]").replace("- [x] Lend", "- [ ] Lend");
    assert_eq!(sandbox.read("TODO.md"), ticked, "the marks have changed, and nothing else");
    assert_eq!(sandbox.git(["status", "--porcelain"]), " M TODO.md");
    let _ =
        sandbox.run(&format!("show {COLUMNS}")).exits(0).says("claimed before this run began, not proven");
    let _ = sandbox.run(&format!("why {COLUMNS}")).exits(0).says("claimed before this run began, not proven");
    let _ = sandbox.run(&format!("why {LOOK}")).exits(0).says("its checks passed");
    let _ = sandbox.run("run TODO.md").exits(0).lacks("attempt");
    let _ = sandbox.run("doctor").exits(0).says("TODO.md shows what the journal says");
}

#[test]
fn line_ends_marks_and_blanks_of_a_list_survive() {
    let sandbox = shelf("");
    let before = format!(
        "\u{feff}{}",
        sandbox.read("TODO.md").trim_end().replace('\n', "  \r\n").replace("[x]", "[X]")
    );
    sandbox.write("TODO.md", &before);
    sandbox.commit("Written elsewhere");
    let _ = sandbox.run("run TODO.md").exits(0);
    let ticked = before.replace("- [ ]", "- [X]").replace("- [X] Lend", "- [ ] Lend");
    assert_eq!(sandbox.read("TODO.md"), ticked);
}

#[test]
fn ticks_are_not_believed_on_request() {
    let sandbox = shelf("");
    let run = sandbox.run("run TODO.md --distrust-ticks").exits(0);
    let _ = run.says("1 tick removed from TODO.md: these tasks are done again").lacks("claimed done");
    assert_eq!(landed(&sandbox), [COLUMNS, ADD, FIND, TELL]);
    let text = sandbox.read("TODO.md");
    assert!(text.contains("- [x] Agree on the columns"), "{text}");
    let again = sandbox.run("run TODO.md --distrust-ticks").exits(2);
    let _ = again.says("--distrust-ticks counts when a run begins");
    sandbox.plan("[[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"One\"\nchecks = [\"true\"]\n");
    let _ = sandbox.run("run plan.toml --distrust-ticks").exits(2).says("are not mere claims");
}

#[test]
fn a_person_ticks_a_box_while_the_run_goes_on() {
    let others = format!("[{ADD}]\nmeet SIDE/begun\nmeet SIDE/gate\nwrite shelf.sh add() {{ :; }}\n");
    let sandbox = shelf(&others);
    // Nobody waits for anybody, and the description is there already.
    let settings = sandbox
        .read("piton.toml")
        .replace("backoff = \"0s\"", "backoff = \"0s\"\norder = \"free\"\nmax_parallel = 1");
    sandbox.write("piton.toml", &settings);
    sandbox.commit("In any order");
    let _ = ["begun", "gate"].map(|name| sandbox.fifo(name));
    let mut run = sandbox.piton(["run", "TODO.md"]).spawn();
    run.until_at(&sandbox, "begun");
    sandbox.write("docs/use.md", "shelf.sh add and shelf.sh find\n");
    let _ = sandbox.git(["add", "docs/use.md"]);
    let _ = sandbox.git(["commit", "-q", "-m", "Describe both by hand"]);
    let list = sandbox.read("TODO.md").replace("- [ ] Describe both", "- [x] Describe both");
    sandbox.write("TODO.md", &list);
    run.until_says(TELL);
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    assert_eq!(landed(&sandbox), [ADD, FIND], "what the person did is not done again");
    assert!(!sandbox.read("TODO.md").replace("- [ ] Lend", "").contains("- [ ]"));
}

#[test]
fn a_box_that_is_unticked_is_ticked_again_and_the_run_stays_as_it_is() {
    let sandbox = shelf("");
    let _ = sandbox.run("run TODO.md").exits(0);
    let done = sandbox.read("TODO.md");
    sandbox.write("TODO.md", &done.replace("- [x] Describe", "- [ ] Describe"));
    let _ = sandbox.run("status").exits(0);
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!(sandbox.read("TODO.md"), done);
}

/// It waits for what stands before it, and holds nobody up.
#[test]
fn what_a_person_does_waits_in_the_inbox_until_its_box_is_ticked_or_it_is_reported() {
    const ASK: &str = "ask-the-librarian-whether-the-names-are";
    for by_command in [false, true] {
        let sandbox = project("todo", &well(""));
        let _ = sandbox
            .run("run TODO.md")
            .exits(4)
            .says("3 landed and 1 completed without a landing, 1 claimed done before, 1 blocked");
        let _ = sandbox.run("inbox").exits(0).says(ASK).says(&format!("$ piton report {ASK} done"));
        assert!(sandbox.read("TODO.md").contains("- [ ] Ask the librarian"));
        if by_command {
            let _ = sandbox.run(&format!("report {ASK} done")).exits(0);
        } else {
            let ticked = sandbox.read("TODO.md").replace("- [ ] Ask", "- [x] Ask");
            sandbox.write("TODO.md", &ticked);
        }
        let _ = sandbox.run("run TODO.md").exits(0).says("every task is completed");
        assert_eq!(sandbox.read("TODO.md").matches("- [ ]").count(), 1, "what is left out stays open");
    }
}

/// The tool that wrote the list writes it again between two runs: something new is first, and all numbers are others.
#[test]
fn a_list_that_is_written_again_keeps_what_is_done_under_other_numbers() {
    let sandbox = project("todo", "[T1]\nwrite one.txt one\n[T2]\nwrite two.txt two\n[T3]\nexit 1\n");
    let settings = sandbox.read("piton.toml").replace("[defaults]\n", "[defaults]\nattempts = 1\n");
    sandbox.write("piton.toml", &settings);
    sandbox.write("TODO.md", "# Texts\n\n- [ ] T1 Write one\n- [ ] T2 Write two\n- [ ] T3 Write three\n");
    sandbox.commit("Three texts");
    let _ = sandbox.run("run TODO.md").exits(4);
    assert_eq!(landed(&sandbox), ["T1", "T2"]);
    let again =
        "# Texts\n\n- [ ] T1 Write a title\n- [ ] T2 Write one\n- [ ] T3 Write two\n- [ ] T4 Write three\n";
    sandbox.write("TODO.md", again);
    sandbox.commit("Again");
    let work = "[T1]\nwrite title.txt title\n[T2]\nwrite wrong.txt T2\n[T3]\nwrite wrong.txt T3\n[T4]\nwrite three.txt three\n";
    act(&sandbox, work);
    let _ =
        sandbox.run("run TODO.md").exits(1).says("T1 is completed, and the plan changes it").says("--replan");
    let _ = sandbox.run("run TODO.md --replan").exits(0).lacks("T2  ").lacks("wrong");
    // The last two are worked on at the same time.
    let mut all = landed(&sandbox);
    all[2..].sort();
    assert_eq!(all, ["T1", "T2", "T1", "T4"]);
    assert!(!sandbox.exists("wrong.txt"), "what is done is not done again under its new number");
    assert_eq!(sandbox.read("TODO.md"), again.replace("[ ]", "[x]"));
    let _ = sandbox.run("run TODO.md").exits(0).lacks("attempt");
}
