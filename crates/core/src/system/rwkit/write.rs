//! A plan as a todolist: what this system has words for.

use std::fmt::Write;

use super::todolist::{Task, Todolist};
use crate::plan::{About, AboutTask, Plan, RepoPath, TaskId, TaskSpec};
use crate::run::Refusal;
use crate::system::Folder;
use crate::system::addition::{Addition, refused};
use crate::system::export::renumber;
use crate::system::kit::checklist;
use crate::system::kit::problems::Problems;
use crate::system::kit::text;

/// The same plan with ids that such a list can have: `T` and digits. Others are counted. Gates are the project's.
pub fn fit(plan: &Plan) -> Plan {
    let mut fitted = plan.clone();
    if plan.settings.form.list().is_some() {
        fitted.tasks.retain(|task| super::state::gate_of(&task.id).is_none());
    }
    if fitted.tasks.iter().all(|task| super::line::is_id(task.id.as_str())) {
        return fitted;
    }
    renumber(&mut fitted, |nth| {
        TaskId::new(&format!("T{:03}", nth + 1)).expect("a letter and digits are an id")
    });
    fitted
}

/// The list, as a file of its plan's name. What it says about a task stands below its box, as bullets.
pub fn write(plan: &Plan, done: impl Fn(&TaskId) -> bool) -> Vec<(String, String)> {
    let none = About::default();
    let about = plan.settings.form.list().unwrap_or(&none);
    let mut text = format!("# Todolist: {}\n", plan.name);
    let mut part: Option<String> = None;
    for task in &plan.tasks {
        let said = about.tasks.get(&task.id);
        let story = said.and_then(|said| said.story.as_deref()).unwrap_or("ALL");
        if part.as_deref() != Some(story) {
            let title = about.stories.iter().find(|told| told.id == story).map(|told| told.title.as_str());
            let title = title.filter(|title| !title.is_empty()).unwrap_or("Tasks");
            let _ = write!(text, "\n## User Story: {story} {title}\n\n### Tasks\n\n");
            part = Some(story.to_owned());
        }
        let agent = said.and_then(|said| said.agent.as_deref()).unwrap_or(&task.agent);
        let mark = if done(&task.id) { 'x' } else { ' ' };
        // An empty list would say that the task need not change anything.
        let files = listed(task.files.iter().map(RepoPath::as_str), "-");
        let says = !task.files.is_empty() || task.may_change_nothing;
        let _ = writeln!(
            text,
            "- [{mark}] {} P{} {story} {} [agent: {agent}] [deps: {}]{}{}",
            task.id,
            task.priority,
            task.title,
            listed(task.depends_on.iter().map(TaskId::as_str), "none"),
            tag("files", says.then_some(&files)),
            tag("size", said.and_then(|said| said.size.as_deref())),
        );
        details(&mut text, task);
    }
    vec![(format!("{}-todolist.md", plan.name), text)]
}

fn details(text: &mut String, task: &TaskSpec) {
    for line in task.prompt.lines().map(str::trim).filter(|line| !line.is_empty() && *line != task.title) {
        let _ = writeln!(text, "  - {}", line.trim_start_matches(['-', '*', '+', '#', '[', '>', ' ']));
    }
}

fn listed<'a>(items: impl Iterator<Item = &'a str>, none: &str) -> String {
    let items: Vec<&str> = items.collect();
    if items.is_empty() { none.to_owned() } else { items.join(", ") }
}

fn tag(name: &str, value: Option<&str>) -> String {
    value.map(|value| format!(" [{name}: {value}]")).unwrap_or_default()
}

/// The list that `piton new rwkit NAME` writes: small, right, and a beginning.
pub fn skeleton(name: &str) -> String {
    format!(
        "# Todolist: {name}\n\n\
         ## Overview\n\n\
         What is built, in two sentences. Every task is one line; an agent does it in a worktree of its own.\n\n\
         ## User Story: US-001 Say what somebody can do at the end\n\n\
         > As somebody, I want something, so that something is better.\n\n\
         ### Acceptance Criteria\n\n\
         - [ ] What can be seen when it is done\n\n\
         ### Tasks\n\n\
         - [ ] T001 P1 ALL Lay the ground [agent: default] [deps: none] [files: docs/ground.md] [size: S]\n\
         - [ ] T002 P1 US-001 Build on it [agent: default] [deps: T001] [files: docs/built.md] [size: M]\n\n\
         ### Story Progress: 0/2\n\n\
         ## Progress Summary\n\n\
         - Total Tasks: 2\n- Completed: 0\n"
    )
}

