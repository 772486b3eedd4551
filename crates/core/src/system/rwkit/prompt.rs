//! A task as its agent reads it.

use super::todolist::{ListedStory, Task, Todolist};
use crate::system::kit::checklist::{Checklist, Kind};

/// How many bytes of a story are repeated for each of its tasks.
const REPEATED: usize = 2000;

/// A list that tasks are made of.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) lines: &'a Checklist,
    pub(super) list: &'a Todolist,
    /// The text about each story.
    stories: Vec<String>,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, lines: &'a Checklist, list: &'a Todolist) -> Source<'a> {
        Source {
            text,
            lines,
            list,
            stories: list.stories.iter().map(|told| about_story(text, told)).collect(),
        }
    }
}

/// What the agent is asked to do. The caller adds files and checks. `retold` is how many bytes may still be repeated,
/// over the whole list.
pub(super) fn prompt(source: &Source<'_>, task: &Task, retold: &mut usize) -> String {
    let Source { list, stories, .. } = source;
    let title = if list.title.is_empty() { "a list of tasks" } else { &list.title };
    let mut said = format!("This is one task of {title}.");
    let told = task.story.map(|story| &list.stories[story]);
    if let Some(ListedStory { story, .. }) = told {
        said += &match story.title.as_str() {
            "" => format!(" It is for {}.", story.id),
            title if title == story.id => format!(" It is for the story {title:?}."),
            title => format!(" It is for {}, {title}.", story.id),
        };
    }
    said += &own(source, task);
    let story = task.story.map_or("", |story| &stories[story]);
    if let Some(left) = retold.checked_sub(story.len()) {
        *retold = left;
        said += story;
    }
    said
}

/// What the list says about this task alone, each part after a blank line.
pub(super) fn own(source: &Source<'_>, task: &Task) -> String {
    let mut said = String::new();
    let note = Some(task.note.as_str()).filter(|note| !note.is_empty());
    for part in note.into_iter().chain(task.others.iter().map(|at| source.text[at.clone()].trim())) {
        said += &format!("\n\n{}", part.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let body = body(source.text, source.lines, task);
    if !body.is_empty() {
        said += &format!("\n\n{body}");
    }
    said
}

/// What stands below the line of a task, without marks that change while it is worked on.
fn body(text: &str, lines: &Checklist, task: &Task) -> String {
    let mut body = String::new();
    let mut blank = false;
    for (nth, line) in lines.lines.get(task.details.clone()).unwrap_or_default().iter().enumerate() {
        let goes_on = line.indent > task.indent || (nth == 0 && line.kind == Kind::Text);
        let said = match &line.kind {
            Kind::Blank => {
                blank = !body.is_empty();
                continue;
            }
            _ if !goes_on => break,
            Kind::Item(item) if item.struck => continue,
            Kind::Item(_) => format!("- {}", &text[line.text.clone()]),
            Kind::Bullet | Kind::Text | Kind::Code | Kind::Quote | Kind::Table => {
                text[line.at.clone()].trim().to_owned()
            }
            Kind::Heading(_) | Kind::Rule | Kind::Comment | Kind::FrontMatter => continue,
        };
        body += if std::mem::take(&mut blank) { "\n" } else { "" };
        // Deeper indentation says nothing more.
        body.extend(std::iter::repeat_n(' ', line.indent.saturating_sub(task.indent + 2).min(40)));
        body += &said;
        body.push('\n');
    }
    body.trim_end().to_owned()
}

/// A story: what is wanted, and when it is accepted.
fn about_story(text: &str, told: &ListedStory) -> String {
    let mut said = String::new();
    let shown = |said: &str| {
        said.trim_start_matches(['>', ' ']).chars().filter(|c| !c.is_control()).collect::<String>()
    };
    for line in told.quote.iter().map(|at| shown(&text[at.clone()])).filter(|line| !line.is_empty()) {
        if said.len() < REPEATED {
            said += &format!("\n> {line}");
        }
    }
    if !said.is_empty() {
        said = format!("\n\n## The story\n{said}");
    }
    if !told.criteria.is_empty() {
        said += &format!(
            "\n\n## When {} is accepted\n\nYour task is a part of it, and must not stand in its way.\n",
            told.story.id
        );
    }
    for (nth, at) in told.criteria.iter().enumerate() {
        if said.len() > REPEATED {
            said += &format!("\n- and {} more", told.criteria.len() - nth);
            break;
        }
        said += &format!("\n- {}", shown(&text[at.clone()]));
    }
    said
}
