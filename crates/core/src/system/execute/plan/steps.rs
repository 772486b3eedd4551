//! The steps of `<verification>`, written by people and models, as what Piton can do about them: run a command, look
//! into a file, or hand a condition to the reviewer.

use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::plan::{Argv, Check, RepoPath};
use crate::system::config;
use crate::system::kit::commands::{PROGRAMS, looks_like_a_command, removes_git};
use crate::system::kit::problems::{Problems, Spanned};
use crate::system::kit::text;

/// What one step means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Run {
        command: String,
        /// What the plan says about its outcome; may be empty.
        expected: String,
    },
    Look {
        file: RepoPath,
        holds: Vec<String>,
    },
    Condition(String),
}

/// What a step says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Run,
    Verify,
    Check,
}

/// More than this in one step is not something to run; a process could not even be given it.
pub(super) const LONGEST: usize = 32 << 10;

/// Take one step apart. Nothing comes out only where an error says why.
pub(super) fn read(said: &Spanned<&str>, found: &mut Problems) -> Vec<Step> {
    if said.value.len() > LONGEST {
        let message = format!("this step has {} KiB; {} are read", said.value.len() >> 10, LONGEST >> 10);
        found.push(Diagnostic::error(said.at.clone(), message).label("name a script and run that"));
        return Vec::new();
    }
    let (kind, rest) = kind_of(said.value);
    let rest = rest.trim();
    if rest.is_empty() {
        let message = "this step is empty";
        found.push(Diagnostic::error(said.at.clone(), message).label("name a command or a condition"));
        return Vec::new();
    }
    let mut reader = Reader { at: &said.at, found };
    match kind {
        Some(Kind::Run) => reader.run(rest),
        Some(Kind::Verify) => reader.verify(rest),
        Some(Kind::Check) => vec![Step::Condition(rest.to_owned())],
        None => reader.unmarked(rest),
    }
}

/// The kind a step names, in whatever spelling, and what follows.
fn kind_of(text: &str) -> (Option<Kind>, &str) {
    let text = text.trim_start();
    let listed = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let listed =
        listed.strip_prefix(['.', ')']).filter(|rest| rest.starts_with(' ') && listed.len() < text.len());
    let text = listed.or_else(|| text.strip_prefix("- ")).or_else(|| text.strip_prefix("* ")).unwrap_or(text);
    let text = text.trim_start();
    let bare = text.trim_start_matches('*');
    let word = bare.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let kind = match word.to_lowercase().as_str() {
        "run" | "execute" | "command" => Kind::Run,
        "verify" => Kind::Verify,
        "check" => Kind::Check,
        _ => return (None, text),
    };
    let after = bare[word.len()..].trim_start_matches('*').trim_start();
    match after.strip_prefix([':', '\u{ff1a}']) {
        Some(rest) => (Some(kind), rest.trim_start_matches('*')),
        // "Run `make`" says it as well; "Run the migrations" does not.
        None if kind == Kind::Run && after.starts_with('`') => (Some(kind), after),
        None => (None, text),
    }
}

struct Reader<'a, 'f> {
    at: &'a Range<usize>,
    found: &'f mut Problems,
}

impl Reader<'_, '_> {
    fn warn(&mut self, message: impl Into<String>, label: impl Into<String>) {
        self.found.push(Diagnostic::warning(self.at.clone(), message).label(label));
    }

    /// A step without a mark: a command if it looks like one.
    fn unmarked(&mut self, text: &str) -> Vec<Step> {
        if text.starts_with('`') && spans(text).first().is_some_and(|span| looks_like_a_command(span.inside))
        {
            return self.run(text);
        }
        let first = text.split_whitespace().next().unwrap_or_default();
        if PROGRAMS.contains(&first) || first.starts_with("./") {
            self.warn("this step has no prefix", "read as a command; write `Run: …`");
            return self.run(text);
        }
        self.warn("this step has no prefix", "left to the reviewer; write `Run:`, `Verify:` or `Check:`");
        vec![Step::Condition(text.to_owned())]
    }

