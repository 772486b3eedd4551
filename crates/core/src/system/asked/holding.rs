//! What others see at a tracker while Piton works on an issue: Beads has it claimed, a host may have a label and an assignee.
//!
//! It is written as a report is: look, write once, look again. Only what Piton itself has added is taken away.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ask::IssueSource;
use super::closing::{TrackerWrite, WriteKind};
use super::json::{items, line, names};
use super::{beads, gitlab};

/// An issue, and how it is to look while Piton works on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub source: IssueSource,
    /// The repository, such as `github.com/owner/name`.
    pub of: String,
    /// The issue.
    pub id: String,
    pub assigns: bool,
    /// The label that it has meanwhile. Beads needs none: it has a status for it.
    pub label: Option<String>,
}

/// What a tracker says about an issue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldSeen {
    is_open: bool,
    has_label: bool,
    /// It is assigned to who asks.
    is_ours: bool,
    /// It is assigned to nobody.
    is_free: bool,
    /// Who works on it, if somebody else does.
    holder: Option<String>,
    /// What the tracker calls who asks.
    own: String,
}

/// What Piton has added to an issue, and takes away again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HoldMarks {
    pub label: bool,
    pub assignee: bool,
}

impl HoldMarks {
    pub fn is_empty(self) -> bool {
        self == HoldMarks::default()
    }
}

impl HoldSeen {
    /// Who else works on it.
    pub fn holder(&self) -> Option<&str> {
        self.holder.as_deref()
    }
}

impl Hold {
    /// What the program is asked to tell how the issue is: the arguments of each question.
    pub fn look(&self) -> Vec<Vec<String>> {
        let (id, of) = (self.id.as_str(), self.of.as_str());
        let user = || vec!["api".to_owned(), "user".to_owned()];
        match self.source {
            IssueSource::GitHub => {
                let fields = "state,labels,assignees";
                let words = ["issue", "view", id, "--repo", of, "--json", fields];
                vec![words.map(str::to_owned).to_vec(), user()]
            }
            IssueSource::GitLab => vec![gitlab::get(of, &format!("issues/{id}")), user()],
            IssueSource::Beads => vec![beads::show(id)],
        }
    }

    /// What the answers to these say. `None`: they are none.
    pub fn seen(&self, answers: &[String]) -> Option<HoldSeen> {
        let answers: Option<Vec<Value>> =
            answers.iter().map(|answer| serde_json::from_str(answer).ok()).collect();
        let (first, second) = (answers.as_ref()?.first()?, answers.as_ref()?.get(1));
        let (user, open) = match self.source {
            IssueSource::GitHub => ("login", "OPEN"),
            IssueSource::GitLab => ("username", "opened"),
            IssueSource::Beads => return self.seen_in_beads(first),
        };
        let me = second?;
        let name = line(me, user);
        let state = first.get("state")?.as_str()?;
        first.get("labels")?.as_array()?;
        let assignees: Vec<String> =
            items(first, "assignees").map(|item| line(item, user)).filter(|name| !name.is_empty()).collect();
        let own = match self.source {
            IssueSource::GitLab => me.get("id")?.as_u64()?.to_string(),
            IssueSource::GitHub | IssueSource::Beads => name.clone(),
        };
        let is_same = |other: &String| other.eq_ignore_ascii_case(&name);
        let is_label = |known: &String| {
            self.label.as_ref().is_some_and(|label| known.to_lowercase() == label.to_lowercase())
        };
        (!name.is_empty()).then(|| HoldSeen {
            is_open: state == open,
            has_label: names(first, "labels", "name").iter().any(is_label),
            is_ours: assignees.iter().any(is_same),
            is_free: assignees.is_empty(),
            holder: None,
            own,
        })
    }

    fn seen_in_beads(&self, answer: &Value) -> Option<HoldSeen> {
        let issue = beads::shown(answer, &self.id)?;
        let (status, assignee) = (issue.get("status")?.as_str()?, line(issue, "assignee"));
        let is_worked_on = ["in_progress", "hooked"].contains(&status);
        let is_ours = assignee == beads::ACTOR;
        let somebody = || if assignee.is_empty() { "somebody".to_owned() } else { assignee.clone() };
        Some(HoldSeen {
            is_open: status != "closed",
            has_label: false,
            is_ours: is_ours && is_worked_on,
            is_free: assignee.is_empty() || is_ours,
            holder: (is_worked_on && !is_ours).then(somebody),
            own: beads::ACTOR.to_owned(),
        })
    }

