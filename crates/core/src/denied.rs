//! Paths that a program was not allowed to write, as far as its output names them. Only the program learns the path
//! from the kernel, so this is a guess.

/// The error messages of systems and languages.
const WORDS: [&str; 6] =
    ["permission denied", "read-only file system", "eacces", "erofs", "eperm", "operation not permitted"];
/// Programs that print a chain of causes name the path at its beginning, at most this many lines earlier.
const BEFORE: usize = 4;
/// A line of a program that was refused something begins like this, somewhere.
const COMPLAINTS: [&str; 6] = ["error", "fail", "cannot", "could not", "can't", "unable"];
/// Longer lines are data.
const LONGEST: usize = 4096;
/// One cause shows itself in many lines.
const MOST: usize = 40;

/// A path that was refused, and the line with the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    pub path: String,
    pub line: String,
}

/// The paths that an output names in messages about refused access, each once. In a stream of JSON, texts are decoded
/// first.
pub fn denied(output: &str) -> Vec<Denied> {
    let text = output.replace("\\n", "\n").replace("\\\"", "\"");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut found: Vec<Denied> = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| tells(line)) {
        let before = lines[at.saturating_sub(BEFORE)..at].iter().rev().filter(|line| complains(line));
        let Some((line, path)) =
            [line].into_iter().chain(before).find_map(|line| Some((line, path_in(line)?)))
        else {
            continue;
        };
        if found.len() < MOST && found.iter().all(|known| known.path != path) {
            found.push(Denied { path: path.to_owned(), line: (*line).to_owned() });
        }
    }
    found
}

fn tells(line: &str) -> bool {
    let small = line.to_ascii_lowercase();
    line.len() <= LONGEST && WORDS.iter().any(|word| small.contains(word))
}

fn complains(line: &str) -> bool {
    let small = line.to_ascii_lowercase();
    line.len() <= LONGEST && COMPLAINTS.iter().any(|word| small.contains(word))
}

/// The last absolute path of a line: what is before it is the program that complains.
fn path_in(line: &str) -> Option<&str> {
    let starts = line.match_indices('/').map(|(at, _)| at);
    let begins = |at: &usize| {
        let before = line[..*at].chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || "'\"`‘“(:=".contains(c))
    };
    let path = |at: usize| {
        let quote = line[..at].chars().next_back().filter(|c| "'\"`‘“".contains(*c));
        let closing = match quote {
            Some('‘') => Some('’'),
            Some('“') => Some('”'),
            other => other,
        };
        let end = match closing {
            Some(closing) => line[at..].find(closing)?,
            None => line[at..].find([' ', '\t', '"', '\'', '`', ',', ')', ';']).unwrap_or(line.len() - at),
        };
        let path = line[at..at + end].trim_end_matches([':', '.', '/']);
        // A comment in code, or a division.
        (path.len() > 1 && !path.starts_with("//")).then_some(path)
    };
    starts.filter(begins).filter_map(path).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(output: &str) -> Vec<String> {
        denied(output).into_iter().map(|denied| denied.path).collect()
    }

    #[test]
    fn the_path_is_found_in_the_words_of_many_programs() {
        for (line, path) in [
            ("mkdir: cannot create directory '/home/a/.foo': Permission denied", "/home/a/.foo"),
            ("mkdir: cannot create directory ‘/home/a/.foo’: Read-only file system", "/home/a/.foo"),
            ("sh: 1: cannot create /home/a/.profile: Permission denied", "/home/a/.profile"),
            ("bash: /home/a/x y: Read-only file system", "/home/a/x"),
            ("npm error Error: EACCES: permission denied, mkdir '/home/a/.npm/_npx'", "/home/a/.npm/_npx"),
            ("PermissionError: [Errno 13] Permission denied: '/home/a/.cache/x'", "/home/a/.cache/x"),
            ("OSError: [Errno 30] Read-only file system: '/home/a/my folder/x'", "/home/a/my folder/x"),
            ("open /home/a/go/pkg/mod/cache/lock: permission denied", "/home/a/go/pkg/mod/cache/lock"),
            ("touch: setting times of '/home/a/x': Operation not permitted", "/home/a/x"),
            ("/usr/bin/install: cannot create regular file '/opt/x': Permission denied", "/opt/x"),
            (r#"{"type":"user","text":"a\nmkdir: \"/home/a/.b\": Permission denied\nc"}"#, "/home/a/.b"),
        ] {
            assert_eq!(paths(line), [path], "{line}");
        }
    }

    #[test]
    fn a_chain_of_causes_names_the_path_before() {
        let cargo = "error: failed to create directory `/home/a/.cargo/registry/index`\n\nCaused by:\n  \
                     Permission denied (os error 13)\n";
        assert_eq!(paths(cargo), ["/home/a/.cargo/registry/index"]);
    }

    #[test]
    fn nothing_is_guessed_without_a_path_or_without_a_refusal() {
        for output in [
            "",
            "Permission denied",
            "writing /home/a/.foo",
            "let x = a / b; // EACCES is permission denied",
            "see docs/permission denied/x",
        ] {
            assert_eq!(paths(output), [""; 0], "{output}");
        }
        let twice = "rm: /a/b: Permission denied\nrm: /a/b: Permission denied\n";
        assert_eq!(paths(twice), ["/a/b"]);
    }
}
