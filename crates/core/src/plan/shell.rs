//! What in a line for the shell hides that a command failed. Lines are looked at, never run: what is not understood counts
//! as harmless.

/// Something in a line after which a failure is not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hides {
    /// `a; b`: whether `a` failed does not count.
    Semicolon,
    /// `a || true`: no failure counts.
    OrElse(String),
    /// `a | head`, `a | grep -q x`: `a` may be ended early, and then the line has judged nothing.
    EarlyReader(String),
}

/// How to write a pipe whose last command stops reading before the end.
pub const READ_TO_THE_END: &str = "let the last command read to the end, such as `grep x > /dev/null` for `grep -q x`, or set `pipefail = false`";

/// Whether a failure in a line may be hidden by a pipe: there is one, or a script that is read into the same shell may
/// have one.
pub fn has_pipe(line: &str) -> bool {
    let bytes = line.as_bytes();
    let is_bar = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&b'|');
    let single =
        |(at, byte): (usize, &u8)| *byte == b'|' && !is_bar(at.checked_sub(1)) && !is_bar(at.checked_add(1));
    let reads = |word: &str| matches!(word, "." | "source" | "eval");
    bytes.iter().enumerate().any(single) || line.split_whitespace().any(reads)
}

/// A part of a line: a word, or what separates commands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Operator(&'static str),
}

/// The words of each command of a line.
pub(super) fn commands_in(line: &str) -> Vec<Vec<String>> {
    let tokens = tokens(line);
    let commands = commands(&tokens).into_iter().map(|(_, command)| words(command));
    commands.filter(|words| !words.is_empty()).collect()
}

fn words(tokens: &[Token]) -> Vec<String> {
    let words = tokens.iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.clone()),
        Token::Operator(_) => None,
    });
    words.collect()
}

/// What hides a failure in a line.
pub fn hides(line: &str) -> Vec<Hides> {
    // A text that follows in the next lines is not commands.
    if line.contains("<<") {
        return Vec::new();
    }
    let tokens = tokens(line);
    let commands: Vec<(&str, &[Token])> = commands(&tokens);
    let mut found = Vec::new();
    // A line that stops at the first failure, or looks at exit codes, hides nothing.
    let is_strict = line.contains("$?") || {
        let first = commands.first().map(|(_, tokens)| words(tokens)).unwrap_or_default();
        first.first().is_some_and(|word| word == "set")
            && first.iter().any(|word| word.starts_with('-') && word.contains('e'))
    };
    let mut depth = 0_i32;
    for (nth, (before, command)) in commands.iter().enumerate() {
        let words = words(command);
        let first = words.first().map_or("", String::as_str);
        if *before == "|" && depth == 0 {
            found.extend(early_reader(&words).map(Hides::EarlyReader));
        }
        if *before == "||" && depth == 0 && is_harmless(&words) && !is_strict {
            found.push(Hides::OrElse(words.join(" ")));
        }
        for word in &words {
            match word.as_str() {
                "if" | "for" | "while" | "until" | "case" | "select" | "{" => depth += 1,
                "fi" | "done" | "esac" | "}" => depth -= 1,
                _ => {}
            }
        }
        let next = commands.get(nth + 1).map(|(after, _)| *after);
        let can_fail = !first.is_empty() && !is_harmless(&words) && !is_setting(&words);
        if next == Some(";") && depth == 0 && can_fail && !is_strict && !found.contains(&Hides::Semicolon) {
            found.push(Hides::Semicolon);
        }
    }
    found
}

/// The commands of a line, each with the operator before it. A semicolon at the end is before nothing.
fn commands(tokens: &[Token]) -> Vec<(&'static str, &[Token])> {
    let mut commands = Vec::new();
    let (mut before, mut start) = ("", 0);
    for (at, token) in tokens.iter().enumerate() {
        if let Token::Operator(operator) = token {
            if at > start {
                commands.push((before, &tokens[start..at]));
                before = operator;
            } else if before.is_empty() || before == ";" {
                before = operator;
            }
            start = at + 1;
        }
    }
    if start < tokens.len() {
        commands.push((before, &tokens[start..]));
    }
    commands
}

/// A command that never fails, or whose failure means nothing.
fn is_harmless(words: &[String]) -> bool {
    match words {
        [first, ..] if ["true", ":", "echo", "printf", "sleep"].contains(&first.as_str()) => true,
        [exit, code] if exit == "exit" && code == "0" => true,
        _ => false,
    }
}

