//! Titles and prompts of tasks.

use super::{Draft, DraftTask};
use crate::plan::TaskId;

/// A longer title does not fit a line of a list, nor the subject of a commit.
const LONGEST: usize = 100;

/// The text of an item as a title, without the signs of Markdown around words. What does not fit into a title is cut
/// there.
pub(in crate::system) fn title_of(text: &str) -> String {
    let plain = text.replace("**", "").replace("__", "");
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain: String = words.chars().filter(|c| !c.is_control()).collect();
    let Some((end, _)) = plain.char_indices().nth(LONGEST) else { return plain };
    let cut = &plain[..end];
    let cut = cut.rsplit_once(' ').map_or(cut, |(words, _)| words);
    format!("{}…", cut.trim_end_matches([',', ';', ':', '-', '(']))
}

impl Draft {
    /// What an agent is asked to do. It names no line of the file: a plan in which lines move has not changed.
    pub(super) fn prompt(&self, task: &DraftTask, id: &TaskId, title: &str) -> String {
        let mut parts = vec![title.to_owned()];
        let texts = [&task.words, &task.around].map(|text| text.trim().to_owned());
        parts.extend(texts.into_iter().filter(|text| !text.is_empty()));
        if !self.context.is_empty() {
            let files: Vec<String> = self.context.iter().map(|file| format!("- {file}")).collect();
            parts.push(format!("Read first, as far as it concerns this task:\n{}", files.join("\n")));
        }
        let mut place = match &task.origin {
            Some(origin) => format!("This is {origin}."),
            None => format!("This is task {id} of {}.", task.file),
        };
        if let Some(why) = task.standing.why_not_ours() {
            place.push_str(&format!(" It is not for Piton: {why}."));
        }
        let only = match (self.closing, &task.origin) {
            (Some(closing), _) => closing,
            (None, Some(_)) => "Do only this task, and leave the issue itself alone.",
            (None, None) => {
                "Do only this task, and do not change that file: Piton does when the task is completed."
            }
        };
        parts.push(format!("{place} {only}"));
        parts.join("\n\n")
    }
}
