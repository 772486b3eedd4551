//! Which program a check starts first, if its command line shows that.

use super::{Argv, Check, shell};

/// What a shell does itself, and words that begin something else than a program.
const OWN: &[&str] = &[
    ":", "[", "[[", "{", "}", "bg", "break", "case", "command", "continue", "declare", "do", "done", "echo",
    "elif", "else", "esac", "exec", "exit", "false", "fg", "fi", "for", "getopts", "hash", "if", "jobs",
    "kill", "let", "local", "printf", "pwd", "read", "return", "select", "shift", "test", "then", "time",
    "times", "trap", "true", "type", "ulimit", "unset", "until", "wait", "while",
];

/// Commands in front of the one that counts.
const BEFORE: [&str; 4] = ["cd", "set", "export", "umask"];

/// The program that a check cannot do without: the first word of its command, or of the first command of its line for the
/// shell. `None` where that is not plain to see.
pub fn first_program(check: &Check) -> Option<String> {
    let word = match (check.run.shell_line(), &check.run) {
        (Some(line), _) => first_of_line(line)?,
        (None, Argv::Words(words)) => words.first()?.clone(),
        (None, _) => return None,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+/@".contains(c);
    (!word.is_empty() && word.chars().all(is_plain)).then_some(word)
}

fn first_of_line(line: &str) -> Option<String> {
    // A line that sets its own path, functions or aliases may run any program.
    let is_own = |word: &str| line.contains(word);
    if ["PATH", "()", "function ", "alias ", "<<", ". ", "source ", "eval "].into_iter().any(is_own) {
        return None;
    }
    if let Some(inner) = substituted(line) {
        return first_of_line(inner);
    }
    let commands = shell::commands_in(line);
    let is_before = |words: &&Vec<String>| words.first().is_some_and(|word| BEFORE.contains(&word.as_str()));
    let first = commands.iter().find(|words| !is_before(words))?;
    let assigns = |word: &&String| word.contains('=') && !word.starts_with('-');
    let word = first.iter().find(|word| !assigns(word) && *word != "!")?;
    let is_comment = line.trim_start().starts_with('#');
    (!OWN.contains(&word.as_str()) && !is_comment).then(|| word.clone())
}

/// The command whose output a line begins by keeping, as in `files=$(git ls-files) && …`, with what follows it.
fn substituted(line: &str) -> Option<&str> {
    let (name, command) = line.trim_start().split_once("=$(")?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !command.starts_with('(')).then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    fn of(line: &str) -> Option<String> {
        first_program(&Check::new(line.to_owned(), Argv::parse(line), Span::minutes(1)))
    }

    #[test]
    fn the_first_program_is_told_where_it_is_plain_to_see() {
        let all = [
            ("cargo test -q", Some("cargo")),
            ("test -s a.txt", Some("test")),
            ("./check.sh --fast", Some("./check.sh")),
            ("/opt/x/lint .", Some("/opt/x/lint")),
            ("npm test | tee log", Some("npm")),
            ("cd web && npm test", Some("npm")),
            ("set -e; make all", Some("make")),
            ("CI=1 npm test", Some("npm")),
            ("! grep -r TODO src", Some("grep")),
            ("pytest tests > out.txt", Some("pytest")),
            ("files=$(gofmt -l .) && test -z \"$files\"", Some("gofmt")),
            ("n=$((1 + 2)) && make", None),
            // The shell's own words.
            ("[ -s a.txt ]", None),
            ("echo $HOME && make", None),
            ("if test -s a; then make; fi", None),
            ("for f in *.sh; do sh $f; done", None),
            ("{ make; }", None),
            ("(make)", Some("make")),
            // Only a shell can tell which program these run.
            ("$RUNNER test", None),
            ("PATH=$PWD/bin:$PATH lint", None),
            ("lint() { true; }; lint", None),
            (". ./env.sh && lint", None),
            ("# nothing", None),
        ];
        for (line, program) in all {
            assert_eq!(of(line).as_deref(), program, "{line}");
        }
    }
}
