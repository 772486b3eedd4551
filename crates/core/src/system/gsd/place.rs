//! Where the files of GSD lie, and what its plans are called. A plan's id comes from the name of its file: the fields in it
//! are numbers to some readers of YAML and texts to others.

use crate::plan::TaskId;
use crate::system::Disk;
use crate::system::finding::join;
use crate::system::kit::draft::{Draft, DraftTask};

pub(super) const FOLDER: &str = ".planning";
pub(super) const ROADMAP: &str = "ROADMAP.md";
pub(super) const STATE: &str = "STATE.md";
pub(super) const PHASES: &str = "phases";
/// What each phase may have beside its plans, by the ends of the names.
pub(super) const CONTEXT: &str = "CONTEXT.md";
pub(super) const RESEARCH: &str = "RESEARCH.md";
/// What counts for the whole project.
pub(super) const PROJECT: [&str; 3] = ["PROJECT.md", "REQUIREMENTS.md", STATE];
/// Phases that are not part of the current work: what was put off, and what came before.
const NOT_NOW: [&str; 2] = ["999", "0"];
/// Names of one folder, and folders; more are not looked at.
const MOST: usize = 5000;

/// A plan of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlanPath {
    pub(super) id: TaskId,
    /// From the folder of the roadmap on.
    pub(super) path: String,
    /// Its number in its phase, if its name has one: `01` of `03-01-PLAN.md`.
    pub(super) number: String,
    /// The phase by the name of its folder: `03-auth`.
    pub(super) phase: String,
}

impl PlanPath {
    /// The file that says that the plan was carried out. It is that of GSD: `PLAN` in the name becomes `SUMMARY`.
    pub(super) fn summary(&self) -> String {
        let (folder, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let at = name.rfind("PLAN").unwrap_or(0);
        join(folder, &format!("{}SUMMARY{}", &name[..at], &name[at + "PLAN".len().min(name.len() - at)..]))
    }
}

impl PlanPath {
    /// The same as older versions called it: the word behind the name of the plan.
    pub(super) fn older_summary(&self) -> Option<String> {
        Some(format!("{}-SUMMARY.md", self.path.strip_suffix(".md")?))
    }
}

/// The folder that a roadmap lies in. Workstreams are folders of the same kind.
pub(super) fn root_of(roadmap: &str) -> Option<&str> {
    let root = roadmap.strip_suffix(ROADMAP)?.trim_end_matches('/');
    let mut parts = root.rsplit('/');
    let last = parts.next()?;
    let above = (parts.next(), parts.next());
    (last == FOLDER || above == (Some("workstreams"), Some(FOLDER))).then_some(root)
}

/// `03` of `03-auth`, `02.1` of `02.1-fix`: what the roadmap calls the phase.
pub(super) fn phase_number(phase: &str) -> &str {
    let end = phase.find('-').unwrap_or(phase.len());
    &phase[..end]
}

/// A number of a phase without the zeros before it, to compare: `3` and `03` are one.
pub(super) fn plain_number(number: &str) -> String {
    let part = |part: &str| {
        let bare = part.trim_start_matches('0');
        let is_empty = bare.is_empty() || !bare.starts_with(|c: char| c.is_ascii_digit());
        if is_empty && part.starts_with('0') { format!("0{bare}") } else { bare.to_owned() }
    };
    number.trim().to_lowercase().split('.').map(part).collect::<Vec<_>>().join(".")
}

/// In the order of numbers, each part by its value: 2, 2.1, 10.
pub(super) fn order_of(number: &str) -> Vec<(u64, String)> {
    let part = |part: &str| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        (part[..digits].parse().unwrap_or(u64::MAX), part[digits..].to_owned())
    };
    plain_number(number).split('.').map(part).collect()
}

/// Whether a phase is part of the current work.
pub(super) fn is_current(phase: &str) -> bool {
    let number = plain_number(phase_number(phase));
    !NOT_NOW.contains(&number.split('.').next().unwrap_or_default())
}

/// Whether a file of a phase is a plan; `name` is one below the folder of the phase.
fn is_plan(name: &str) -> bool {
    let (folder, name) = name.rsplit_once('/').unwrap_or(("", name));
    let Some(stem) = name.strip_suffix(".md") else { return false };
    let is_numbered = |start: &str| start.starts_with(|c: char| c.is_ascii_digit());
    match folder {
        "" => {
            stem == "PLAN"
                || stem.ends_with("-PLAN")
                || stem.split_once("-PLAN-").is_some_and(|(_, rest)| {
                    is_numbered(rest) && !rest.ends_with("SUMMARY") && !rest.ends_with("OUTLINE")
                })
        }
        "plans" => {
            stem.strip_prefix("PLAN-").or_else(|| Some(stem.split_once("-PLAN-")?.1)).is_some_and(is_numbered)
        }
        _ => false,
    }
}