/// A command that changes how later ones run.
fn is_setting(words: &[String]) -> bool {
    let assigns = |word: &String| {
        let name = word.split('=').next().unwrap_or_default();
        word.contains('=') && !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let first = words.first().map_or("", String::as_str);
    ["export", "set", "unset", "trap", "local", "readonly", "umask", "exit"].contains(&first)
        || words.iter().all(assigns)
}

/// A command that may stop before it has read everything, with what makes it stop.
fn early_reader(words: &[String]) -> Option<String> {
    let is_assignment = |word: &&String| is_setting(std::slice::from_ref(*word)) && word.contains('=');
    let mut words = words.iter().skip_while(is_assignment).map(String::as_str);
    let program = words.next()?;
    let arguments: Vec<&str> = words.collect();
    let stops_by = match program.rsplit('/').next().unwrap_or_default() {
        "read" => return Some(program.to_owned()),
        // All but the last lines: for that it reads them all.
        "head" if arguments.windows(2).any(|pair| pair[0] == "-n" && pair[1].starts_with('-')) => {
            return None;
        }
        "head" if arguments.iter().any(|word| word.starts_with("-n-")) => return None,
        "head" => return Some(program.to_owned()),
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" => stops_at_a_match(&arguments)?,
        "sed" if arguments.iter().any(|script| quits(script)) => "q".to_owned(),
        "awk" | "gawk" | "mawk" if arguments.iter().any(|script| exits(script)) => "exit".to_owned(),
        _ => return None,
    };
    Some(format!("{program} {stops_by}"))
}

/// The option of `grep` after which a match is enough.
fn stops_at_a_match(arguments: &[&str]) -> Option<String> {
    let mut arguments = arguments.iter().take_while(|word| **word != "--");
    while let Some(word) = arguments.next() {
        let long = word.split('=').next().unwrap_or_default();
        if ["--quiet", "--silent", "--max-count", "--files-with-matches"].contains(&long) {
            return Some(long.to_owned());
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else {
            continue;
        };
        for (at, letter) in letters.char_indices() {
            match letter {
                'q' | 'm' | 'l' => return Some(format!("-{letter}")),
                // What follows is a pattern, a file or a number, here or in the next word.
                'e' | 'f' | 'A' | 'B' | 'C' => {
                    if at + 1 == letters.len() {
                        arguments.next();
                    }
                    break;
                }
                _ => {}
            }
        }
    }
    None
}

/// Whether a script for `sed` ends before the last line: `q` alone, after a number or after a pattern.
fn quits(script: &str) -> bool {
    script.split([';', '{', '}', '\n']).any(|command| {
        let command = command.trim().trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
        let Some(address) = command.strip_suffix(['q', 'Q']).map(str::trim_end) else { return false };
        let is_pattern = address.len() > 1 && address.starts_with('/') && address.ends_with('/');
        is_pattern || address.chars().all(|c| c.is_ascii_digit())
    })
}

/// Whether a script for `awk` may end before the last line.
fn exits(script: &str) -> bool {
    let is_word = |word: &str| word == "exit";
    script.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_word) && !script.contains("END")
}

fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut rest = line.chars().peekable();
    let end = |tokens: &mut Vec<Token>, word: &mut String, quoted: &mut bool| {
        if !word.is_empty() || *quoted {
            tokens.push(Token::Word(std::mem::take(word)));
        }
        *quoted = false;
    };
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('\n') | None => {}
                Some(c) => word.push(c),
            },
            '\'' => {
                quoted = true;
                word.extend(rest.by_ref().take_while(|c| *c != '\''));
            }
            '"' => {
                quoted = true;
                while let Some(c) = rest.next().filter(|c| *c != '"') {
                    word.push(c);
                    if c == '\\' {
                        word.extend(rest.next());
                    }
                }
            }
            '$' if rest.peek() == Some(&'(') => {
                // What is inside ends up in a word, however it ended.
                let mut depth = 0;
                word.push('$');
                for c in rest.by_ref() {
                    word.push(c);
                    depth += i32::from(c == '(') - i32::from(c == ')');
                    if depth == 0 {
                        break;
                    }
                }
            }
            '`' => {
                quoted = true;
                word.extend(rest.by_ref().take_while(|c| *c != '`'));
            }
            '#' if word.is_empty() && !quoted => while rest.next_if(|c| *c != '\n').is_some() {},
            ';' | '|' | '&' | '\n' => {
                let twice = rest.next_if(|next| *next == c && c != '\n').is_some();
                let is_redirection = c == '&' && (word.ends_with('>') || rest.peek() == Some(&'>'));
                if is_redirection {
                    word.push(c);
                    continue;
                }
                end(&mut tokens, &mut word, &mut quoted);
                let operator = match (c, twice) {
                    (';', false) => ";",
                    (';', true) => ";;",
                    ('|', false) => "|",
                    ('|', true) => "||",
                    ('&', true) => "&&",
                    ('&', false) => "&",
                    _ => ";",
                };
                tokens.push(Token::Operator(operator));
            }
            // As words: what they enclose is a list of commands of its own.
            '(' | ')' => {
                end(&mut tokens, &mut word, &mut quoted);
            }
            c if c.is_whitespace() => end(&mut tokens, &mut word, &mut quoted),
            c => word.push(c),
        }
    }
    end(&mut tokens, &mut word, &mut quoted);
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_are_told_from_alternatives() {
        for piped in ["cargo test | tail -3", "a|b", "a || b | c", "a |& b", ". ./env.sh && a", "eval \"$X\""]
        {
            assert!(has_pipe(piped), "{piped}");
        }
        for plain in ["a || b", "a && b; c", "test -f x > y 2>&1", "./a.sh"] {
            assert!(!has_pipe(plain), "{plain}");
        }
    }

    #[test]
    fn what_hides_a_failure_is_found() {
        for line in
            ["cargo test; echo done", "a; b && c", "cd web; npm test", "for f in *; do x $f; done; y", "a\nb"]
        {
            assert_eq!(hides(line), [Hides::Semicolon], "{line}");
        }
        for (line, word) in [
            ("cargo test || true", "true"),
            ("a||:", ":"),
            ("a || exit 0", "exit 0"),
            ("a || echo no", "echo no"),
        ] {
            assert_eq!(hides(line), [Hides::OrElse(word.to_owned())], "{line}");
        }
    }

    #[test]
    fn a_command_that_may_stop_reading_is_found() {
        for (line, reader) in [
            ("a | head -3", "head"),
            ("a | head -n 3", "head"),
            ("a | grep -q x", "grep -q"),
            ("a | grep -Fqx -- x", "grep -q"),
            ("a | grep -e x -q", "grep -q"),
            ("a | LC_ALL=C grep --quiet x", "grep --quiet"),
            ("a | /usr/bin/grep -m1 x", "/usr/bin/grep -m"),
            ("a 2>&1 | grep --max-count=1 x", "grep --max-count"),
            ("a | sort | egrep -l x", "egrep -l"),
            ("a | rg -q x", "rg -q"),
            ("a | sed 1q", "sed q"),
            ("a | sed -n '1p;q'", "sed q"),
            ("a | sed -n '/x/{p;q}'", "sed q"),
            ("a | sed '/x/q5'", "sed q"),
            ("a | awk 'NR==1{print; exit}'", "awk exit"),
            ("a | read line", "read"),
        ] {
            assert_eq!(hides(line), [Hides::EarlyReader(reader.to_owned())], "{line}");
        }
        for line in [
            "a | head -n -3",
            "a | head -n-3",
            "a | tail -3",
            "a | grep x > /dev/null",
            "a | grep -e -q",
            "a | grep -c x",
            "a | grep -- -q",
            "a | sed 's/q/r/'",
            "a | sed '$q'",
            "a | sed -n '/q/p'",
            "a | awk '{ exited = 1 } END { exit !exited }'",
            "a | wc -l",
            "grep -q x file",
            "a || grep -q x file",
        ] {
            assert_eq!(hides(line), [], "{line}");
        }
    }

    #[test]
    fn what_hides_nothing_is_left_alone() {
        for line in [
            "cargo test",
            "a && b || c",
            "a;",
            "echo start; cargo test",
            "X=1; export Y=2; cargo test",
            "set -e; a; b",
            "set -euo pipefail\na\nb",
            "a; code=$?; clean; exit $code",
            "if a; then b; else c; fi",
            "for f in *.sh; do sh -n \"$f\" || exit 1; done",
            "case $x in a) b;; *) c;; esac",
            "while read l; do a; done < list",
            "a || { echo no; exit 1; }",
            "grep -q 'a; b || true' file",
            "grep -q \"a; b\" file",
            "echo a \\; b",
            "test \"$(a; b)\" = c",
            "a 2>&1 && b",
            "a # ; b || true",
            "a && \\\n b",
            "a &&\nb",
            "cat <<X\na; b\nX",
            "a | grep x",
            "head -3 file",
        ] {
            assert_eq!(hides(line), [], "{line}");
        }
    }
}
