//! Gates: what is checked when all tasks are done. Each is a task in a group of its own, after the batches. Its check
//! runs first, and an agent starts only if it fails. When the rounds of fixes are spent, the run continues without it.

use super::line::story_id;
use super::state::{GATES, gate_task};
use crate::plan::{About, Argv, Check, Content, Group, GroupId, RepoPath, TaskSpec, Words};
use crate::review;
use crate::system::config::{self, Config};
use crate::toolchain::{self, Detected};

/// How often a gate is fixed before it is abandoned, unless the project sets it.
const FIXES: u32 = 3;
/// The same for gates that are expensive to check.
const FEW_FIXES: u32 = 2;
/// The gate that asks for a test of every story.
const COVERAGE: &str = "story_coverage";

/// The groups and tasks of the gates that the project has, in the order in which they come.
pub(super) fn gates(
    config: &Config,
    detected: &[Detected],
    about: &About,
    first: u32,
) -> (Vec<Group>, Vec<TaskSpec>) {
    let mut names = vec!["seed_data"];
    names.extend(GATES);
    let review = names.pop();
    let uat = names.iter().position(|name| *name == "uat").unwrap_or(names.len());
    names.insert(uat, COVERAGE);
    // Gates of the project's own come before the last review.
    names.extend(config.gates.keys().map(String::as_str).filter(|name| !is_known(name)));
    names.extend(review);
    let (mut groups, mut tasks) = (Vec::new(), Vec::new());
    for name in names {
        let Some((checks, fixes)) = checks(name, config, detected, about) else { continue };
        let (Ok(id), Ok(group)) = (gate_task(name), GroupId::new(&format!("gate-{name}"))) else { continue };
        let nth = first + u32::try_from(groups.len()).unwrap_or(u32::MAX);
        groups.push(Group { id: group, title: format!("Gate {name}") });
        tasks.push(TaskSpec {
            group: nth,
            checks,
            priority: 1,
            attempts: fixes + 1,
            confirm: false,
            may_change_nothing: true,
            check_first: true,
            may_fail: true,
            gate: true,
            // What a gate asks for is in its name; what judges it is a check.
            source: Some(Content::of_words(&Words { title: name, ..Words::default() })),
            ..config.task(id, format!("Pass the gate {name}"), prompt(name, &about.todolist_path))
        });
    }
    (groups, tasks)
}

fn is_known(name: &str) -> bool {
    name == "seed_data" || name == COVERAGE || GATES.contains(&name)
}

/// Whether every story has an end-to-end test, by files that are called so: asked before acceptance where the project has
/// such tests, and fixed once.
fn coverage(config: &Config, about: &About) -> Option<(Vec<Check>, u32)> {
    let is_e2e = |file: &String| file.to_lowercase().contains("e2e");
    let planned = || about.tasks.values().any(|task| task.files.iter().any(is_e2e));
    let asked = config.gates.contains_key("uat") && (config.gates.contains_key("e2e_tests") || planned());
    // One that only tasks name may come with any of them, and would change the gate.
    let told = about.stories.iter().filter(|story| !story.title.is_empty());
    let stories = told.filter(|story| story_id(&story.id).is_some());
    let holds: Vec<String> = stories.map(|story| story.id.clone()).collect();
    if !asked || holds.is_empty() {
        return None;
    }
    let file = RepoPath::new("{**/*e2e*,**/*e2e*/**}").ok()?;
    let run = Argv::Look { file, holds };
    let name = "every story has an end-to-end test".to_owned();
    Some((vec![Check::new(name, run, config::CHECK_TIMEOUT)], 1))
}

/// What a gate checks, and how often it is fixed: as the project says. Unit tests are also detected.
fn checks(name: &str, config: &Config, detected: &[Detected], about: &About) -> Option<(Vec<Check>, u32)> {
    let usual = if ["smoke_test", "qa_review"].contains(&name) { FEW_FIXES } else { FIXES };
    if let Some(gate) = config.gates.get(name) {
        let mut check = gate.check.clone();
        if let Argv::Review { ask, .. } = &mut check.run
            && ask == review::WHOLE
            && let Some(usual) = usual_ask(name, about)
        {
            *ask = usual;
        }
        return Some((vec![check], gate.fixes.unwrap_or(usual)));
    }
    if name == COVERAGE {
        return coverage(config, about);
    }
    let tests = detected.iter().filter(|found| found.about == toolchain::About::Test);
    let tests: Vec<Check> = tests.map(|found| found.check.clone()).collect();
    (name == "unit_tests" && !tests.is_empty()).then_some((tests, usual))
}

/// What reviewers of the well-known gates look at.
fn usual_ask(name: &str, about: &About) -> Option<String> {
    let stories: Vec<String> = about
        .stories
        .iter()
        .filter(|story| !story.title.is_empty())
        .map(|story| format!("- {}: {}", story.id, story.title))
        .collect();
    let list = &about.todolist_path;
    match name {
        "uat" => Some(format!(
            "whether every user story of {list} works as its acceptance criteria say, and is covered by an end-to-end \
             test that does not replace what it tests by a stand-in.\n\n{}",
            stories.join("\n")
        )),
        "qa_review" => Some(format!(
            "the work of {list} as a whole: correctness, security, tests that can fail, code that others can read."
        )),
        _ => None,
    }
}

fn prompt(name: &str, list: &str) -> String {
    if name == COVERAGE {
        return format!(
            "All tasks of {list} are done, but not every story has an end-to-end test. The stories without one are listed below. Add one for each, with `e2e` in the name of its file or folder and the id of the story in it. It uses the program as a person would, and replaces nothing with a stand-in."
        );
    }
    format!(
        "All tasks of {list} are done, but the gate {name} does not pass. What it found is listed below. Fix the causes in the project; do not weaken the check, and do not remove tests."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Story;
    use crate::system::config::read_config;

    #[test]
    fn gates_come_in_their_order_with_their_own_fixes() {
        let (config, wrong) = read_config(
            "[gates.qa_review]\nreview = 'reviewer'\n[gates.e2e_tests]\nrun = 'make e2e'\nfixes = 0\n\
             [gates.licences]\nrun = 'make licences'\n[gates.unit_tests]\nrun = 'make test'\n\
             [gates.smoke_test]\nrun = 'make smoke'\n[gates.uat]\nreview = 'reviewer'\nask = 'the forms'\n",
        );
        assert_eq!(wrong, []);
        let stories = vec![Story { id: "US-001".to_owned(), title: "Save".to_owned() }];
        let about = About { todolist_path: "plans/a-todolist.md".to_owned(), stories, ..About::default() };
        let (groups, tasks) = gates(&config, &[], &about, 3);
        let told: Vec<String> = tasks
            .iter()
            .map(|task| format!("{} {} {}: {}", task.group, task.id, task.attempts, task.checks[0].run))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        3 gate-unit_tests 4: make test
        4 gate-e2e_tests 1: make e2e
        5 gate-smoke_test 3: make smoke
        6 gate-story_coverage 2: {**/*e2e*,**/*e2e*/**} holds US-001
        7 gate-uat 4: reviewer reviews it: the forms
        8 gate-licences 4: make licences
        9 gate-qa_review 3: reviewer reviews it: the work of plans/a-todolist.md as a whole: correctness, security, tests that can fail, code that others can read.
        ");
        assert_eq!(groups.len(), 7);
        assert!(tasks.iter().all(|task| task.may_fail && task.check_first));
    }
}
