//! What stands below a unit.

use super::*;

/// One unit with these lines below it, each indented.
fn one(lines: &[&str]) -> IterativeReading {
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}\n")).collect();
    reading(&alone(&format!("- [ ] **T1**: a\n{}- [ ] **T2**: b\n- [ ] **T3**: c\n", lines.concat())))
}

#[track_caller]
fn fine(lines: &[&str]) -> TaskSpec {
    let read = one(lines);
    assert_eq!(told(&read), "", "{lines:?}");
    unit(&read, "T1").clone()
}

fn wrong(lines: &[&str]) -> String {
    told(&one(lines))
}

#[test]
fn criteria_stand_on_one_line_or_below() {
    assert_eq!(fine(&["- Criteria: it works"]).criteria, ["it works"]);
    assert_eq!(fine(&["- Criteria:", "  - one", "  - two", "- Max iterations: 3"]).criteria, ["one", "two"]);
    assert_eq!(
        fine(&["- **Criteria**: one", "  - two", "    and a half"]).criteria,
        ["one", "two and a half"]
    );
    assert_eq!(fine(&["- Criteria:", "", "  1. one", "  * [x] two"]).criteria, ["one", "two"]);
    assert_eq!(
        fine(&["- Criteria: a long sentence", "  that goes on"]).criteria,
        ["a long sentence that goes on"]
    );
    assert_eq!(fine(&["- Acceptance criteria\u{ff1a} it works"]).criteria, ["it works"]);
    assert!(fine(&["- Criteria: none"]).criteria.is_empty());
    let both = fine(&["- Criteria: one", "- Criteria: two"]);
    assert_eq!(both.criteria, ["one", "two"]);
}

#[test]
fn files_are_paths_of_the_project() {
    let files = |lines: &[&str]| format!("{:?}", fine(lines).files);
    assert_eq!(files(&["- Files: `src/a.rs`, ./src\\b.rs"]), "[src/a.rs, src/b.rs]");
    assert_eq!(
        files(&["- Files:", "  - `app/[id]/page.tsx` (new)", "  - src/"]),
        "[app/[id]/page.tsx, src/]"
    );
    assert_eq!(files(&["- Files: none"]), "[]");
    assert_eq!(
        wrong(&["- Files: `../x`, `/etc/passwd`"]),
        "tasks.md:2:13: warning: \"../x\" cannot be a file of the project: it is absolute, or leaves the project (left out)\n\
         tasks.md:2:21: warning: \"/etc/passwd\" cannot be a file of the project: it is absolute, or leaves the project (left out)\n"
    );
}

#[test]
fn the_limit_is_a_number() {
    for (said, limit) in [("3", 3), ("`8`", 8), ("10 (medium)", 10), ("**4**", 4)] {
        assert_eq!(fine(&[&format!("- Max iterations: {said}")]).attempts, limit, "{said}");
    }
    assert_eq!(fine(&["- Max Iterations: 7"]).attempts, 7);
    assert_eq!(
        wrong(&["- Max iterations: 5–10"]),
        "tasks.md:2:21: warning: `Max iterations` of `T1` is a range (read as 10)\n"
    );
    assert_eq!(
        wrong(&["- Max iterations: 1000000"]),
        "tasks.md:2:21: warning: `T1` may have 1000000 iterations (read as 100)\n"
    );
    for said in ["0", "-3", "many"] {
        let told = wrong(&[&format!("- Max iterations: {said}")]);
        assert!(told.contains("error: `Max iterations` of `T1` is"), "{said}: {told}");
    }
    assert_eq!(
        wrong(&["- Max iterations: 3", "- Max iterations: 4"]),
        "tasks.md:3:5: warning: `Max iterations` of `T1` appears twice (the last one is used)\n"
    );
}

#[test]
fn a_signal_is_that_of_its_unit() {
    let signal =
        |read: &IterativeReading| read.about.units[&TaskId::new("T1").expect("an id")].signal.clone();
    for said in ["`<signal>T1_DONE</signal>`", "<signal> T1_DONE </signal>", "`T1_DONE`"] {
        let read = one(&[&format!("- Completion: {said}")]);
        assert_eq!((told(&read).as_str(), signal(&read).as_deref()), ("", Some("T1_DONE")));
    }
    assert_eq!(
        wrong(&["- Completion: `<signal>T2_DONE</signal>`"]),
        "tasks.md:2:17: warning: the signal of `T1` is `T1_DONE` (this one is different, so it is ignored)\n"
    );
}

