//! What the configuration says: which statuses there are, and which of them are the first and the last.

use crate::system::kit::frontmatter::Fields;

/// Statuses of a project that names none.
const USUAL: [&str; 3] = ["To Do", "In Progress", "Done"];
/// Words for done, wherever they stand in the list.
const DONE: [&str; 4] = ["done", "completed", "complete", "closed"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) name: Option<String>,
    pub(super) statuses: Vec<String>,
    default: Option<String>,
    /// Commands that every task is proven by, among other things.
    pub(super) definition_of_done: Vec<String>,
    /// The folder of the tasks, from the root of the project on. Only a configuration at the root says it.
    pub(super) directory: Option<String>,
    /// It has the fields of Backlog.md.
    pub(super) is_one: bool,
}

impl Config {
    pub(super) fn read(text: &str) -> Config {
        let fields = Fields::read(text, 0..text.len());
        let list = |name: &str| fields.list(name).into_iter().map(|value| value.text).collect::<Vec<_>>();
        let statuses = list("statuses");
        Config {
            name: fields.text("project_name").map(str::to_owned),
            is_one: fields.get("project_name").is_some() && !statuses.is_empty(),
            statuses: if statuses.is_empty() { USUAL.map(str::to_owned).to_vec() } else { statuses },
            default: fields.text("default_status").map(str::to_owned),
            definition_of_done: list("definition_of_done"),
            directory: ["backlog_directory", "backlogDirectory"]
                .into_iter()
                .find_map(|name| fields.text(name))
                .and_then(inside),
        }
    }

    /// What a task that is done is called: the last status, unless another one says so by its name.
    pub(super) fn done(&self) -> &str {
        let named = self.statuses.iter().find(|status| DONE.contains(&plain(status).as_str()));
        named.or(self.statuses.last()).map_or(USUAL[2], String::as_str)
    }

    /// What a task is called that nobody has begun.
    pub(super) fn open(&self) -> &str {
        self.default.as_deref().or(self.statuses.first().map(String::as_str)).unwrap_or(USUAL[0])
    }

    pub(super) fn is_done(&self, status: &str) -> bool {
        plain(status) == plain(self.done())
    }

    pub(super) fn is_open(&self, status: &str) -> bool {
        let plain_status = plain(status);
        plain_status == plain(self.open())
            || self.statuses.first().is_some_and(|first| plain(first) == plain_status)
    }

    pub(super) fn knows(&self, status: &str) -> bool {
        self.statuses.iter().any(|known| plain(known) == plain(status))
    }
}

/// A path that stays in the project, without what says nothing. Others do not count, as for the tool itself.
fn inside(path: &str) -> Option<String> {
    let plain = path.trim().replace('\\', "/");
    let parts: Vec<&str> = plain.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let stays = !plain.starts_with('/') && !parts.contains(&"..") && !plain.contains(':');
    (stays && !parts.is_empty()).then(|| parts.join("/"))
}

fn plain(status: &str) -> String {
    status.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_status_is_done_unless_another_one_is_called_so() {
        let done = |text: &str| Config::read(text).done().to_owned();
        assert_eq!(done("statuses: [\"To Do\", \"Doing\", \"Shipped\"]\n"), "Shipped");
        assert_eq!(done("statuses: [Open, Done, Wontfix]\n"), "Done");
        assert_eq!(done("statuses:\n  - Open\n  - Fertig\n"), "Fertig");
        assert_eq!(done(""), "Done");
        assert!(Config::read("statuses: [\"To Do\", Done]\n").is_open("to do"));
        assert!(
            Config::read("statuses: [Draft, \"To Do\", Done]\ndefault_status: \"To Do\"\n").is_open("To Do")
        );
    }

    #[test]
    fn a_folder_counts_if_it_lies_in_the_project() {
        let folder = |path: &str| Config::read(&format!("backlog_directory: \"{path}\"\n")).directory;
        assert_eq!(folder("./docs//backlog/").as_deref(), Some("docs/backlog"));
        assert_eq!(folder(".backlog").as_deref(), Some(".backlog"));
        for path in ["../other", "a/../..", "/etc", "C:/x", "", "."] {
            assert_eq!(folder(path), None, "{path}");
        }
    }

    #[test]
    fn another_tool_with_a_config_is_not_one() {
        assert!(Config::read("project_name: \"x\"\nstatuses: [\"To Do\", \"Done\"]\n").is_one);
        assert!(!Config::read("project_name: x\n").is_one);
        assert!(!Config::read("statuses: []\nproject_name: x\n").is_one);
    }
}
