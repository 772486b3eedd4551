//! Hosts of code: GitHub and GitLab, as far as Piton has to know them. Which of them a remote belongs to, what the words of
//! their programs mean, and when a question is worth asking again. The engine's room of the same name starts the programs.

mod answer;
pub mod demands;
mod failure;
pub mod gitlab;
mod patience;
mod place;
pub mod request;
#[cfg(test)]
mod tests;

pub use failure::{Ended, Failure};
pub use patience::{Asked, ask_again_after};
pub use place::{NoPlace, Place};

use serde::{Deserialize, Serialize};

/// What a host runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    GitHub,
    GitLab,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::GitHub, Kind::GitLab];

    /// As people write it.
    pub fn named(name: &str) -> Option<Kind> {
        match name {
            "github" => Some(Kind::GitHub),
            "gitlab" => Some(Kind::GitLab),
            _ => None,
        }
    }

    /// The program that talks to it.
    pub const fn program(self) -> &'static str {
        match self {
            Kind::GitHub => "gh",
            Kind::GitLab => "glab",
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Kind::GitHub => "GitHub",
            Kind::GitLab => "GitLab",
        }
    }

    /// What it calls the request to merge a branch.
    pub const fn request(self) -> &'static str {
        match self {
            Kind::GitHub => "pull request",
            Kind::GitLab => "merge request",
        }
    }

    /// What stands before the number of such a request.
    pub const fn request_mark(self) -> char {
        match self {
            Kind::GitHub => '#',
            Kind::GitLab => '!',
        }
    }

    /// Where people get its program.
    pub const fn install_page(self) -> &'static str {
        match self {
            Kind::GitHub => "https://cli.github.com",
            Kind::GitLab => "https://gitlab.com/gitlab-org/cli",
        }
    }
}
