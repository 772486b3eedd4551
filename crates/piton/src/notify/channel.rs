//! The channels of notifications: those of `piton.toml`, or of the command line.

use camino::Utf8Path;
use piton_core::system::config::{Notify, Webhook, is_url};
use piton_core::time::Span;
use piton_core::view::{NOTIFIER, Notice, Topic};
use piton_engine::keeper::{Ended, Job, JobSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::notify::unsent::Unsent;
use crate::notify::{desktop, webhook};
use crate::programs::is_runnable;
use crate::runs::engine;
use crate::runs::flags::NotifyArg;
use crate::ui;

/// The longest that a command may take with a message: it should start what takes longer.
const COMMAND: Span = Span::seconds(15);

/// Variables that are about the process that sends, and not about the message.
const OWN: [&str; 4] = ["PITON_CRASH", "PITON_CRASH_TRACE", "PITON_PAUSE", "PITON_NOTIFY"];

/// One channel of notifications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Channel {
    Desktop,
    Command(Vec<String>),
    Webhook(Webhook),
}

/// By which channels a person is told, and about what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Notifications {
    pub channels: Vec<Channel>,
    pub topics: Vec<Topic>,
}

/// What the project says, or the flags if there are any.
pub(crate) fn channels(config: &Notify, flags: &[NotifyArg]) -> Outcome<Notifications> {
    let topics = config.on.clone().unwrap_or_else(|| Topic::ALL.to_vec());
    let command = || config.command.clone().map(Channel::Command);
    let webhook = || config.webhook.clone().map(Channel::Webhook);
    if flags.is_empty() {
        let desktop = config.desktop.then_some(Channel::Desktop);
        let channels = [desktop, command(), webhook()].into_iter().flatten().collect();
        return Ok(Notifications { channels, topics });
    }
    let missing = |what: &str| {
        let failure = Failure::usage(format!("--notify {what}: `[notify]` in piton.toml has no `{what}`"));
        failure.hint(format!("--notify {what}=…   says it here"))
    };
    let mut channels = Vec::new();
    for flag in flags {
        let channel = match flag {
            NotifyArg::Off => continue,
            NotifyArg::Desktop => Channel::Desktop,
            NotifyArg::Command(Some(words)) => Channel::Command(words.clone()),
            NotifyArg::Webhook(Some(hook)) => Channel::Webhook(hook.clone()),
            NotifyArg::Command(None) => command().ok_or_else(|| missing("command"))?,
            NotifyArg::Webhook(None) => webhook().ok_or_else(|| missing("webhook"))?,
        };
        if !channels.iter().any(|known: &Channel| known.name() == channel.name()) {
            channels.push(channel);
        }
    }
    Ok(Notifications { channels, topics })
}

impl Channel {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Channel::Desktop => "desktop",
            Channel::Command(_) => "command",
            Channel::Webhook(_) => "webhook",
        }
    }

    /// Who has seen what it told, in the journal.
    pub(super) fn person(&self) -> String {
        format!("{NOTIFIER}{}", self.name())
    }

    /// Why it cannot work here, as far as that is known before anything is sent.
    pub(crate) fn problem(&self, root: &Utf8Path) -> Option<String> {
        match self {
            Channel::Desktop => desktop::problem(root),
            Channel::Command(words) => {
                let program = words.first().map(String::as_str).unwrap_or_default();
                (!is_runnable(program, root)).then(|| format!("`{}` is not installed", ui::plain(program)))
            }
            Channel::Webhook(hook) => url_of(hook).err(),
        }
    }

    pub(super) fn send(&self, notice: &Notice, root: &Utf8Path) -> Result<(), Unsent> {
        match self {
            Channel::Desktop => {
                let words = desktop::command(&notice.title, &notice.text, root);
                run(&words.map_err(Unsent::certainly)?, notice, root)
            }
            Channel::Command(words) => run(words, notice, root),
            Channel::Webhook(hook) => {
                webhook::post(&url_of(hook).map_err(Unsent::certainly)?, &posted(notice).to_string())
            }
        }
    }
}