    fn run(&mut self, text: &str) -> Vec<Step> {
        let spans = spans(text);
        let Some(first) = spans.first() else { return self.run_bare(text) };
        let before = text[..first.at.start].trim();
        if before.contains("&&")
            || before.split_whitespace().next().is_some_and(|word| PROGRAMS.contains(&word))
        {
            self.warn(
                "only a part of this command is in backticks",
                "all of it is run, without the backticks",
            );
            return self.run_bare(&text.replace('`', ""));
        }
        if !before.is_empty() {
            self.warn("there are words before the command", "only what is in backticks is run");
        }
        let after = &text[first.at.end..];
        let expected_at = after.find(" - ").or_else(|| after.find(['—', '–'])).map(|at| first.at.end + at);
        let mut commands = vec![first.inside];
        let mut end = first.at.end;
        for span in spans.iter().skip(1).take_while(|span| expected_at.is_none_or(|at| span.at.start < at)) {
            let between = text[end..span.at.start].trim().trim_matches(',').trim().to_lowercase();
            if !matches!(between.as_str(), "" | "and" | "then" | "&&" | ";" | "and then") {
                break;
            }
            commands.push(span.inside);
            end = span.at.end;
        }
        if commands.len() > 1 {
            self.warn("this step has several commands", "each becomes its own check");
        } else if spans.len() > 1 && expected_at.is_none() && looks_like_a_command(spans[1].inside) {
            self.warn("only the first command of this step is run", "write one step for each");
        }
        let elsewhere = spans.get(commands.len()).filter(|span| {
            let between = text[end..span.at.start].trim().to_lowercase();
            matches!(between.as_str(), "in" | "from" | "inside" | "within")
        });
        if let Some(folder) = elsewhere {
            let message = format!("the command is run at the top of the project, not in `{}`", folder.inside);
            self.warn(message, "set `<cwd>` in `<meta>`, or write `cd … &&` in the command");
        }
        let expected = text[end..].trim().trim_start_matches(['-', '—', '–', ':', ',']).trim();
        let expected = if commands.len() > 1 { String::new() } else { expected.to_owned() };
        commands.into_iter().filter_map(|command| self.command(command, expected.clone())).collect()
    }

    /// A command without backticks, up to a ` - ` that begins a remark.
    fn run_bare(&mut self, text: &str) -> Vec<Step> {
        let text = text.trim_matches('`').trim();
        let is_remark = |at: usize| !text[at + 3..].trim_start().starts_with('-');
        let quoted = quoted(text);
        let whole = |at: usize| !quoted[at];
        let splits: Vec<usize> =
            text.match_indices(" - ").map(|(at, _)| at).filter(|&at| is_remark(at) && whole(at)).collect();
        let (command, expected) = match splits.last() {
            Some(&at) => (&text[..at], text[at + 3..].trim()),
            None => (text, ""),
        };
        if splits.len() > 1 {
            self.warn("it is not clear where this command ends", format!("run as `{}`", command.trim()));
        } else if command.trim_end().ends_with(')') && command.contains(" (") {
            self.warn("this looks like a command with a comment", "put the command in backticks");
        }
        self.command(command, expected.to_owned()).into_iter().collect()
    }

