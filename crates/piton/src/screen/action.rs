//! What can be done from the screen. Each action is a command, which is shown as it would be typed before it runs.

use piton_core::plan::TaskId;

use crate::screen::field::Field;
use crate::screen::picture::TaskRow;

/// Commands that may be run from here: those that steer a run. Others are typed in a shell.
const MAY_RUN: [&str; 10] =
    ["answer", "retry", "reset", "skip", "unblock", "raise", "add", "stop", "unpark", "inbox"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Answer,
    Retry,
    Reset,
    Skip,
    Unblock,
    Raise,
    Add,
    Stop,
    StopNow,
}

impl Action {
    pub(super) const ALL: [Action; 9] = [
        Action::Answer,
        Action::Retry,
        Action::Reset,
        Action::Skip,
        Action::Unblock,
        Action::Raise,
        Action::Add,
        Action::Stop,
        Action::StopNow,
    ];

    pub(super) fn key(self) -> char {
        match self {
            Action::Answer => 'a',
            Action::Retry => 'r',
            Action::Reset => 'R',
            Action::Skip => 'S',
            Action::Unblock => 'u',
            Action::Raise => '+',
            Action::Add => 'A',
            Action::Stop => 'x',
            Action::StopNow => 'X',
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Action::Answer => "answer the task's question",
            Action::Retry => "retry the task",
            Action::Reset => "reset the task's attempts",
            Action::Skip => "continue without the task",
            Action::Unblock => "release a task that needed a person",
            Action::Raise => "allow the task more attempts",
            Action::Add => "add a task",
            Action::Stop => "stop the engine: running tasks finish",
            Action::StopNow => "stop the engine, and running tasks too",
        }
    }

    fn is_of_task(self) -> bool {
        !matches!(self, Action::Add | Action::Stop | Action::StopNow)
    }
}

/// A command that waits for a yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Confirmation {
    pub title: String,
    /// What is typed before and after the fields.
    words: Vec<String>,
    pub fields: Vec<Asked>,
    /// The field that is typed into.
    pub at: usize,
    after: Vec<String>,
}

/// A field of a confirmation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub label: &'static str,
    /// The option that it is the value of; none if it stands by itself.
    option: Option<&'static str>,
    is_required: bool,
    pub field: Field,
}

fn asked(label: &'static str, option: Option<&'static str>, is_required: bool) -> Asked {
    Asked { label, option, is_required, field: Field::default() }
}

impl Confirmation {
    /// What to do about the selected task, or the run. `which` says in words which run is meant. The error says what is
    /// missing.
    pub(super) fn new(
        action: Action,
        task: Option<&TaskRow>,
        which: &[String],
    ) -> Result<Confirmation, String> {
        let task = match task {
            None if action.is_of_task() => return Err("select a task first".to_owned()),
            task => task,
        };
        let (verb, mut fields) = match action {
            Action::Answer => ("answer", vec![asked("What should its next agent do?", None, true)]),
            Action::Retry => ("retry", Vec::new()),
            Action::Reset => ("reset", Vec::new()),
            Action::Skip => ("skip", vec![asked("Why?", Some("--reason"), false)]),
            Action::Unblock => ("unblock", vec![asked("A note for its next agent", Some("--note"), false)]),
            Action::Raise => ("raise", vec![asked("Attempts allowed in all", Some("--attempts"), true)]),
            Action::Add => (
                "add",
                vec![
                    asked("Id", None, true),
                    asked("Title", Some("--title"), true),
                    asked("Instructions for the agent", Some("--description"), false),
                    asked("A command that proves it done", Some("--check"), false),
                    asked("After this task", Some("--after"), false),
                ],
            ),
            Action::Stop | Action::StopNow => ("stop", Vec::new()),
        };
        let mut words = vec![verb.to_owned()];
        if let Some(task) = task.filter(|_| action.is_of_task()) {
            words.push(task.id.to_string());
            if action == Action::Raise {
                fields[0].field = Field::new(&(task.budget + 1).to_string());
            }
        }
        if action == Action::StopNow {
            words.push("--now".to_owned());
        }
        let mut title = action.about().to_owned();
        title[..1].make_ascii_uppercase();
        Ok(Confirmation { title, words, fields, at: 0, after: which.to_vec() })
    }