/// What a plan is called by its path, and its number in the phase.
fn name_of(phase: &str, name: &str) -> (String, String) {
    let stem = name.rsplit('/').next().unwrap_or(name).trim_end_matches(".md");
    let number = phase_number(phase);
    // `03-01-PLAN`, `05-PLAN`, `PIVOT-PLAN`, `PLAN`.
    if let Some(before) = stem.strip_suffix("PLAN").map(|before| before.trim_end_matches('-')) {
        let last = before.strip_prefix(number).map_or(before, |rest| rest.trim_start_matches('-'));
        let is_whole = before.is_empty() || before == number;
        let id = match (is_whole, before.starts_with(number)) {
            (true, _) => number.to_owned(),
            (false, true) => before.to_owned(),
            (false, false) => format!("{number}-{before}"),
        };
        return (id, last.to_owned());
    }
    // `12-PLAN-01`, `PLAN-01`, `PLAN-01-setup`.
    let behind = stem.rsplit_once("PLAN-").map_or(stem, |(_, behind)| behind);
    let digits = behind.bytes().take_while(u8::is_ascii_alphanumeric).count();
    (format!("{number}-{}", &behind[..digits]), behind[..digits].to_owned())
}

/// The plans among these files, whose paths begin at the folder of the roadmap. They are in the order of their phases and
/// numbers, and each has an id of its own: reader and writer call them the same.
pub(super) fn plans<'p>(paths: impl IntoIterator<Item = &'p str>) -> Vec<PlanPath> {
    let mut found: Vec<(String, String, String, String)> = Vec::new();
    for path in paths {
        let Some((phase, name)) = path.strip_prefix("phases/").and_then(|rest| rest.split_once('/')) else {
            continue;
        };
        if is_plan(name) && is_current(phase) {
            let (id, number) = name_of(phase, name);
            found.push((phase.to_owned(), id, number, path.to_owned()));
        }
    }
    found.sort_by_cached_key(|(phase, id, number, path)| {
        (order_of(phase_number(phase)), phase.clone(), order_of(number), id.clone(), path.clone())
    });
    found.dedup_by(|a, b| a.3 == b.3);
    let mut named: Vec<DraftTask> = Vec::new();
    for (phase, id, ..) in &found {
        let is_taken = named.iter().rev().take(200).any(|known| known.name == *id);
        let name =
            if is_taken { format!("{id}-{}", &phase[phase_number(phase).len()..]) } else { id.clone() };
        named.push(DraftTask { name, ..DraftTask::default() });
    }
    let ids = Draft { tasks: named, ..Draft::default() }.ids();
    let plan = |(id, (phase, _, number, path)): (TaskId, (String, String, String, String))| PlanPath {
        id,
        path,
        number,
        phase,
    };
    ids.into_iter().zip(found).map(plan).collect()
}

/// Whether a box of the roadmap is about a plan: it names the plan, or its file.
pub(super) fn is_box_of(name: &str, plan: &PlanPath) -> bool {
    let file = plan.path.rsplit('/').next().unwrap_or_default();
    let stem = file.trim_end_matches(".md");
    let is_file = stem == name || stem.strip_suffix("-PLAN") == Some(name);
    let is_id = plan.id.as_str().eq_ignore_ascii_case(name);
    let is_numbered = || {
        let (phase, number) = name.rsplit_once('-')?;
        let is_phase = plain_number(phase) == plain_number(phase_number(&plan.phase));
        Some(is_phase && plain_number(number) == plain_number(&plan.number))
    };
    is_file || is_id || is_numbered().unwrap_or(false)
}

/// The plan that a box of the roadmap is about. Of two, the one with that very name.
pub(super) fn of_box<'p>(name: &str, plans: &'p [PlanPath]) -> Option<&'p PlanPath> {
    let exact = plans.iter().find(|plan| plan.id.as_str() == name);
    exact.or_else(|| plans.iter().find(|plan| is_box_of(name, plan)))
}

/// The plan that another one means by a name: `03-01`, `01`, `03-01-PLAN.md`, `03-auth-01`.
pub(super) fn named_by<'p>(name: &str, by: &PlanPath, plans: &'p [PlanPath]) -> Option<&'p PlanPath> {
    let name = name.rsplit('/').next().unwrap_or(name).trim_end_matches(".md").trim_end_matches("-PLAN");
    let name = name.strip_prefix("Plan ").or_else(|| name.strip_prefix("plan ")).unwrap_or(name);
    let in_own =
        |plan: &&PlanPath| plan.phase == by.phase && plain_number(&plan.number) == plain_number(name);
    let in_named = || {
        let (phase, number) = name.rsplit_once('-')?;
        let is_it =
            |plan: &&PlanPath| plan.phase == phase && plain_number(&plan.number) == plain_number(number);
        plans.iter().find(is_it)
    };
    plans.iter().find(in_own).or_else(|| of_box(name, plans)).or_else(in_named)
}