    /// A command that may be run, or nothing and an error.
    fn command(&mut self, command: &str, expected: String) -> Option<Step> {
        let command = on_one_line(command.trim());
        if command.is_empty() || command.starts_with("- ") {
            let message = "this step does not name a command";
            self.found.push(Diagnostic::error(self.at.clone(), message).label("there is nothing to run"));
            return None;
        }
        if let Some(bad) = command.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            let message = format!("this command holds {bad:?}");
            self.found
                .push(Diagnostic::error(self.at.clone(), message).label("a command cannot contain that"));
            return None;
        }
        if removes_git(&command) {
            self.found.push(
                Diagnostic::error(self.at.clone(), "this command would remove `.git`")
                    .label("a task must not remove its own repository")
                    .help("remove the step: Piton works in a repository that already exists"),
            );
            return None;
        }
        let run = Argv::parse(&command);
        let check = Check::new(config::check_name(&run), run, config::CHECK_TIMEOUT);
        config::hidden_failures(&check, self.at).into_iter().for_each(|hidden| self.found.push(hidden));
        Some(Step::Run { command, expected })
    }

    fn verify(&mut self, text: &str) -> Vec<Step> {
        let condition = || vec![Step::Condition(text.to_owned())];
        let spans = spans(text);
        if let Some(first) = spans.first().filter(|span| looks_like_a_command(span.inside)) {
            self.warn("`Verify:` names a command", format!("run as `{}`; write `Run:`", first.inside));
            return self.run(&text[first.at.start..]);
        }
        let Some((file, behind)) = file_of(text, &spans) else {
            self.warn("this step does not name a file", "left to the reviewer");
            return condition();
        };
        let Some(path) = self.path(file) else { return Vec::new() };
        let prose = without_code(behind);
        let lower = text::key(&prose).to_lowercase();
        let negated = [" not ", "n't ", " no ", "without ", "never "]
            .iter()
            .any(|no| format!(" {lower} ").contains(no));
        if negated && !lower.contains("not empty") {
            self.warn("Piton cannot check that something is absent", "left to the reviewer");
            return condition();
        }
        // What code declares has a name of its own; what else a file holds has to be quoted, or to look like code.
        let declares = ["exports", "export", "defines", "define", "declares", "declare"];
        let contains = ["contains", "contain", "includes", "include", "has", "have", "holds"];
        let declared = declares.iter().filter_map(|verb| word_at(&prose, verb)).min();
        let contained = contains.iter().filter_map(|verb| word_at(&prose, verb)).min();
        if let Some(end) = declared.or(contained) {
            let holds = wanted(&behind[end..], declared.is_some());
            if holds.is_empty() {
                self.warn(
                    "it is not clear what the file should contain",
                    "only its existence is checked; quote the text",
                );
                return [Step::Look { file: path, holds }].into_iter().chain(condition()).collect();
            }
            return vec![Step::Look { file: path, holds }];
        }
        let exists = ["exist", "present", "created", "not empty", "is there"];
        if lower.is_empty() || exists.iter().any(|word| lower.contains(word)) {
            let others =
                spans.iter().map(|span| span.inside).filter(|inside| *inside != file && is_path(inside));
            let paths: Vec<RepoPath> = others.filter_map(|other| self.path(other)).collect();
            let looks = [path].into_iter().chain(paths);
            return looks.map(|file| Step::Look { file, holds: Vec::new() }).collect();
        }
        if !spans.iter().any(|span| span.inside == file) {
            // Such as `Node.js`, or `and/or`.
            self.warn("Piton cannot check this", "left to the reviewer; put a file in backticks");
            return condition();
        }
        self.warn("Piton cannot check this", "the file must exist; the rest is left to the reviewer");
        [Step::Look { file: path, holds: Vec::new() }].into_iter().chain(condition()).collect()
    }

    fn path(&mut self, text: &str) -> Option<RepoPath> {
        match RepoPath::new(text) {
            Ok(path) => Some(path),
            Err(reason) => {
                let message = format!("{text:?} cannot be checked: {reason}");
                let label = "write it from the top of the project, like `src/a.rs`";
                self.found.push(Diagnostic::error(self.at.clone(), message).label(label));
                None
            }
        }
    }
}

/// Something in backticks.
struct Span<'t> {
    inside: &'t str,
    /// With the backticks.
    at: Range<usize>,
}

/// What stands in backticks; as many as open it close it, as in Markdown.
fn spans(text: &str) -> Vec<Span<'_>> {
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let ticks = text[start..].len() - text[start..].trim_start_matches('`').len();
        let mut end = start + ticks;
        // Code opens with a few backticks at most. To look for the partners of longer rows would take too long.
        let close = loop {
            if ticks > 16 {
                break None;
            }
            let Some(found) = text[end..].find('`') else { break None };
            end += found;
            let length = text[end..].len() - text[end..].trim_start_matches('`').len();
            if length == ticks {
                break Some(end);
            }
            end += length;
        };
        // Without a partner it is a character like any other.
        let Some(close) = close else {
            at = start + ticks;
            continue;
        };
        spans.push(Span { inside: text[start + ticks..close].trim(), at: start..close + ticks });
        at = close + ticks;
    }
    spans
}

/// Prose with what stands in backticks blanked out, byte for byte.
pub(super) fn without_code(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    for span in spans(text) {
        prose += &text[prose.len()..span.at.start];
        prose += &" ".repeat(span.at.len());
    }
    prose += &text[prose.len()..];
    prose
}