    /// A command that the screen names, such as `piton retry T5`. The error says why it cannot be run here.
    pub(super) fn of_command(
        command: &str,
        task: impl Fn(&TaskId) -> Option<TaskRow>,
        which: &[String],
    ) -> Result<Confirmation, String> {
        let words = shell_words::split(command).unwrap_or_default();
        let [program, verb, rest @ ..] = &words[..] else {
            return Err("there is no command here".to_owned());
        };
        if program != "piton" || !MAY_RUN.contains(&verb.as_str()) {
            return Err(format!("`{command}` is for a shell: press y to copy it"));
        }
        if verb == "answer" {
            // What stands there is not an answer yet.
            let id = rest.first().and_then(|id| TaskId::new(id).ok());
            let task = id.and_then(|id| task(&id)).ok_or("that task is not of this run")?;
            return Confirmation::new(Action::Answer, Some(&task), which);
        }
        let names = |option: &str| {
            rest.iter().any(|word| {
                word.strip_prefix(option).is_some_and(|value| value.is_empty() || value.starts_with('='))
            })
        };
        // Each option has its value behind it. A plan stands for its run.
        let is_said = |option: &str| names(option) || option == "--run" && names("--plan");
        let after = which.chunks(2).filter(|pair| !is_said(&pair[0])).flatten().cloned().collect();
        let words = words[1..].to_vec();
        let after = if verb == "inbox" { of_project(which) } else { after };
        Ok(Confirmation { title: "Run this command".to_owned(), words, fields: Vec::new(), at: 0, after })
    }

    /// The command, without the program's name. The error names the field that is missing.
    pub(super) fn command(&self) -> Result<Vec<String>, &'static str> {
        let (mut places, mut options) = (Vec::new(), Vec::new());
        for asked in &self.fields {
            let text = asked.field.text().trim();
            match asked.option {
                _ if text.is_empty() && asked.is_required => return Err(asked.label),
                _ if text.is_empty() => {}
                Some(option) => options.push(format!("{option}={text}")),
                None => places.push(text.to_owned()),
            }
        }
        let mut words = self.words.clone();
        // Behind `--`, nothing that is typed is taken for an option.
        let is_odd = places.iter().any(|word| word.starts_with('-'));
        let (places, last) = if is_odd { (Vec::new(), places) } else { (places, Vec::new()) };
        words.extend(places);
        words.extend(options);
        words.extend(self.after.iter().cloned());
        if is_odd {
            words.push("--".to_owned());
            words.extend(last);
        }
        Ok(words)
    }

    /// The command as it is typed; fields that are missing are names.
    pub(super) fn typed(&self) -> String {
        let mut shown = self.clone();
        for asked in &mut shown.fields {
            if asked.is_required && asked.field.text().trim().is_empty() {
                asked.field = Field::new("…");
            }
        }
        let words = shown.command().unwrap_or_default();
        let mut typed = "piton".to_owned();
        for word in &words {
            typed.push(' ');
            // `--reason='so it is'` is easier to read than `'--reason=so it is'`.
            match word.split_once('=').filter(|(option, _)| option.starts_with("--")) {
                Some((option, value)) => {
                    typed += &format!("{option}={}", piton_core::run::shell_word(value));
                }
                None if word == "…" => typed += word,
                None => typed += &piton_core::run::shell_word(word),
            }
        }
        typed
    }
}

