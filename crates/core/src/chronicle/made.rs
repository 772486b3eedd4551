//! What a completed task made for others: all that a newcomer to the run reads about it.

use serde::{Deserialize, Serialize};

use super::{Chronicle, Story};
use crate::plan::{Export, RepoPath, TaskId, TaskSpec};
use crate::run::{Event, Recorded};
use crate::terminal::clean_text;

/// Nothing in it is blank, and no file is in it twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Made {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What the plan says that it makes, and what its reports name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exports: Vec<Export>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// As git saw them, else as reported, else as planned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl Made {
    /// What the story of a task tells, and its spec if the plan still has it.
    pub fn new(story: &Story, spec: Option<&TaskSpec>) -> Made {
        let reports = &story.reports;
        let all = |of: fn(&super::WorkReport) -> &Vec<String>| {
            reports.iter().flat_map(of).filter(|text| !is_blank(text)).cloned().collect()
        };
        Made {
            title: Some(&story.title).filter(|title| !is_blank(title)).cloned().unwrap_or_default(),
            exports: spec.map(|spec| spec.exports.clone()).unwrap_or_default(),
            named: all(|report| &report.exports),
            decisions: all(|report| &report.decisions),
            patterns: all(|report| &report.patterns),
            notes: reports
                .iter()
                .map(|report| &report.note)
                .filter(|note| !is_blank(note))
                .cloned()
                .collect(),
            files: files(story, spec),
        }
    }

    /// What a task has made, and where in the journal it was completed, by the events about it. `None`: it is not completed.
    pub fn of_task(task: &TaskId, events: &[Recorded]) -> Option<(u64, Made)> {
        let mut spec = None;
        for recorded in events {
            match &recorded.event {
                Event::TaskAdded { spec: now, .. } | Event::TaskChanged { spec: now, .. } => {
                    spec = Some(&**now);
                }
                Event::TaskRemoved { .. } => spec = None,
                _ => {}
            }
        }
        let chronicle = Chronicle::of(events);
        let story = chronicle.task(task)?;
        Some((story.completed?, Made::new(story, spec)))
    }
}

fn is_blank(text: &str) -> bool {
    clean_text(text.as_bytes()).trim().is_empty()
}

fn files(story: &Story, spec: Option<&TaskSpec>) -> Vec<String> {
    let seen = story.changed.iter().flat_map(|files| files.created.iter().chain(&files.modified));
    let reported = story.reports.iter().flat_map(|report| &report.files);
    let planned = spec.iter().flat_map(|spec| &spec.files).map(RepoPath::as_str);
    let mut files: Vec<&str> = seen.map(String::as_str).collect();
    if files.is_empty() {
        files.extend(reported.map(String::as_str));
    }
    if files.is_empty() {
        files.extend(planned);
    }
    // Only the last place of a file counts.
    let mut last: Vec<String> = Vec::new();
    for file in files.into_iter().rev().filter(|file| !is_blank(file)) {
        if !last.iter().any(|known| known == file) {
            last.push(file.to_owned());
        }
    }
    last.reverse();
    last
}
