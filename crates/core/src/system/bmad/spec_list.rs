//! `stories.yaml`: the stories of a spec in the order of their execution. It says what each is about, and nothing about how
//! far it is; Piton does not change it.
//!
//! Agents write these files by hand, so a line that is not understood is kept apart, and the others are read.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::plan::TaskId;
use crate::system::kit::draft::{Draft, DraftTask, slug, title_of};
use crate::system::kit::frontmatter::Fields;
use crate::system::kit::text::trimmed;

/// Stories of one list; more are not read.
const MOST: usize = 5000;
/// Fields of a story that Piton reads.
const KNOWN: [&str; 7] =
    ["id", "title", "description", "spec_checkpoint", "done_checkpoint", "invoke_dev_with", "depends_on"];
/// Those that only lists of BMAD have.
const OWN: [&str; 3] = ["spec_checkpoint", "done_checkpoint", "invoke_dev_with"];

#[derive(Clone, Debug, Default)]
pub(super) struct SpecList {
    pub(super) stories: Vec<ListedStory>,
    /// Lines that are not fields of a story, and stories without a name.
    pub(super) odd: Vec<Range<usize>>,
    /// Fields that Piton does not read, by their names.
    pub(super) unused: Vec<(String, Range<usize>)>,
    /// Whether its fields are such as only BMAD has.
    pub(super) is_certain: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ListedStory {
    /// The line that names it.
    pub(super) at: Range<usize>,
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
    /// Its instructions from the planner.
    pub(super) guidance: String,
    /// A person looks at its plan before it is implemented.
    pub(super) spec_checkpoint: Option<Range<usize>>,
    /// A person looks at what was made before the next story begins.
    pub(super) done_checkpoint: Option<Range<usize>>,
    pub(super) needs: Vec<(String, Range<usize>)>,
    /// A status, which is not read.
    pub(super) status: Option<Range<usize>>,
    /// Its id is made of its title, or of its place.
    pub(super) is_unnamed: bool,
}

/// A task that a story becomes: itself, or what a person has to look at before it or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Spec,
    Story,
    Done,
}

impl SpecList {
    /// `None`: it is not a list of stories.
    pub(super) fn read(text: &str) -> Option<SpecList> {
        let mut list = SpecList::default();
        let mut top = None;
        let mut open: Option<RawStory> = None;
        for line in lines(text) {
            let whole = trimmed(text, line.clone());
            let said = &text[whole.clone()];
            let indent = whole.start - line.start;
            let is_item = said == "-" || said.starts_with("- ");
            let is_nothing = said.is_empty() || said.starts_with('#') || said == "---" || said == "...";
            match (top, &mut open) {
                (None, _) if is_nothing => {}
                (None, _) if !is_item => return None,
                (None, _) => {
                    top = Some(indent);
                    open = Some(RawStory::begin(text, &line, whole));
                }
                (Some(top), _) if indent == top && is_item => {
                    let done = open.replace(RawStory::begin(text, &line, whole));
                    done.into_iter().for_each(|story| list.take(story));
                    if list.stories.len() == MOST {
                        list.odd.push(trimmed(text, line));
                        open = None;
                        break;
                    }
                }
                (Some(top), Some(story)) if indent > top || is_nothing => story.read_line(text, &line, whole),
                (Some(_), _) => list.odd.push(whole),
            }
        }
        open.into_iter().for_each(|story| list.take(story));
        let is_story = |story: &ListedStory| !story.is_unnamed && !story.title.is_empty();
        list.stories.iter().any(is_story).then_some(list)
    }