/// A file that a text names: in backticks, or the first word that looks like a path; and what is said about it.
fn file_of<'t>(text: &'t str, spans: &[Span<'t>]) -> Option<(&'t str, &'t str)> {
    if let Some(span) = spans.iter().find(|span| is_path(span.inside)) {
        return Some((span.inside, &text[span.at.end..]));
    }
    let word = text
        .split_whitespace()
        .map(|word| word.trim_matches(['`', '"', '\'', ',', ':', '(', ')']))
        .find(|word| is_path(word))?;
    let end = word.as_ptr().addr() - text.as_ptr().addr() + word.len();
    Some((word, text[end..].trim_start_matches(['`', '"', '\'', ','])))
}

/// One word with a slash or an ending in it, and nothing that paths do not have.
fn is_path(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._-/\\+@[]~ ".contains(c);
    let ending = word.rsplit_once('.').is_some_and(|(_, ending)| {
        let letters = ending.bytes().all(|b| b.is_ascii_alphanumeric());
        (1..=8).contains(&ending.len()) && letters && ending.starts_with(|c: char| c.is_ascii_alphabetic())
    });
    let spaced = word.contains(' ') && !word.contains('/');
    !word.is_empty()
        && word.chars().all(plain)
        && !spaced
        && (word.contains('/') || ending || matches!(word, "Makefile" | "Dockerfile" | "LICENSE" | "README"))
}

/// Where a word ends in a text, if it is there as a whole word.
fn word_at(text: &str, word: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    lower.match_indices(word).find_map(|(at, _)| {
        let end = at + word.len();
        let whole = !lower[..at].ends_with(is_letter) && !lower[end..].starts_with(is_letter);
        whole.then_some(end)
    })
}

/// What a file is to hold: what is quoted, or else the names up to the first common word.
fn wanted(text: &str, declared: bool) -> Vec<String> {
    let mut quoted: Vec<String> = spans(text).iter().map(|span| span.inside.to_owned()).collect();
    if declared {
        // "exports `Router` from `src/lib.rs`" names one export.
        quoted.retain(|word| !word.contains('/'));
    }
    if quoted.is_empty() {
        quoted = text.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        // A quote without a partner quotes nothing.
        if text.matches('"').count() % 2 == 1 {
            quoted.pop();
        }
    }
    quoted.retain(|word| !word.trim().is_empty());
    if !quoted.is_empty() {
        return quoted;
    }
    let words =
        text.split_whitespace().filter(|word| !matches!(*word, "a" | "an" | "the" | "and" | "both" | "&"));
    let names = words.map(|word| word.trim_end_matches(['.', ',', ';', ':']));
    let is_wanted = |name: &&str| {
        is_name(name) && (looks_like_code(name) || declared && name.starts_with(char::is_uppercase))
    };
    names.take_while(is_wanted).map(str::to_owned).collect()
}

fn is_name(word: &str) -> bool {
    let word = word.trim_end_matches("()");
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_:.-$".contains(c))
}

/// A word that no language but code has: `get_db`, `Store::put`, `useAuth`, `main()`.
fn looks_like_code(word: &str) -> bool {
    let inner =
        word.chars().zip(word.chars().skip(1)).any(|(one, two)| one.is_lowercase() && two.is_uppercase());
    inner || word.contains(['_', '$', '(']) || word.contains("::")
}

/// A command that was wrapped to fit the file. A line break inside quotes belongs to it.
fn on_one_line(command: &str) -> String {
    let quoted = quoted(command);
    let mut line = String::with_capacity(command.len());
    let mut at = 0;
    for piece in command.split('\n') {
        if at > 0 && quoted[at - 1] {
            line.push('\n');
            line += piece;
        } else {
            let kept = line.trim_end().trim_end_matches('\\').trim_end().len();
            line.truncate(kept);
            line += if line.is_empty() { "" } else { " " };
            line += piece.trim();
        }
        at += piece.len() + 1;
    }
    line.trim().to_owned()
}

/// For each byte, whether it stands inside the quotes of a shell.
fn quoted(text: &str) -> Vec<bool> {
    let (mut quote, mut escaped) = (None, false);
    let inside = text.bytes().map(|byte| {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (None | Some(b'"'), b'\\') => escaped = true,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
        quote.is_some()
    });
    inside.collect()
}
