//! What the rules of a host ask for on the target branch, and what of that a run cannot give.

use serde::Deserialize;
use serde_json::Value;

use super::answer::{Ask, ask, parse};
use super::{Kind, Place};
use crate::plan::{MergeBy, Method, Requests};

/// Branch protection of GitHub, as those see it who may push and may not administrate.
const PROTECTION: &str = "query($owner: String!, $name: String!, $ref: String!, $branch: String!) { \
    repository(owner: $owner, name: $name) { mergeQueue(branch: $branch) { id } \
    ref(qualifiedName: $ref) { refUpdateRule { requiredApprovingReviewCount requiresLinearHistory requiresSignatures } } } }";

/// What is asked for on a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// Approvals of people.
    pub approvals: u64,
    pub signed: bool,
    /// No merge commits.
    pub linear: bool,
    /// Only the host's queue merges.
    pub queue: bool,
    /// The ways to merge that are allowed, where a rule names them.
    pub methods: Option<Vec<Method>>,
    /// Pushes of unsigned commits are rejected, on every branch.
    pub signed_pushes: bool,
}

/// A part of what a host can be asked about its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Rules,
    Protection,
    Project,
    Approvals,
    PushRule,
}

/// Something that is asked for and that the run does not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// No request could be merged.
    Stops { reason: String, hint: String },
    /// Each request waits for that.
    Waits(String),
}

/// What there is to ask about a branch.
pub fn parts(place: &Place, branch: &str) -> Vec<(Part, Ask)> {
    let path = place.api_path();
    let api = |rest: &str| ask(["api", &format!("{path}{rest}")]);
    match place.kind {
        Kind::GitHub => {
            let field = |name: &str, value: &str| format!("{name}={value}");
            let protection = ask([
                "api",
                "graphql",
                "-f",
                &field("query", PROTECTION),
                "-f",
                &field("owner", &place.owner),
                "-f",
                &field("name", &place.name),
                "-f",
                &field("ref", &format!("refs/heads/{branch}")),
                "-f",
                &field("branch", branch),
            ]);
            let rules = api(&format!("/rules/branches/{}?per_page=100", branch.replace('/', "%2F")));
            vec![(Part::Rules, rules), (Part::Protection, protection)]
        }
        Kind::GitLab => vec![
            (Part::Project, api("")),
            (Part::Approvals, api("/approval_rules?per_page=100")),
            (Part::PushRule, api("/push_rule")),
        ],
    }
}

impl Demands {
    /// Add what an answer says.
    pub fn read(&mut self, part: Part, answer: &[u8]) -> Result<(), String> {
        match part {
            Part::Rules => parse::<Vec<Rule>>(answer)?.into_iter().for_each(|rule| self.add_rule(&rule)),
            Part::Protection => {
                let data: Value = parse(answer)?;
                let repository = &data["data"]["repository"];
                if !repository.is_object() {
                    return Err("the host's answer names no repository".to_owned());
                }
                let rule = &repository["ref"]["refUpdateRule"];
                let holds = |key: &str| rule[key].as_bool().unwrap_or_default();
                self.approvals =
                    self.approvals.max(rule["requiredApprovingReviewCount"].as_u64().unwrap_or_default());
                self.linear |= holds("requiresLinearHistory");
                self.signed |= holds("requiresSignatures");
                self.queue |= repository["mergeQueue"].is_object();
            }
            Part::Project => {
                let project: Project = parse(answer)?;
                let all = [Method::Merge, Method::Squash, Method::Rebase].into_iter();
                let may_squash = project.squash_option.as_deref() != Some("never");
                self.methods = Some(all.filter(|method| may_squash || *method != Method::Squash).collect());
            }
            Part::Approvals => {
                let all: Vec<Approvals> = parse(answer)?;
                self.approvals =
                    all.iter().map(|rule| rule.approvals_required).fold(self.approvals, u64::max);
            }
            Part::PushRule => {
                let rule: Value = parse(answer)?;
                self.signed_pushes |= rule["reject_unsigned_commits"].as_bool().unwrap_or_default();
            }
        }
        Ok(())
    }

    fn add_rule(&mut self, rule: &Rule) {
        match rule.kind.as_str() {
            "merge_queue" => self.queue = true,
            "required_linear_history" => self.linear = true,
            "required_signatures" => self.signed = true,
            "pull_request" => {
                let count = rule.parameters["required_approving_review_count"].as_u64();
                self.approvals = self.approvals.max(count.unwrap_or_default());
                if let Some(named) = rule.parameters["allowed_merge_methods"].as_array() {
                    let named: Vec<&str> = named.iter().filter_map(Value::as_str).collect();
                    let allowed = |(name, _): &&(&str, Method)| named.contains(name);
                    let ruled = Method::ALL.iter().filter(allowed).map(|(_, method)| *method);
                    let before = self.methods.take();
                    let still = |method: &Method| before.as_ref().is_none_or(|all| all.contains(method));
                    self.methods = Some(ruled.filter(still).collect());
                }
            }
            _ => {}
        }
    }

