//! `piton init --for CLIENT`: let an interactive client keep the ledger with Piton, and take that back. Only files of the
//! project are touched, what people wrote in them stays, and every change is shown before it is made.

use std::fs;
use std::io::{self, BufRead, IsTerminal};

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, ValueEnum};
use piton_core::line_diff;
use piton_core::settings_file::{self, Spot, Unfit};
use piton_engine::disk;
use serde_json::{Value, json};

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::find;
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The client that is to keep the ledger with Piton
    #[arg(long = "for", value_name = "CLIENT")]
    pub client: Client,
    /// Take it out again, exactly
    #[arg(long)]
    pub remove: bool,
    /// Write without asking
    #[arg(long)]
    pub yes: bool,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

/// What a client is told about Piton.
const SKILL: &str = include_str!("skill.md");
const OF_MARKDOWN: (&str, &str) = ("<!-- piton: begin -->", "<!-- piton: end -->");
const OF_TOML: (&str, &str) = ("# piton: begin", "# piton: end");

/// Something of ours in a file of the project.
struct Part {
    file: &'static str,
    what: What,
}

enum What {
    /// A file of its own.
    Whole(String),
    /// A part of a file that people write, between marks.
    Block((&'static str, &'static str), String),
    /// A value in a JSON file.
    Value(Spot<'static>, Value),
}

pub(crate) fn init(args: &InitArgs) -> Outcome<Exit> {
    let root = find::project(args.project_path.as_deref())?.root;
    let mut changes: Vec<Change> = Vec::new();
    for part in parts(args.client) {
        let path = root.join(part.file);
        let nth = match changes.iter().position(|change| change.file == part.file) {
            Some(nth) => nth,
            None => {
                let before = read(&path)?;
                changes.push(Change { file: part.file, path, after: before.clone(), before });
                changes.len() - 1
            }
        };
        let change = &mut changes[nth];
        let now = change.after.take().unwrap_or_default();
        let then = if args.remove { part.taken_from(&now) } else { part.put_into(&now).map(Some) };
        change.after = then.map_err(|unfit| cannot(&part, &unfit))?.filter(|text| !text.is_empty());
    }
    changes.retain(|change| change.before != change.after);
    if changes.is_empty() {
        let so =
            if args.remove { "there is nothing of Piton's to take out" } else { "it is all there already" };
        ui::say(so);
        return Ok(FINE);
    }
    changes.iter().for_each(|change| ui::answer(change.shown()));
    if !args.yes && !agreed()? {
        let remove = if args.remove { " --remove" } else { "" };
        return Err(Failure::new("nothing was written")
            .hint(format!("piton init --for {}{remove} --yes", args.client.name())));
    }
    changes.iter().try_for_each(Change::make)?;
    if !args.remove {
        ui::say(args.client.advice());
    }
    Ok(FINE)
}

/// Whether somebody at a terminal says so.
fn agreed() -> Outcome<bool> {
    if !io::stdin().is_terminal() || !ui::is_terminal() {
        return Ok(false);
    }
    ui::ask("\nwrite this? [y/N] ");
    let mut said = String::new();
    io::stdin().lock().read_line(&mut said).map_err(Failure::io("cannot read the answer"))?;
    Ok(matches!(said.trim(), "y" | "Y" | "yes"))
}

fn parts(client: Client) -> Vec<Part> {
    let name = client.name();
    let own = |file, text: &str| Part { file, what: What::Whole(text.to_owned()) };
    let block = |file, marks, text: String| Part { file, what: What::Block(marks, text) };
    let value = |file, spot, value| Part { file, what: What::Value(spot, value) };
    let server = json!({ "command": "piton", "args": ["mcp", "--by", name] });
    let hook = json!({ "hooks": [{ "type": "command", "command": format!("piton hook stop --by {name}") }] });
    const SERVER: Spot<'_> = Spot::Member { below: &["mcpServers"], name: "piton" };
    match client {
        Client::Claude => vec![
            own(".claude/skills/piton/SKILL.md", SKILL),
            value(".mcp.json", SERVER, server),
            value(".claude/settings.json", Spot::Item { of: &["hooks", "Stop"] }, hook),
        ],
        Client::Codex => vec![
            block("AGENTS.md", OF_MARKDOWN, words()),
            block(
                ".codex/config.toml",
                OF_TOML,
                format!(
                    "[mcp_servers.piton]\ncommand = \"piton\"\nargs = [\"mcp\", \"--by\", \"{name}\"]\n\
                     # Checks may take their time.\ntool_timeout_sec = 3600\n\n\
                     [[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\n\
                     command = \"piton hook stop --by {name}\"\n"
                ),
            ),
        ],
        Client::Gemini => vec![
            block("GEMINI.md", OF_MARKDOWN, words()),
            value(".gemini/settings.json", SERVER, server),
            value(".gemini/settings.json", Spot::Item { of: &["hooks", "AfterAgent"] }, hook),
        ],
        Client::Opencode => vec![
            own(".opencode/piton.md", &words()),
            value(
                "opencode.json",
                Spot::Member { below: &["mcp"], name: "piton" },
                json!({ "type": "local", "command": ["piton", "mcp", "--by", name], "enabled": true }),
            ),
            value("opencode.json", Spot::Item { of: &["instructions"] }, json!(".opencode/piton.md")),
        ],
    }
}

/// The skill without the head that only one client reads.
fn words() -> String {
    let body = SKILL.splitn(3, "---\n").nth(2).unwrap_or(SKILL);
    body.trim_start().to_owned()
}

/// What an earlier version wrote, too.
fn is_ours(value: &Value) -> bool {
    let text = value.to_string();
    ["piton hook ", "piton.md"].iter().any(|mark| text.contains(mark))
}

impl Part {
    fn put_into(&self, text: &str) -> Result<String, Unfit> {
        match &self.what {
            What::Whole(own) => Ok(own.clone()),
            What::Block(marks, body) => {
                let with = settings_file::put_block(text, *marks, body);
                if *marks == OF_TOML {
                    settings_file::is_toml(&with)?;
                }
                Ok(with)
            }
            What::Value(spot, value) => settings_file::put(text, *spot, value, &is_ours),
        }
    }

