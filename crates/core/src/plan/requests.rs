//! How work lands by requests: a pull request of GitHub, or a merge request of GitLab.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// A run that has these lands each task by a request. A run without them moves the target itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    pub merge: MergeBy,
    pub method: Method,
    /// The remote whose host has the requests.
    pub remote: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Requests are opened as drafts: a person says when each is ready.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    /// How often the host or its reviewers may send a task back before a person is asked.
    pub rounds: u32,
    /// The time between two looks at a request.
    pub poll: Span,
    /// How long a request without any check is given, since its branch was pushed. The host may begin its checks late.
    pub settle: Span,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            merge: MergeBy::default(),
            method: Method::default(),
            remote: "origin".to_owned(),
            labels: Vec::new(),
            draft: false,
            // With more, an agent that cannot make the host's checks pass costs as much as several tasks.
            rounds: 3,
            // A host allows thousands of questions an hour, and its checks take minutes.
            poll: Span::seconds(30),
            settle: Span::minutes(1),
        }
    }
}

/// Who merges a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeBy {
    /// Piton, once the host's checks pass and nothing stands in the way.
    #[default]
    Piton,
    /// The host, by its queue or by merging automatically: Piton asks for it once.
    Host,
    Person,
}

impl MergeBy {
    pub const ALL: [(&'static str, MergeBy); 3] =
        [("piton", MergeBy::Piton), ("host", MergeBy::Host), ("person", MergeBy::Person)];
}

/// How the host makes one history of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    #[default]
    Merge,
    Squash,
    Rebase,
}

impl Method {
    pub const ALL: [(&'static str, Method); 3] =
        [("merge", Method::Merge), ("squash", Method::Squash), ("rebase", Method::Rebase)];
}