    fn take(&mut self, story: RawStory) {
        self.odd.extend(story.odd.iter().cloned());
        let field = |name: &str| story.fields.iter().find(|field| field.name == name);
        let text = |name: &str| field(name).map(Field::text).unwrap_or_default();
        let flag = |name: &str| field(name).filter(|field| !field.is_off()).map(|field| field.at.clone());
        let mut own = ListedStory {
            at: field("title").or(field("id")).map_or(story.at.clone(), |field| field.at.clone()),
            id: text("id"),
            title: text("title"),
            description: text("description"),
            guidance: text("invoke_dev_with"),
            spec_checkpoint: flag("spec_checkpoint"),
            done_checkpoint: flag("done_checkpoint"),
            needs: field("depends_on").map(Field::items).unwrap_or_default(),
            status: field("status").map(|field| field.at.clone()),
            is_unnamed: false,
        };
        self.is_certain |= story.fields.iter().any(|field| OWN.contains(&field.name.as_str()));
        let unused = story
            .fields
            .iter()
            .filter(|field| !KNOWN.contains(&field.name.as_str()) && field.name != "status");
        self.unused.extend(unused.map(|field| (field.name.clone(), field.at.clone())));
        if own.id.is_empty() && own.title.is_empty() {
            self.odd.push(story.at);
            return;
        }
        if own.id.is_empty() {
            own.is_unnamed = true;
            own.id = Some(slug(&own.title))
                .filter(|slug| !slug.is_empty())
                .unwrap_or_else(|| format!("story-{}", self.stories.len() + 1));
        }
        self.stories.push(own);
    }

    /// Its tasks in their order, each with the position of its story.
    pub(super) fn parts(&self) -> impl Iterator<Item = (usize, Part)> {
        self.stories.iter().enumerate().flat_map(|(nth, story)| {
            let spec = story.spec_checkpoint.iter().map(|_| Part::Spec);
            let done = story.done_checkpoint.iter().map(|_| Part::Done);
            spec.chain([Part::Story]).chain(done).map(move |part| (nth, part))
        })
    }

    /// The ids of the stories: reader and writer call them the same.
    pub(super) fn ids(&self) -> Vec<TaskId> {
        let parts: Vec<(usize, Part)> = self.parts().collect();
        let task = |(nth, part): &(usize, Part)| self.stories[*nth].named(*part);
        let ids = Draft { tasks: parts.iter().map(task).collect(), ..Draft::default() }.ids();
        let own = ids.into_iter().zip(parts).filter(|(_, (_, part))| *part == Part::Story);
        own.map(|(id, _)| id).collect()
    }

    /// The files of each story among those of its folder: `1-sign-in.md` is one of the story `1`. Of ids that begin with each
    /// other, the longest one gets it.
    pub(super) fn files<'n>(&self, names: &[&'n str]) -> Vec<Vec<&'n str>> {
        let known: HashMap<&str, usize> =
            self.stories.iter().enumerate().rev().map(|(nth, story)| (story.id.as_str(), nth)).collect();
        let mut files = vec![Vec::new(); self.stories.len()];
        for name in names {
            let Some(stem) = name.rsplit('/').next().and_then(|name| name.strip_suffix(".md")) else {
                continue;
            };
            let dashes = stem.match_indices('-').map(|(at, _)| &stem[..at]).rev();
            let story = std::iter::once(stem).chain(dashes).find_map(|id| known.get(id));
            story.into_iter().for_each(|nth| files[*nth].push(*name));
        }
        files
    }

    /// Stories whose id begins with that of another one and a dash, each with that id.
    pub(super) fn nested<'s>(&'s self) -> Vec<(&'s ListedStory, &'s str)> {
        let known: HashSet<&str> = self.stories.iter().map(|story| story.id.as_str()).collect();
        let begins = |story: &'s ListedStory| {
            let mut parts = story.id.match_indices('-').map(|(at, _)| &story.id[..at]);
            parts.find(|part| known.contains(part))
        };
        self.stories.iter().filter_map(|story| Some((story, begins(story)?))).collect()
    }
}

impl ListedStory {
    /// A part of it as a task that has a name and a title, and nothing else yet.
    pub(super) fn named(&self, part: Part) -> DraftTask {
        let own = if self.title.is_empty() { &self.id } else { &self.title };
        let (ending, title) = match part {
            Part::Spec => (".spec", format!("Look at the plan of: {own}")),
            Part::Story => ("", own.clone()),
            Part::Done => (".done", format!("Look at what was made: {own}")),
        };
        DraftTask {
            name: format!("{}{ending}", self.id),
            title: title_of(&title),
            at: self.at.clone(),
            ..DraftTask::default()
        }
    }
}

/// A story while its lines are read.
struct RawStory {
    at: Range<usize>,
    /// Where the names of its fields begin in their lines, once that is known.
    indent: Option<usize>,
    fields: Vec<Field>,
    odd: Vec<Range<usize>>,
}