#[test]
fn a_model_is_a_profile_or_told_once() {
    let text = "- [ ] **T1**: a\n  - Model: opus\n- [ ] **T2**: b\n  - Model: Opus\n- [ ] **T3**: c\n  - Model: none\n";
    let read = reading(&alone(text));
    assert_eq!(
        told(&read),
        "tasks.md:2:12: warning: there is no profile `opus` (`default` is used instead)\n"
    );
    let (config, _) = read_config("[agents.opus]\ncommand = ['o']\n[defaults]\nagent = 'mine'\n");
    let read = reading_with(&alone(text), "x", &config, Strictness::Lenient);
    assert_eq!(told(&read), "");
    let agents: Vec<&str> = units(&read).iter().map(|task| task.agent.as_str()).collect();
    assert_eq!(agents, ["opus", "opus", "mine"]);
}

#[test]
fn fields_that_nobody_knows_are_told_and_kept() {
    let read = one(&["- Owner: Ann", "- mind the gap: it is wide", "- Max turns: 12", "- Skill: none"]);
    assert_eq!(
        told(&read),
        "tasks.md:2:5: warning: `owner` is not a known field (passed to the agent as is)\n\
         tasks.md:3:5: warning: `mind the gap` is not a known field (passed to the agent as is)\n"
    );
    assert!(unit(&read, "T1").prompt.starts_with("- Owner: Ann\n- mind the gap: it is wide"));
}

#[test]
fn placeholders_of_the_template_are_refused() {
    let text = "# {Feature} - Tasks\n\n## Tasks\n\n- [ ] **T1**: {title}\n  - Files: `{paths}`\n  - Criteria: {measurable}\n  \
                - Max iterations: {N}\n  - Depends: {none|T1}\n  - Model: {haiku|sonnet|opus}\n\n## Notes\n\n{Context for sub-agents}\n";
    let brief = "# {Task Name}\n**Mode:** {development|knowledge}\n## Outcome Needed\n{What the user wants}\n## Done When\n- {Criterion 1}\n";
    let read = reading(&folder(&[("brief.md", brief), ("tasks.md", text)]));
    insta::assert_snapshot!("placeholders", told(&read));
    assert!(!read.reading.is_usable());
    let fine = fine(&["- Criteria: `{id}` in a path is replaced", "- Files: `app/{id}.ts`"]);
    assert_eq!(fine.files.len(), 1);
}

#[test]
fn what_a_list_counts_itself_is_counted_again() {
    let read = reading(&alone("# x\n\n**Total:** 3 tasks\n\n## Tasks\n\n- [ ] **T1**: a\n"));
    assert_eq!(told(&read), "tasks.md:3:12: warning: the list says 3, but has 1 (counted again)\n");
}

#[test]
fn the_own_line_wins_over_the_arrows() {
    let list = |depends: &str, arrows: &str| {
        let text = format!(
            "## Dependencies\n{arrows}\n## Tasks\n- [ ] **T1**: a\n- [ ] **T2**: b\n- [ ] **T3**: c\n{depends}"
        );
        let read = reading(&alone(&text));
        (needs(&read).pop().expect("three"), told(&read))
    };
    let fine = |depends: &str, arrows: &str, needs: &str| {
        assert_eq!(list(depends, arrows), (needs.to_owned(), String::new()), "{depends} {arrows}");
    };
    fine("", "T1 → T3", "T3 [T1]");
    fine("  - Depends: T1\n", "", "T3 [T1]");
    fine("  - Depends: T1\n", "T1 -> T2", "T3 [T1]");
    fine("  - Depends: T1, T2\n", "T1 ──┬──► T3\nT2 ──┘", "T3 [T1, T2]");
    fine("  - Depends: none\n", "T3 (independent)", "T3 []");
    fine("", "T1\n\nT2 (independent)", "T3 []");
    let differ = |depends: &str, needs: &str, told: &str| {
        let label = "this line decides, not the arrows";
        let told = format!("tasks.md:7:14: warning: {told} ({label})\n");
        assert_eq!(list(depends, "T1 → T3"), (needs.to_owned(), told));
    };
    differ("  - Depends: T2\n", "T3 [T2]", "`T3` waits for `T2` here, but for `T1` by the arrows");
    differ("  - Depends: none\n", "T3 []", "`T3` waits for nothing here, but for `T1` by the arrows");
}

#[test]
fn ids_that_only_arrows_know_are_told() {
    let read =
        reading(&alone("## Dependencies\nT1 → T9 → t2 →\n## Tasks\n- [ ] **T1**: a\n- [ ] **T2**: b\n"));
    assert_eq!(needs(&read), ["T1 []", "T2 []"]);
    assert_eq!(
        told(&read),
        "tasks.md:2:6: warning: `T9` is not a unit of this list (ignored)\n\
         tasks.md:2:11: warning: `t2` is written `T2` elsewhere (read as the same)\n\
         tasks.md:2:14: warning: this is not understood as an arrow between units (draw it like `T1 → T2`)\n"
    );
}