    fn taken_from(&self, text: &str) -> Result<Option<String>, Unfit> {
        match &self.what {
            What::Whole(_) => Ok(None),
            What::Block(marks, _) => Ok(settings_file::take_block(text, *marks)),
            What::Value(spot, _) => settings_file::take(text, *spot, &is_ours),
        }
    }
}

/// One file, before and after; `None` where there is none.
struct Change {
    file: &'static str,
    path: Utf8PathBuf,
    before: Option<String>,
    after: Option<String>,
}

impl Change {
    fn shown(&self) -> String {
        let (before, after) = (self.before.as_deref().unwrap_or(""), self.after.as_deref().unwrap_or(""));
        let name = |text: &Option<String>| text.as_ref().map_or("/dev/null", |_| self.file);
        line_diff::unified(before, after, (name(&self.before), name(&self.after)), 2)
    }

    fn make(&self) -> Outcome {
        let failed = || Failure::io(format!("cannot write {}", self.path));
        let Some(after) = &self.after else {
            fs::remove_file(&self.path).map_err(failed())?;
            // Folders that held nothing else go with it; others stay.
            for folder in
                self.path.ancestors().skip(1).take(Utf8Path::new(self.file).components().count() - 1)
            {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
            return Ok(());
        };
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(failed())?;
        }
        let displaced = disk::exchange(&self.path, after.as_bytes()).map_err(failed())?;
        if displaced.as_deref() != self.before.as_deref().map(str::as_bytes) {
            // Somebody wrote it while the change was looked at: theirs stays.
            if let Some(theirs) = &displaced {
                disk::exchange(&self.path, theirs).map_err(failed())?;
            }
            return Err(Failure::new(format!("{} was changed meanwhile", self.path))
                .hint("run the same command again"));
        }
        Ok(())
    }
}

/// What is there; a link is somebody's arrangement, and not replaced by a file.
fn read(path: &Utf8Path) -> Outcome<Option<String>> {
    let data = match fs::symlink_metadata(path) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::io(format!("cannot read {path}"))(error)),
    };
    if !data.is_file() {
        return Err(Failure::new(format!("{path} is no plain file"))
            .hint("put a file in its place, then run the same command again"));
    }
    let bytes = fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
    String::from_utf8(bytes).map(Some).map_err(|_| Failure::new(format!("{path} is not UTF-8")))
}

fn cannot(part: &Part, unfit: &Unfit) -> Failure {
    let failure = Failure::new(format!("{} cannot be changed: {unfit}", part.file));
    match &part.what {
        What::Value(Spot::Member { below, name }, value) => {
            failure.hint(format!("by hand: {}.{name} = {value}", below.join(".")))
        }
        What::Value(Spot::Item { of }, value) => {
            failure.hint(format!("by hand: one more in {}: {value}", of.join(".")))
        }
        What::Block(_, body) => failure.hint(format!("by hand:\n{body}")),
        What::Whole(_) => failure,
    }
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Opencode => "opencode",
        }
    }

    /// What is left to do for a person.
    fn advice(self) -> &'static str {
        match self {
            Client::Claude => "done; claude asks once whether it may use the server `piton`",
            Client::Codex => {
                "done; codex reads .codex/config.toml in projects that it trusts, and hooks once they are trusted"
            }
            Client::Gemini => "done; gemini reads .gemini/settings.json in folders that it trusts",
            Client::Opencode => {
                "done; opencode has no hook for the end of a turn, so nothing reminds it to report"
            }
        }
    }
}
