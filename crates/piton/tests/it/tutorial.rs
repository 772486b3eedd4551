//! The tutorial: its commands are typed in order, and what it shows has to come out.

use piton_testkit::sandbox::{Output, Sandbox};

const PAGE: &str = include_str!("../../../../docs/tutorial.md");

/// A fenced block of a page: what stands behind its fence, and its lines.
struct Block {
    info: &'static str,
    text: String,
}

fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for line in PAGE.lines() {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(info) => {
                is_open = true;
                blocks.push(Block { info, text: String::new() });
            }
            None => {
                if let Some(block) = blocks.last_mut().filter(|_| is_open) {
                    block.text += &format!("{line}\n");
                }
            }
        }
    }
    blocks
}

/// Type the lines of a block into a shell. It begins in the folder in which the last one ended.
fn typed(sandbox: &Sandbox, commands: &str) -> Output {
    let place = sandbox.root().join("place");
    let script = format!(
        "exec 2>&1; cd \"$(cat {place})\"; PATH=$(dirname \"$0\"):$PATH; trap 'pwd > {place}' EXIT\n{commands}"
    );
    sandbox.piton_by(&["sh", "-e", "-c", &script], []).run()
}

/// A line without what differs between two runs: times, durations, ids, and the width of gaps.
fn plain(line: &str) -> String {
    let line = line.replace("less than a second", "1s");
    let word = |word: &str| {
        let core = word.trim_end_matches([',', ';', ':', ')']);
        let rest = &word[core.len()..];
        let is_time = core.len() == 8 && core.split(':').count() == 3;
        let digits = core.trim_end_matches(char::is_alphabetic);
        let is_duration = digits.parse::<f64>().is_ok() && ["ms", "s", "m"].contains(&&core[digits.len()..]);
        let id = core.strip_prefix("plan-").unwrap_or(core);
        let is_id = id.len() >= 6 && id.chars().all(|c| c.is_ascii_hexdigit());
        match () {
            () if is_time => format!("TIME{rest}"),
            () if is_duration => format!("LONG{rest}"),
            () if is_id => format!("ID{rest}"),
            () => word.to_owned(),
        }
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Whether a line of the page, in which `…` is anything, is this line.
fn is_shown(shown: &str, line: &str) -> bool {
    let Some((first, rest)) = shown.split_once('…') else { return shown == line };
    line.strip_prefix(first.trim_end()).is_some_and(|line| line.ends_with(rest.trim_start()))
}

#[test]
fn every_command_of_the_tutorial_works_and_prints_what_the_page_shows() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/tutorial");
    sandbox.copy(examples, "examples/tutorial");
    sandbox.write(sandbox.root().join("place"), sandbox.project().as_str());
    let (mut last, mut by_hand, mut compared) = (None::<Output>, 0, 0);
    for Block { info, text } in blocks() {
        match info {
            "sh by-hand" => by_hand += 1,
            "sh" => last = Some(typed(&sandbox, &text).exits(0)),
            "sh exits-4" => last = Some(typed(&sandbox, &text).exits(4)),
            "text" => {
                let said = last.as_ref().expect("a command comes before what it prints");
                let lines: Vec<String> = said.stdout.lines().map(plain).collect();
                for shown in text.lines().map(plain).filter(|line| !["", "…"].contains(&line.as_str())) {
                    assert!(lines.iter().any(|line| is_shown(&shown, line)), "{shown:?} in\n{said}");
                    compared += 1;
                }
            }
            other => panic!("a block of `{other}` is neither typed nor compared"),
        }
    }
    // The installation, and a repository that does not exist. `formats` tests the latter.
    assert_eq!(by_hand, 2);
    assert!(compared > 50, "{compared} lines were compared");
}

#[test]
fn what_the_page_may_not_show_is_noticed() {
    assert!(is_shown(
        &plain("10:23:08 list     landed as 320abb4944"),
        &plain("11:00:00 list landed as 0123456789")
    ));
    assert!(is_shown(&plain("a … b"), &plain("a very long way to b")));
    assert!(!is_shown(&plain("10:23:08 list     landed"), &plain("11:00:00 count    landed")));
    assert!(!is_shown(&plain("2 landed"), &plain("3 landed")));
    assert!(!is_shown(&plain("a … b"), &plain("a very long way to c")));
}