/// The files that are read with a roadmap, as far as they exist, by their paths from its folder on. `names` lists a folder
/// below it.
pub(super) fn along(names: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let mut files: Vec<String> = PROJECT.iter().map(|name| (*name).to_owned()).collect();
    for phase in names(PHASES).into_iter().filter(|phase| is_current(phase)).take(MOST) {
        let folder = join(PHASES, &phase);
        let is_part = |name: &&String| {
            let ends = |end: &str| name.ends_with(end);
            is_plan(name) || ends("SUMMARY.md") || is_beside(name, CONTEXT) || is_beside(name, RESEARCH)
        };
        let own = names(&folder);
        files.extend(own.iter().filter(is_part).take(MOST).map(|name| join(&folder, name)));
        if own.iter().any(|name| name == "plans") {
            let folder = join(&folder, "plans");
            let nested = names(&folder).into_iter().filter(|name| name.ends_with(".md")).take(MOST);
            files.extend(nested.map(|name| join(&folder, &name)));
        }
    }
    files
}

/// `CONTEXT.md`, or `03-CONTEXT.md`.
pub(super) fn is_beside(name: &str, end: &str) -> bool {
    name == end || name.strip_suffix(end).is_some_and(|before| before.ends_with('-'))
}

/// The same from disk.
pub(super) fn along_on(roadmap: &str, disk: &dyn Disk) -> Vec<String> {
    let Some(root) = root_of(roadmap) else { return Vec::new() };
    let names = |folder: &str| disk.names(&join(root, folder));
    along(&names).into_iter().map(|name| join(root, &name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(paths: &[&str]) -> Vec<(String, String)> {
        plans(paths.iter().copied()).into_iter().map(|plan| (plan.id.to_string(), plan.summary())).collect()
    }

    #[test]
    fn ids_come_from_names_in_the_ways_they_were_seen() {
        let found = ids(&[
            "phases/03-auth/03-02-PLAN.md",
            "phases/03-auth/03-01-PLAN.md",
            "phases/03-auth/03-01-SUMMARY.md",
            "phases/12-all/12-PLAN-01.md",
            "phases/05-more/05-PLAN.md",
            "phases/06-turn/PIVOT-PLAN.md",
            "phases/20A-x/plans/PLAN-01.md",
            "phases/20A-x/plans/SUMMARY-01.md",
            "phases/02.1-fix/02.1-01-PLAN.md",
            "phases/999-later/999-01-PLAN.md",
            "phases/03-auth/03-PLAN-REVIEW.md",
            "phases/12-all/12-PLAN-01-SUMMARY.md",
        ]);
        let found: Vec<(&str, &str)> = found.iter().map(|(id, path)| (id.as_str(), path.as_str())).collect();
        assert_eq!(
            found,
            [
                ("02.1-01", "phases/02.1-fix/02.1-01-SUMMARY.md"),
                ("03-01", "phases/03-auth/03-01-SUMMARY.md"),
                ("03-02", "phases/03-auth/03-02-SUMMARY.md"),
                ("05", "phases/05-more/05-SUMMARY.md"),
                ("06-PIVOT", "phases/06-turn/PIVOT-SUMMARY.md"),
                ("12-01", "phases/12-all/12-SUMMARY-01.md"),
                ("20A-01", "phases/20A-x/plans/SUMMARY-01.md"),
            ]
        );
    }

    #[test]
    fn a_number_that_two_phases_have_is_told_apart_by_the_second_ones_name() {
        let found = ids(&["phases/01-base/01-01-PLAN.md", "phases/01-other/01-01-PLAN.md"]);
        let found: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(found, ["01-01", "01-01-other"]);
    }

    #[test]
    fn numbers_of_phases_are_compared_by_value() {
        assert!(order_of("2") < order_of("02.1") && order_of("02.1") < order_of("10"));
        assert_eq!(
            (plain_number("03"), plain_number("03.01"), plain_number("0")),
            ("3".into(), "3.1".into(), "0".into())
        );
    }

    #[test]
    fn a_workstream_is_a_root_too() {
        assert_eq!(root_of("a/.planning/ROADMAP.md"), Some("a/.planning"));
        assert_eq!(root_of(".planning/workstreams/web/ROADMAP.md"), Some(".planning/workstreams/web"));
        assert_eq!(root_of("docs/ROADMAP.md"), None);
        assert_eq!(root_of("ROADMAP.md"), None);
    }
}