    /// What is to be written when work begins, and what that adds. `None`: nothing.
    pub fn take(&self, seen: &HoldSeen) -> Option<(TrackerWrite, HoldMarks)> {
        if !seen.is_open || seen.holder.is_some() {
            return None;
        }
        let label = self.label.as_ref().filter(|_| !seen.has_label && self.source != IssueSource::Beads);
        // An issue of GitLab may have one assignee alone, and in Beads a claim of an assigned issue is refused.
        let may = self.source == IssueSource::GitHub || seen.is_free;
        let assignee = self.assigns && !seen.is_ours && may;
        let marks = HoldMarks { label: label.is_some(), assignee };
        if marks.is_empty() {
            return None;
        }
        let args = match self.source {
            IssueSource::GitHub => {
                let label = label.map(|label| format!("--add-label={label}"));
                self.edit([label, assignee.then(|| "--add-assignee=@me".to_owned())])
            }
            IssueSource::GitLab => {
                let label = label.map(|label| format!("add_labels={}", gitlab::encoded(label)));
                self.put([label, assignee.then(|| format!("assignee_ids%5B%5D={}", seen.own))])
            }
            IssueSource::Beads => {
                ["update", &self.id, "--claim", "--actor", beads::ACTOR, "--json"].map(str::to_owned).to_vec()
            }
        };
        Some((TrackerWrite { args, text: None, what: WriteKind::Hold }, marks))
    }

    /// Whether what `marks` names is there.
    pub fn shows(&self, seen: &HoldSeen, marks: HoldMarks) -> bool {
        (!marks.label || seen.has_label) && (!marks.assignee || seen.is_ours)
    }

    /// What is to be written when the work has ended. `None`: nothing of it is there any more.
    pub fn give_back(&self, seen: &HoldSeen, marks: HoldMarks) -> Option<TrackerWrite> {
        let label = self.label.as_ref().filter(|_| marks.label && seen.has_label);
        let assignee = marks.assignee && seen.is_ours;
        if label.is_none() && !assignee {
            return None;
        }
        let args = match self.source {
            IssueSource::GitHub => {
                let label = label.map(|label| format!("--remove-label={label}"));
                self.edit([label, assignee.then(|| "--remove-assignee=@me".to_owned())])
            }
            IssueSource::GitLab => {
                let label = label.map(|label| format!("remove_labels={}", gitlab::encoded(label)));
                self.put([label, assignee.then(|| "assignee_ids=0".to_owned())])
            }
            // Somebody closed it, or Piton did: it is nobody's to begin with.
            IssueSource::Beads if !seen.is_open => return None,
            IssueSource::Beads => {
                let words =
                    ["update", &self.id, "--status=open", "--assignee=", "--actor", beads::ACTOR, "--json"];
                words.map(str::to_owned).to_vec()
            }
        };
        Some(TrackerWrite { args, text: None, what: WriteKind::Hold })
    }

    fn edit(&self, changes: [Option<String>; 2]) -> Vec<String> {
        let words = ["issue", "edit", &self.id, "--repo", &self.of].map(str::to_owned);
        words.into_iter().chain(changes.into_iter().flatten()).collect()
    }

