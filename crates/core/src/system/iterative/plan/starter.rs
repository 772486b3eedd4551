//! The folder that `piton new iterative` writes: small, complete, and explained where one looks. It runs as it stands.

use std::fmt::Write;

use super::templates::{Phase, phases};
use super::{BRIEFS, LISTS};
use crate::plan::{BadId, Domain, RunId};
use crate::system::iterative::context::{self, Facts};
use crate::time::Timestamp;

/// The files of a new folder. A slug that cannot be part of a path is refused.
pub fn starter(slug: &str, domain: Domain, now: Timestamp) -> Result<Vec<(String, String)>, BadId> {
    RunId::new(slug)?;
    let words = slug.replace(['-', '_'], " ");
    let mut letters = words.chars();
    let title: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let head = format!("**Created:** {now}\n");
    let file =
        |name: &str, text: String| (name.to_owned(), text.replace("TITLE", &title).replace("HEAD\n", &head));
    let phases = phases(domain);
    let kept = if phases.is_empty() {
        vec![
            file(BRIEFS[0], CODE_BRIEF.replace("DOMAIN", domain.word())),
            file(LISTS[0], CODE_TASKS.replace("SLUG", slug)),
            (context::FILE.to_owned(), context::write(&of_code(title.clone()))),
        ]
    } else {
        vec![
            file(BRIEFS[0], brief(domain, phases)),
            file(LISTS[1], plan(slug, domain, phases)),
            (context::FILE.to_owned(), context::write(&of_phases(title.clone(), domain, phases))),
        ]
    };
    Ok(kept)
}

const CODE_BRIEF: &str = "# TITLE

HEAD
**Mode:** development
**Domain:** DOMAIN

## Outcome Needed

A person at a terminal is greeted by `greet.sh`. Say here what is wanted instead, and for whom.

## Done When

- `sh greet.sh Ada` prints `Hello, Ada`
- `sh test.sh` passes
- the README shows how it is called

## Constraints

- POSIX shell; nothing is installed

## Approach / Notes

One script, and one that tests it.
";

const CODE_TASKS: &str = "# TITLE - Tasks

<!-- See what this means: `piton plan .claude/iterative/SLUG`; work on it: `piton run .claude/iterative/SLUG`.
     Replace these tasks by your own. Each is worked on in iterations until its criteria hold, one more pass finds
     nothing left to do, and a verifier agrees. `Model: opus` below a task gives it to the agent of that name. -->

HEAD
**Total:** 3 tasks

## Dependencies

T1 → T2 (sequential)
T3 (independent)

## Tasks

- [ ] **T1**: Write the script
  - Files: `greet.sh`
  - Criteria:
    - with a name it prints `Hello, ` and the name
    - without one it prints `Hello!`
  - Completion: `<signal>T1_DONE</signal>`
  - Max iterations: 5
  - Depends: none

- [ ] **T2**: Test it
  - Files: `test.sh`
  - Criteria: `sh test.sh` fails if either line is wrong
  - Completion: `<signal>T2_DONE</signal>`
  - Max iterations: 5
  - Depends: T1

- [ ] **T3**: Show in the README how it is called
  - Files: `README.md`
  - Criteria: the call and what it prints stand in one block
  - Completion: `<signal>T3_DONE</signal>`
  - Max iterations: 3
  - Depends: none

## Notes

Keep to what the shell itself can do.
";

/// What every agent has to know of the tasks above.
fn of_code(task: String) -> Facts {
    Facts {
        task,
        goal: "A script that greets.".to_owned(),
        approach: "Plain shell, tested by a second script.".to_owned(),
        files: pairs(&[("greet.sh", "greets"), ("test.sh", "calls it with and without a name")]),
        patterns: vec!["Quote every variable".to_owned()],
        signals: pairs(&[
            ("T1", "the script prints both lines"),
            ("T2", "the test passes"),
            ("T3", "the README shows the call"),
        ]),
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned())).collect()
}

fn brief(domain: Domain, phases: &[Phase]) -> String {
    let last = phases.last().map_or("", |phase| phase.output);
    format!(
        "# TITLE\n\nHEAD\n**Mode:** knowledge\n**Domain:** {domain}\n\n\
         ## Outcome Needed\n\n\
         A short text on what this project is for. Say here what is wanted instead, and for whom.\n\n\
         ## Done When\n\n\
         - `{last}` holds it, and can be read without anything else\n\
         - every fact in it can be found in the project\n\n\
         ## Constraints\n\n\
         - one page\n\n\
         ## Approach / Notes\n\n\
         Start from the README.\n"
    )
}

fn plan(slug: &str, domain: Domain, phases: &[Phase]) -> String {
    let folder = format!(".claude/iterative/{slug}");
    let mut text = format!(
        "# TITLE - Phases\n\n\
         <!-- See what this means: `piton plan {folder}`; work on it: `piton run {folder}`.\n     \
         Change the phases to what you need. Outputs are files of this folder, or of the project. -->\n\n\
         HEAD\n**Domain:** {domain}\n**Total:** {} phases\n\n## Phases\n",
        phases.len()
    );
    for Phase { id, title, criteria, output, limit } in phases {
        let _ = write!(
            text,
            "\n- [ ] **{id}**: {title}\n  - Criteria: {criteria}\n  - Output: `{output}`\n  - Max iterations: {limit}\n"
        );
    }
    let ids: Vec<&str> = phases.iter().map(|phase| phase.id).collect();
    let _ = write!(text, "\n## Dependencies\n\n{} (sequential)\n", ids.join(" → "));
    text
}

/// The same of phases.
fn of_phases(task: String, domain: Domain, phases: &[Phase]) -> Facts {
    let output = |phase: &Phase| (phase.output.to_owned(), phase.title.to_lowercase());
    let signal = |phase: &Phase| (phase.id.to_owned(), format!("`{}` is there", phase.output));
    Facts {
        task,
        goal: "A short text on what this project is for.".to_owned(),
        approach: format!("The usual phases of {domain}, one after the other."),
        files: phases.iter().map(output).collect(),
        patterns: vec!["Name the source of every claim".to_owned()],
        signals: phases.iter().map(signal).collect(),
    }
}