/// The list's name and its bytes with one more task, or `None` if it is in it already. It stands behind the last task
/// with a box of its story, or of the whole list.
pub fn add(folder: &Folder, plan: &Plan, task: &Addition) -> Result<Option<(String, Vec<u8>)>, Refusal> {
    let about = &task.about;
    let name = plan.settings.form.list().map(|about| about.todolist_path.clone()).unwrap_or_default();
    let bytes = folder.files.get(&name).ok_or_else(|| refused("the plan has no list of tasks", None))?;
    if task.checks.is_some() || task.layer.is_some() {
        let hint = "in `piton.toml`: `[defaults]` with `checks = [\"make test\"]`".to_owned();
        return Err(refused("a line of a list has no checks and no batch of its own", Some(hint)));
    }
    if !super::line::is_id(task.id.as_str()) {
        return Err(refused(format!("{} cannot be a task of a list", task.id), Some("like T012".to_owned())));
    }
    let text = text::decode(bytes).text;
    let list = Todolist::read(&checklist::scan(&text), &text, &mut Problems::default());
    let title = task.title.trim();
    if let Some(known) = list.tasks.iter().find(|known| known.id.folded() == task.id.folded()) {
        return if known.title == title { Ok(None) } else { Err(task.taken()) };
    }
    let story = about.story.as_deref().unwrap_or("ALL");
    let boxed = || list.tasks.iter().filter(|known| known.place.is_some() && !known.in_table);
    let of_story = |known: &&Task| known.story.is_some_and(|nth| list.stories[nth].story.id == story);
    let last = boxed().rfind(of_story).filter(|_| about.story.is_some()).or_else(|| boxed().next_back());
    let place = last.and_then(|known| known.place.clone());
    let place = place.ok_or_else(|| refused("the list has no task to put it after", None))?;
    let line_start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let indent: String = text[line_start..].chars().take_while(|c| [' ', '\t'].contains(c)).collect();
    let files = listed(task.files.iter().map(RepoPath::as_str), "-");
    let mut block = format!(
        "{indent}- [ ] {} P2 {story} {title}{} [deps: {}]{}{}\n",
        task.id,
        tag("agent", about.agent.as_deref()),
        listed(task.after.iter().map(TaskId::as_str), "none"),
        tag("files", (!task.files.is_empty()).then_some(&files)),
        tag("size", about.size.as_deref()),
    );
    for line in task.description.iter().flat_map(|text| text.lines()).map(str::trim).filter(|l| !l.is_empty())
    {
        let _ = writeln!(block, "{indent}  - {line}");
    }
    let end = end_of_block(&text, line_start, indent.len());
    let missing_end = !text[..end].ends_with('\n');
    let block = if missing_end { format!("\n{}", block.trim_end()) } else { block };
    let crlf = bytes.windows(2).any(|pair| pair == b"\r\n");
    let block = if crlf { block.replace('\n', "\r\n") } else { block };
    match checklist::replace(bytes, &text, &[(end..end, block)]) {
        Some(new) => Ok(Some((name, new))),
        None => Err(refused(format!("`{name}` is not UTF-8, so Piton does not change it"), None)),
    }
}

/// What was read back out of the grown list has to be what was asked for.
pub fn is_said(grown: &Plan, task: &TaskId, about: &AboutTask) -> Result<(), Refusal> {
    let none = AboutTask::default();
    let read = grown.settings.form.list().and_then(|list| list.tasks.get(task)).unwrap_or(&none);
    let pairs = [
        ("story", &about.story, &read.story),
        ("agent", &about.agent, &read.agent),
        ("size", &about.size, &read.size),
    ];
    match pairs.iter().find(|(_, asked, read)| asked.is_some() && asked != read) {
        Some((what, ..)) => Err(refused(format!("the {what} would be read as something else"), None)),
        None => Ok(()),
    }
}

/// Where the lines of a task end: what is further to the right is part of it.
fn end_of_block(text: &str, start: usize, indent: usize) -> usize {
    let mut end = start;
    let mut at = start;
    for (nth, line) in text[start..].split_inclusive('\n').enumerate() {
        let own = line.len() - line.trim_start_matches([' ', '\t']).len();
        let blank = line.trim().is_empty();
        if nth > 0 && !blank && own <= indent {
            break;
        }
        at += line.len();
        if !blank {
            end = at;
        }
    }
    end
}