    fn put(&self, changes: [Option<String>; 2]) -> Vec<String> {
        let query: Vec<String> = changes.into_iter().flatten().collect();
        gitlab::send("PUT", &self.of, &format!("issues/{}?{}", self.id, query.join("&")), &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(source: IssueSource) -> Hold {
        let of = match source {
            IssueSource::GitHub => "github.com/o/r",
            IssueSource::GitLab => "gitlab.com/g/r",
            IssueSource::Beads => "",
        };
        Hold {
            source,
            of: of.to_owned(),
            id: if source == IssueSource::Beads { "bd-a1".to_owned() } else { "12".to_owned() },
            assigns: true,
            label: Some("in progress".to_owned()),
        }
    }

    fn of_beads(status: &str, assignee: &str) -> HoldSeen {
        let answer = serde_json::json!([{"id": "bd-a1", "status": status, "assignee": assignee}]);
        hold(IssueSource::Beads).seen(&[answer.to_string()]).expect("an answer")
    }

    #[test]
    fn an_issue_of_beads_is_claimed_and_given_back() {
        let hold = hold(IssueSource::Beads);
        assert_eq!(hold.look(), [["show", "bd-a1", "--json"]]);
        let (write, marks) = hold.take(&of_beads("open", "")).expect("a claim");
        assert_eq!(write.args.join(" "), "update bd-a1 --claim --actor piton --json");
        assert_eq!(marks, HoldMarks { label: false, assignee: true });
        let ours = of_beads("in_progress", "piton");
        assert!(hold.shows(&ours, marks) && !hold.shows(&of_beads("open", ""), marks));
        assert_eq!(hold.take(&ours), None, "it is claimed already");
        let back = hold.give_back(&ours, marks).expect("a write");
        assert_eq!(back.args.join(" "), "update bd-a1 --status=open --assignee= --actor piton --json");
        assert_eq!(hold.give_back(&of_beads("open", ""), marks), None);
        assert_eq!(hold.give_back(&of_beads("closed", "piton"), marks), None);
        assert_eq!(hold.give_back(&of_beads("in_progress", "bob"), marks), None, "it is another's by now");
    }

    #[test]
    fn what_somebody_else_has_is_left_to_them() {
        let hold = hold(IssueSource::Beads);
        for (status, assignee, holder) in
            [("in_progress", "bob", Some("bob")), ("hooked", "", Some("somebody")), ("open", "bob", None)]
        {
            let seen = of_beads(status, assignee);
            assert_eq!(seen.holder(), holder, "{status} {assignee}");
            assert_eq!(hold.take(&seen), None, "{status} {assignee}");
        }
        assert_eq!(hold.take(&of_beads("closed", "")), None);
    }

    #[test]
    fn github_gets_a_label_and_an_assignee_in_one_write() {
        let hold = hold(IssueSource::GitHub);
        let seen = |labels: &[&str], assignees: &[&str]| {
            let labels: Vec<Value> = labels.iter().map(|name| serde_json::json!({"name": name})).collect();
            let people: Vec<Value> =
                assignees.iter().map(|login| serde_json::json!({"login": login})).collect();
            let issue = serde_json::json!({"state": "OPEN", "labels": labels, "assignees": people});
            hold.seen(&[issue.to_string(), "{\"login\": \"me\"}".to_owned()]).expect("an answer")
        };
        let (write, marks) = hold.take(&seen(&["agent"], &["bob"])).expect("a write");
        assert_eq!(
            write.args.join(" "),
            "issue edit 12 --repo github.com/o/r --add-label=in progress --add-assignee=@me"
        );
        assert!(marks.label && marks.assignee);
        let both = seen(&["In progress"], &["bob", "Me"]);
        assert!(hold.shows(&both, marks));
        assert_eq!(hold.take(&both), None);
        assert_eq!(
            hold.give_back(&both, marks).expect("a write").args.join(" "),
            "issue edit 12 --repo github.com/o/r --remove-label=in progress --remove-assignee=@me"
        );
        assert_eq!(hold.give_back(&both, HoldMarks::default()), None, "others had added it");
        let neither = Hold { assigns: false, label: None, ..hold.clone() };
        assert_eq!(neither.take(&seen(&[], &[])), None);
    }

    #[test]
    fn gitlab_is_assigned_only_where_nobody_is() {
        let hold = hold(IssueSource::GitLab);
        let seen = |assignees: &str| {
            let issue =
                format!("{{\"state\": \"opened\", \"labels\": [\"agent\"], \"assignees\": {assignees}}}");
            hold.seen(&[issue, "{\"username\": \"me\", \"id\": 7}".to_owned()]).expect("an answer")
        };
        let (write, marks) = hold.take(&seen("[]")).expect("a write");
        assert_eq!(
            write.args.join(" "),
            "api --method PUT projects/g%2Fr/issues/12?add_labels=in%20progress&assignee_ids%5B%5D=7"
        );
        assert!(marks.assignee);
        let (write, marks) = hold.take(&seen("[{\"username\": \"bob\"}]")).expect("a write");
        assert!(!marks.assignee && !write.args.join(" ").contains("assignee"), "{write:?}");
        let ours = seen("[{\"username\": \"me\"}]");
        let back = hold.give_back(&ours, HoldMarks { label: true, assignee: true }).expect("a write");
        assert!(
            back.args.join(" ").ends_with("issues/12?assignee_ids=0"),
            "{back:?}: the label is gone already"
        );
    }

    #[test]
    fn what_is_not_an_answer_says_nothing() {
        for source in IssueSource::ALL {
            for answer in [
                "",
                "[]",
                "{}",
                "null",
                "{\"state\": \"OPEN\"}",
                "[{\"id\": \"other\", \"status\": \"open\"}]",
            ] {
                let answers = [answer.to_owned(), "{}".to_owned()];
                assert_eq!(hold(source).seen(&answers), None, "{source:?} {answer}");
            }
        }
    }
}