fn url_of(hook: &Webhook) -> Result<String, String> {
    let name = match hook {
        Webhook::Url(url) => return Ok(url.clone()),
        Webhook::Variable(name) => name,
    };
    let value = std::env::var(name).ok().map(|value| value.trim().to_owned());
    match value.filter(|value| !value.is_empty()) {
        Some(url) if is_url(&url) => Ok(url),
        Some(_) => Err(format!("the variable {name} does not hold a URL")),
        None => Err(format!("the variable {name} is not set")),
    }
}

/// The message for programs.
fn document(notice: &Notice) -> Value {
    json!(notice)
}

/// The message for a web server. Chat services show `text`, and may take `@everyone`, `<!channel>` or `<@U1>` in it for
/// people to call: a task's title must not do that.
fn posted(notice: &Notice) -> Value {
    let harmless = |text: &str| text.replace('@', "@\u{200b}").replace('<', "<\u{200b}");
    let mut document = document(notice);
    document["title"] = json!(harmless(&notice.title));
    document["text"] = json!(harmless(&notice.text));
    document
}

/// Start a program with the message.
fn run(words: &[String], notice: &Notice, root: &Utf8Path) -> Result<(), Unsent> {
    let cannot =
        |error: &dyn std::fmt::Display| Unsent::certainly(format!("cannot make a temporary folder: {error}"));
    let kept = tempfile::Builder::new().prefix("piton-notify-").tempdir().map_err(|error| cannot(&error))?;
    let folder = Utf8Path::from_path(kept.path()).ok_or_else(|| cannot(&"its name is not UTF-8"))?;
    let message = folder.join("message.json");
    std::fs::write(&message, document(notice).to_string()).map_err(|error| cannot(&error))?;
    let about: Vec<&str> = notice.about.iter().map(|topic| topic.name()).collect();
    let mut spec = JobSpec::new(words.iter().cloned(), root);
    spec.stdin = Some(message);
    spec.wall_ms = Some(COMMAND.0);
    spec.env_remove = OWN.map(str::to_owned).to_vec();
    spec.env = [
        ("PITON_RUN", notice.run.to_string()),
        ("PITON_NOTIFY_ABOUT", about.join(",")),
        ("PITON_NOTIFY_TITLE", notice.title.clone()),
        ("PITON_NOTIFY_TEXT", notice.text.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let job = Job::at(folder.join("job"));
    let keeper = engine::keeper().map_err(|failure| Unsent::certainly(failure.message))?;
    let outcome = job.run(&spec, &keeper).map_err(|error| Unsent::perhaps(error.to_string()))?;
    let said = piton_core::terminal::clean_text(&job.output().tail(400).unwrap_or_default());
    let said = said.lines().last().map(|line| format!(": {line}")).unwrap_or_default();
    let program = ui::plain(&words[0]);
    Err(match outcome.ended {
        Ended::Exited { code: 0 } => return Ok(()),
        Ended::Exited { code } => {
            Unsent::certainly(format!("`{program}` failed with exit code {code}{said}"))
        }
        Ended::WallClock => Unsent::perhaps(format!("`{program}` took longer than {COMMAND}")),
        Ended::NotStarted { reason } => Unsent::certainly(format!("`{program}` cannot start: {reason}")),
        _ => Unsent::perhaps(format!("`{program}` was ended{said}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_replace_what_the_project_says_and_keep_its_topics() {
        let config = Notify {
            on: Some(vec![Topic::Done]),
            desktop: true,
            command: Some(vec!["tell".to_owned()]),
            webhook: None,
        };
        let names = |flags: &[NotifyArg]| {
            let all = channels(&config, flags).map(|all| all.channels).map_err(|failure| failure.message);
            all.map(|all| all.iter().map(Channel::name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).expect("all"), ["desktop", "command"]);
        assert_eq!(names(&[NotifyArg::Off]).expect("none"), [""; 0]);
        assert_eq!(names(&[NotifyArg::Command(None)]).expect("one"), ["command"]);
        assert_eq!(names(&[NotifyArg::Desktop, NotifyArg::Desktop]).expect("one"), ["desktop"]);
        assert!(names(&[NotifyArg::Webhook(None)]).is_err());
        assert_eq!(channels(&config, &[NotifyArg::Desktop]).expect("one").topics, [Topic::Done]);
    }
}