/// `name: value`, with the lines that belong to it.
struct Field {
    name: String,
    at: Range<usize>,
    /// Behind the colon.
    head: String,
    /// The lines below, as they are.
    tail: Vec<String>,
}

impl RawStory {
    fn begin(text: &str, line: &Range<usize>, whole: Range<usize>) -> RawStory {
        let mut story = RawStory { at: whole.clone(), indent: None, fields: Vec::new(), odd: Vec::new() };
        let rest = trimmed(text, whole.start + 1..whole.end);
        if !rest.is_empty() {
            story.read_field(text, rest.start - line.start, rest);
        }
        story
    }

    fn read_line(&mut self, text: &str, line: &Range<usize>, whole: Range<usize>) {
        let said = &text[whole.clone()];
        let indent = whole.start - line.start;
        let is_below = said.is_empty() || self.indent.is_some_and(|own| indent > own);
        // Items of a list may stand right below its name.
        let is_item = self.indent == Some(indent) && (said == "-" || said.starts_with("- "));
        match self.fields.last_mut() {
            Some(field) if is_below || is_item => field.tail.push(text[line.clone()].trim_end().to_owned()),
            _ if said.is_empty() || said.starts_with('#') => {}
            _ => self.read_field(text, indent, whole),
        }
    }

    fn read_field(&mut self, text: &str, indent: usize, whole: Range<usize>) {
        let named = text[whole.clone()].split_once(':').filter(|(name, rest)| {
            let name = name.trim_matches(['"', '\'']);
            let is_name = name.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c));
            !name.is_empty() && is_name && (rest.is_empty() || rest.starts_with([' ', '\t']))
        });
        match named.filter(|_| self.indent.is_none_or(|own| own == indent)) {
            Some((name, rest)) => {
                self.indent = Some(indent);
                let name = name.trim_matches(['"', '\'']).to_owned();
                let head = rest.trim().to_owned();
                self.fields.push(Field { name, at: whole, head, tail: Vec::new() });
            }
            None => self.odd.push(whole),
        }
    }
}

impl Field {
    fn text(&self) -> String {
        match self.head.chars().next() {
            Some(kind @ ('|' | '>')) => self.block(kind == '>'),
            _ => {
                let lines =
                    std::iter::once(self.head.as_str()).chain(self.tail.iter().map(|line| line.trim()));
                let whole = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
                let line = format!("x: {whole}");
                let value = Fields::read(&line, 0..line.len());
                let value = value.text("x").unwrap_or_default().trim().to_owned();
                if matches!(value.as_str(), "~" | "null") { String::new() } else { value }
            }
        }
    }

    /// The lines below it, without what they are indented by. `folded`: those of a paragraph are one line.
    fn block(&self, folded: bool) -> String {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let lines = self.tail.iter().filter(|line| !line.trim().is_empty());
        let smallest = lines.map(|line| indent(line)).min().unwrap_or(0);
        let mut said = String::new();
        for line in &self.tail {
            let line = if line.trim().is_empty() { "" } else { line.get(smallest..).unwrap_or(line.trim()) };
            match (folded, line.is_empty()) {
                (true, false) if !said.is_empty() && !said.ends_with('\n') => said.push(' '),
                (true, true) => said.push_str("\n\n"),
                _ => {}
            }
            said.push_str(line.trim_end());
            if !folded {
                said.push('\n');
            }
        }
        said.trim().to_owned()
    }

    /// Anything but a word for "no" asks for a person.
    fn is_off(&self) -> bool {
        matches!(self.text().to_lowercase().as_str(), "" | "false" | "no" | "off" | "n")
    }

    /// The items of a list, however it is written.
    fn items(&self) -> Vec<(String, Range<usize>)> {
        let mut text = format!("x: {}\n", self.head);
        self.tail.iter().for_each(|line| text.push_str(&format!("  {}\n", line.trim())));
        let values = Fields::read(&text, 0..text.len()).list("x");
        values.into_iter().map(|value| (value.text, self.at.clone())).collect()
    }
}

fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let own = start..start + line.trim_end_matches('\n').len();
        start += line.len();
        own
    })
}
