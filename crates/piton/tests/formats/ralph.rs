//! The stories of a Ralph loop, from outside: the worked example is planned and run.

use piton_testkit::sandbox::Sandbox;

use crate::{project, status};

const FILE: &str = "prd.json";
const WORK: &str = "\
[US-001]
write receipts.sh case $1 in keep) echo $2,$3,$4 >> kept.csv;; esac
[US-002]
write receipts.sh case $1 in keep) echo $2,$3,$4 >> kept.csv;; find) grep $2 kept.csv;; esac
[US-003]
write docs/receipts.md receipts.sh keep DAY SHOP AMOUNT
";

fn receipts() -> Sandbox {
    project("ralph", WORK)
}

/// The flags of the stories, in the order of the file.
fn flags(sandbox: &Sandbox) -> Vec<bool> {
    let file: serde_json::Value = serde_json::from_str(&sandbox.read(FILE)).expect("JSON");
    let stories = file["userStories"].as_array().expect("stories");
    stories.iter().map(|story| story["passes"] == true).collect()
}

#[test]
fn the_plan_shows_the_stories_in_their_order_with_what_judges_them() {
    let sandbox = receipts();
    insta::assert_snapshot!(sandbox.run("plan prd.json").exits(0).to_string(), @r#"
    exit: 0
    --- stdout
    Receipts 3 tasks in 1 group, up to 3 at once

    Receipts
      US-001   Keep a receipt  prd.json:8  [grep -q keep receipts.sh; sh -n receipts.sh]
      US-002   Find a receipt ← US-001  prd.json:32  [grep -q find receipts.sh; sh -n receipts.sh]
      US-003   Describe it ← US-002  prd.json:20  [sh -n receipts.sh]

    critical path 3 steps: US-001 → US-002 → US-003
    --- stderr
    warning: a criterion asks a person to look at the result
      --> prd.json:24:9
       |
    24 |         "Verify in browser that the page is readable"
       |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ no check does that
    prd.json is read as a plan of the ralph system
    "#);
}

#[test]
fn a_run_lands_every_story_on_its_branch_and_changes_nothing_but_the_flags() {
    let sandbox = receipts();
    let before = sandbox.read(FILE);
    let run = sandbox.run("run prd.json").exits(0);
    assert!(!run.contains("attempt 2"), "{run}");
    assert_eq!(flags(&sandbox), [true; 3]);
    // The flag of a criterion is not that of its story.
    let stories = before.replace("      \"passes\": false", "      \"passes\": true");
    let own = "          \"passes\": true\n        }";
    let wanted = stories.replace(own, &own.replace("true", "false"));
    assert_eq!(sandbox.read(FILE), wanted, "nothing else of the file has changed");
    let landed = sandbox.history("ralph/receipts");
    let order: Vec<&str> = ["US-001", "US-002", "US-003"]
        .into_iter()
        .filter(|id| landed.iter().any(|line| line.contains(id)))
        .collect();
    assert_eq!(order.len(), 3, "{landed:?}");
    let place = |id: &str| landed.iter().position(|line| line.contains(id));
    assert!(place("US-001") < place("US-002") && place("US-002") < place("US-003"), "{landed:?}");
    assert!(!sandbox.history("main").iter().any(|line| line.contains("US-001")));
}

#[test]
fn a_flag_that_is_set_is_believed_when_a_run_begins() {
    let sandbox = receipts();
    sandbox.write("receipts.sh", "case $1 in keep) echo $2,$3,$4 >> kept.csv;; esac\n");
    sandbox.write(FILE, &sandbox.read(FILE).replacen("\"passes\": false", "\"passes\": true", 1));
    sandbox.commit("The first story is done");
    let _ = sandbox.run("run prd.json").exits(0).lacks("US-001   attempt");
    assert_eq!(status(&sandbox, "US-001"), "completed");
    assert_eq!(flags(&sandbox), [true; 3]);
}

#[test]
fn a_flag_that_is_set_during_a_run_is_set_back_if_the_checks_fail() {
    let sandbox = receipts();
    let _ = sandbox.run("next --plan prd.json").exits(0);
    let before = sandbox.read(FILE);
    sandbox.write(FILE, &before.replacen("\"passes\": false", "\"passes\": true", 1));
    let _ = sandbox.run("journal add looked").exits(0);
    assert_eq!(sandbox.read(FILE), before);
    assert_ne!(status(&sandbox, "US-001"), "completed");
    let _ = sandbox.run("log").exits(0).says("prd.json");
}

#[test]
fn a_product_document_is_refused_with_what_it_has() {
    let sandbox = receipts();
    sandbox.write(FILE, "{\"title\": \"A product\", \"goals\": [], \"userStories\": [\"As a clerk\"]}\n");
    insta::assert_snapshot!(sandbox.run("plan prd.json").exits(1).to_string(), @r#"
    exit: 1
    --- stderr
    error: this prd.json is not a list of user stories
     --> prd.json:1:1
      |
    1 | {"title": "A product", "goals": [], "userStories": ["As a clerk"]}
      | ^ it has `title`, `goals`, `userStories`
      |
    help: a plan has `userStories`, a list of objects with `id`, `title` and `passes`
    error: prd.json has 1 problem
    "#);
}