/// Of the words that say which run is meant, those that say which project.
fn of_project(which: &[String]) -> Vec<String> {
    which.chunks(2).filter(|pair| pair[0] == "--project-path").flatten().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::picture::testing::{Sketch, sketch};
    use piton_core::run::Status;

    fn task() -> TaskRow {
        let tasks = &[("T5", "Tie the rope", 0, Status::Failed)];
        sketch(&Sketch { groups: &["base"], tasks }).tasks.remove(0)
    }

    fn confirmation(action: Action, which: &[&str], typed: &[&str]) -> Confirmation {
        let which: Vec<String> = which.iter().map(ToString::to_string).collect();
        let mut made = Confirmation::new(action, Some(&task()), &which).expect("a task is selected");
        for (asked, text) in made.fields.iter_mut().zip(typed) {
            asked.field = Field::new(text);
        }
        made
    }

    #[test]
    fn each_action_is_a_command_that_is_shown_as_it_is_typed() {
        use Action::*;
        let run = &["--run", "plan-1"][..];
        for (action, which, fields, typed) in [
            (Retry, &[][..], &[][..], "piton retry T5"),
            (Retry, run, &[], "piton retry T5 --run plan-1"),
            (Reset, &[], &[], "piton reset T5"),
            (Answer, run, &["don't"], "piton answer T5 \"don't\" --run plan-1"),
            (Answer, &[], &["--now"], "piton answer T5 -- --now"),
            (Skip, &[], &["no longer needed"], "piton skip T5 --reason='no longer needed'"),
            (Skip, &[], &[""], "piton skip T5"),
            (Unblock, &[], &[""], "piton unblock T5"),
            (Raise, &[], &["6"], "piton raise T5 --attempts=6"),
            (Add, &[], &["T9", "More"], "piton add T9 --title=More"),
            (Stop, &[], &[], "piton stop"),
            (StopNow, run, &[], "piton stop --now --run plan-1"),
        ] {
            let made = confirmation(action, which, fields);
            let words = made.command().expect("nothing is missing");
            let shown = made.typed();
            let mut read = shell_words::split(&shown).expect("words");
            assert_eq!(read.remove(0), "piton");
            assert_eq!(read, words, "{shown}");
            assert_eq!(shown.replace("'don'\\''t'", "\"don't\""), typed);
        }
    }

    #[test]
    fn a_command_lacks_what_was_not_typed() {
        let made = confirmation(Action::Answer, &[], &["  "]);
        assert_eq!(made.command(), Err("What should its next agent do?"));
        assert_eq!(made.typed(), "piton answer T5 …");
        assert!(Confirmation::new(Action::Retry, None, &[]).is_err());
        assert!(Confirmation::new(Action::Stop, None, &[]).is_ok());
        let raise = Confirmation::new(Action::Raise, Some(&task()), &[]).expect("a task");
        assert_eq!(raise.typed(), "piton raise T5 --attempts=4", "one more than it has");
    }

    #[test]
    fn a_command_on_the_screen_can_be_run_if_it_steers_a_run() {
        let known = |id: &TaskId| Some(task()).filter(|task| task.id == *id);
        let which = ["--run".to_owned(), "plan-1".to_owned()];
        let of = |command: &str| Confirmation::of_command(command, known, &which).map(|made| made.typed());
        assert_eq!(of("piton retry T5").as_deref(), Ok("piton retry T5 --run plan-1"));
        assert_eq!(of("piton retry T5 --run other").as_deref(), Ok("piton retry T5 --run other"));
        assert_eq!(of("piton retry T5 --run=other").as_deref(), Ok("piton retry T5 --run=other"));
        assert_eq!(of("piton retry T5 --plan x.toml").as_deref(), Ok("piton retry T5 --plan x.toml"));
        assert_eq!(of("piton answer T5 'what to do'").as_deref(), Ok("piton answer T5 … --run plan-1"));
        assert_eq!(of("piton inbox --seen abc").as_deref(), Ok("piton inbox --seen abc"));
        for bad in ["piton run plan.toml", "rm -rf /", "piton answer T9 x", "git commit", "piton", ""] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
