//! Finding plans: which system a folder or a file is a plan of, and which plan a typed name means.
//!
//! Systems share names of files. A claim says which file makes a folder a plan and how sure that is, and of two claims
//! to the same file the surer one counts.

use super::{SystemRef, systems};

/// What is on disk. The core opens nothing itself.
pub trait Disk {
    fn is_file(&self, path: &str) -> bool;

    /// The names in a folder, in order. Empty if there is no such folder.
    fn names(&self, folder: &str) -> Vec<String>;

    /// The content of a file. `None`: it does not exist, is too large, or may not be read.
    fn read(&self, path: &str) -> Option<Vec<u8>>;

    /// Whether a file that can be read has this in it.
    fn holds(&self, path: &str, text: &str) -> bool {
        self.read(path)
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .is_some_and(|whole| whole.contains(text))
    }

    /// The path without links. `None`: it does not exist.
    fn real(&self, path: &str) -> Option<String>;
}

/// `folder/name`, and `name` alone in the current folder.
pub fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        _ => format!("{}/{name}", folder.trim_end_matches('/')),
    }
}

/// A system takes a folder for its plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The file that makes it one.
    pub file: String,
    pub strength: Strength,
}

impl Claim {
    pub fn new(file: &str, strength: Strength) -> Claim {
        Claim { file: file.to_owned(), strength }
    }
}

/// How sure a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// It counts only where no other system claims the folder.
    Fallback,
    /// By files that other systems may have as well.
    ByFiles,
    /// By its own files, or the folder's name.
    ByName,
    /// By the place where the system keeps its plans.
    ByPlace,
}

/// Whether a file belongs to a plan of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileClaim {
    No,
    /// If the folder around it is a plan of the system.
    InItsFolder,
    /// By its name or content.
    Yes,
    /// It could be read as one, where no other system claims it.
    LastResort,
}

/// What a typed text names, where it is not a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// Such as "issue 42".
    pub what: String,
    /// The command that makes a plan for it.
    pub new: String,
    /// It cannot mean anything else.
    pub is_certain: bool,
}

/// A folder of an older layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outdated {
    /// Where folders of the system are kept now, from the root of the project.
    pub place: &'static str,
    /// The path that the folder gets there.
    pub to: String,
    /// A file in it that is called something else now, and its new name.
    pub renamed: (&'static str, &'static str),
}

/// The project that a plan names, by paths from the plan's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectNamed {
    /// As the plan says.
    pub in_plan: Option<String>,
    /// As its state file says.
    pub in_state: Option<String>,
}

/// The systems that a folder could be a plan of.
pub fn claimants(folder: &str, disk: &dyn Disk) -> Vec<SystemRef> {
    let all: Vec<(SystemRef, Claim)> =
        systems().filter_map(|system| Some((system, system.claims_folder(folder, disk)?))).collect();
    let is_beaten = |claim: &Claim| {
        all.iter().any(|(_, other)| match claim.strength {
            Strength::Fallback => other.strength > Strength::Fallback,
            strength => other.file == claim.file && other.strength > strength,
        })
    };
    all.iter().filter(|(_, claim)| !is_beaten(claim)).map(|(system, _)| *system).collect()
}

/// The system whose plan a file belongs to. Piton's own, if no system claims it.
pub fn of_file(path: &str, disk: &dyn Disk) -> SystemRef {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let around = claimants(folder, disk);
    let claims: Vec<(SystemRef, FileClaim)> =
        systems().map(|system| (system, system.claims_file(name, path, disk))).collect();
    let in_folder =
        claims.iter().find(|(system, claim)| *claim == FileClaim::InItsFolder && around.contains(system));
    let by_name = || claims.iter().find(|(_, claim)| *claim == FileClaim::Yes);
    let by_content = || {
        let is_list_of_plans = systems().any(|system| system.collection(name).is_some());
        claims.iter().find(|(_, claim)| *claim == FileClaim::LastResort && !is_list_of_plans)
    };
    in_folder.or_else(by_name).or_else(by_content).map_or_else(|| super::own(), |(system, _)| *system)
}