    /// What of it a run with these settings does not give. `signs`: commits are signed here.
    pub fn lacks(&self, branch: &str, settings: &Requests, signs: bool) -> Vec<Lack> {
        let mut lacks = Vec::new();
        let mut stops =
            |reason: String, hint: &str| lacks.push(Lack::Stops { reason, hint: hint.to_owned() });
        // How a person merges is theirs to choose.
        let merges = settings.merge != MergeBy::Person;
        if self.queue && settings.merge == MergeBy::Piton {
            stops(format!("only the host's queue merges into `{branch}`"), "--merge host   asks the queue");
        }
        if self.linear && merges && settings.method == Method::Merge {
            stops(
                format!("`{branch}` allows no merge commits"),
                "--merge-method squash, or rebase   merges without one",
            );
        }
        if let Some(methods) =
            self.methods.as_ref().filter(|methods| merges && !methods.contains(&settings.method))
        {
            let name = |wanted: Method| {
                Method::ALL.iter().find(|(_, method)| *method == wanted).map_or("", |(name, _)| name)
            };
            let allowed: Vec<&str> = methods.iter().map(|method| name(*method)).collect();
            stops(
                format!("the rules of `{branch}` do not allow to {}", name(settings.method)),
                &format!("--merge-method can be: {}", allowed.join(", ")),
            );
        }
        // The host signs what it squashes itself.
        let unsigned = self.signed && settings.method != Method::Squash && merges;
        if !signs && (unsigned || self.signed_pushes) {
            stops(
                format!("`{branch}` needs signed commits, and git signs none here"),
                "git config commit.gpgsign true   signs them, once a key is set up",
            );
        }
        if self.approvals > 0 && merges {
            let approvals = if self.approvals == 1 { "an approval" } else { "approvals" };
            let count = if self.approvals == 1 { String::new() } else { format!("{} ", self.approvals) };
            lacks.push(Lack::Waits(format!(
                "`{branch}` needs {count}{approvals}: each request waits for people"
            )));
        }
        lacks
    }
}

#[derive(Deserialize)]
struct Rule {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    parameters: Value,
}

#[derive(Deserialize)]
struct Project {
    #[serde(rename = "id")]
    _id: u64,
    #[serde(default)]
    squash_option: Option<String>,
}

#[derive(Deserialize)]
struct Approvals {
    #[serde(default)]
    approvals_required: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(demands: &Demands, merge: MergeBy, method: Method, signs: bool) -> Vec<String> {
        let settings = Requests { merge, method, ..Requests::default() };
        let words = |lack: Lack| match lack {
            Lack::Stops { reason, .. } => format!("stops: {reason}"),
            Lack::Waits(reason) => format!("waits: {reason}"),
        };
        demands.lacks("main", &settings, signs).into_iter().map(words).collect()
    }

    #[test]
    fn rules_and_protection_of_github_are_read_together() {
        let mut demands = Demands::default();
        let rules = br#"[{"type": "pull_request", "parameters": {"required_approving_review_count": 2,
            "allowed_merge_methods": ["squash", "rebase"]}}, {"type": "merge_queue"}, {"type": "deletion"}]"#;
        demands.read(Part::Rules, rules).expect("rules");
        let protection = br#"{"data": {"repository": {"mergeQueue": null, "ref": {"refUpdateRule":
            {"requiredApprovingReviewCount": 1, "requiresLinearHistory": true, "requiresSignatures": true}}}}}"#;
        demands.read(Part::Protection, protection).expect("protection");
        let expected = Demands {
            approvals: 2,
            signed: true,
            linear: true,
            queue: true,
            methods: Some(vec![Method::Squash, Method::Rebase]),
            signed_pushes: false,
        };
        assert_eq!(demands, expected);
        let unprotected =
            br#"{"data": {"repository": {"mergeQueue": null, "ref": {"refUpdateRule": null}}}}"#;
        let mut demands = Demands::default();
        demands.read(Part::Protection, unprotected).expect("no protection");
        assert_eq!(demands, Demands::default());
        assert!(demands.read(Part::Protection, br#"{"data": {"repository": null}}"#).is_err());
        assert!(demands.read(Part::Rules, b"{}").is_err());
    }

    #[test]
    fn rules_of_gitlab_are_read() {
        let mut demands = Demands::default();
        demands.read(Part::Project, br#"{"id": 1, "squash_option": "never"}"#).expect("a project");
        demands
            .read(Part::Approvals, br#"[{"approvals_required": 0}, {"approvals_required": 3}]"#)
            .expect("rules");
        demands.read(Part::PushRule, b"null").expect("no rule");
        assert!(!demands.signed_pushes);
        demands.read(Part::PushRule, br#"{"reject_unsigned_commits": true}"#).expect("a rule");
        assert_eq!((demands.approvals, demands.signed_pushes), (3, true));
        assert_eq!(demands.methods, Some(vec![Method::Merge, Method::Rebase]));
    }

    #[test]
    fn what_a_run_does_not_give_is_said_and_what_it_gives_is_not() {
        let all = Demands { approvals: 1, signed: true, linear: true, queue: true, ..Demands::default() };
        assert_eq!(
            lacks(&all, MergeBy::Piton, Method::Merge, false),
            [
                "stops: only the host's queue merges into `main`",
                "stops: `main` allows no merge commits",
                "stops: `main` needs signed commits, and git signs none here",
                "waits: `main` needs an approval: each request waits for people",
            ]
        );
        assert_eq!(
            lacks(&all, MergeBy::Host, Method::Squash, false),
            ["waits: `main` needs an approval: each request waits for people"]
        );
        assert_eq!(lacks(&all, MergeBy::Person, Method::Merge, false), Vec::<String>::new());
        let pushes = Demands { signed_pushes: true, ..Demands::default() };
        assert_eq!(lacks(&pushes, MergeBy::Person, Method::Squash, false).len(), 1);
        assert_eq!(lacks(&pushes, MergeBy::Piton, Method::Squash, true), Vec::<String>::new());
        let some = Demands { methods: Some(vec![Method::Rebase]), ..Demands::default() };
        assert_eq!(
            lacks(&some, MergeBy::Piton, Method::Squash, true),
            ["stops: the rules of `main` do not allow to squash"]
        );
    }
}
