//! The arguments of a scripted `gh` or `glab`. A flag that the real program does not have is refused, as it would be there.

use super::reply::{Reply, Said, said};

#[derive(Debug)]
pub(super) struct Args {
    words: Vec<String>,
    flags: Vec<(String, String)>,
}

impl Args {
    /// `valued` and `plain` are the flags of the command, each with its short form behind a bar: `--repo|-R`.
    pub(super) fn read(args: &[String], valued: &[&str], plain: &[&str]) -> Said<Args> {
        let long = |flag: &str, known: &[&str]| {
            let known = known.iter().find(|known| known.split('|').any(|form| form == flag));
            known.map(|known| known.split('|').next().unwrap_or_default().to_owned())
        };
        let (mut words, mut flags) = (Vec::new(), Vec::new());
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if !arg.starts_with('-') || arg == "-" {
                words.push(arg.clone());
                continue;
            }
            let (flag, value) = match arg.split_once('=') {
                Some((flag, value)) => (flag, Some(value.to_owned())),
                None => (arg.as_str(), None),
            };
            if let Some(name) = long(flag, plain) {
                flags.push((name, value.unwrap_or_else(|| "true".to_owned())));
            } else if let Some(name) = long(flag, valued) {
                let value = value.or_else(|| args.next().cloned());
                let value = value.ok_or_else(|| said(1, format!("flag needs an argument: {flag}")))?;
                flags.push((name, value));
            } else {
                return Err(said(1, format!("unknown flag: {flag}")));
            }
        }
        Ok(Args { words, flags })
    }

    pub(super) fn word(&self, at: usize) -> Option<&str> {
        self.words.get(at).map(String::as_str)
    }

    /// A number, also one from an address.
    pub(super) fn number(&self, at: usize) -> Said<u64> {
        let word = self.word(at).unwrap_or_default();
        let digits = word.rsplit('/').next().unwrap_or_default().trim_start_matches(['#', '!']);
        digits.parse().map_err(|_| Reply {
            code: 1,
            stdout: String::new(),
            stderr: format!("invalid argument: {word:?}\n"),
        })
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        self.get(flag).is_some_and(|value| value != "false")
    }

    pub(super) fn get(&self, flag: &str) -> Option<&str> {
        self.flags.iter().rev().find(|(name, _)| name == flag).map(|(_, value)| value.as_str())
    }

    pub(super) fn all<'a>(&'a self, flag: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.flags.iter().filter(move |(name, _)| name == flag).map(|(_, value)| value.as_str())
    }

    /// Values that are given one by one or with commas.
    pub(super) fn list(&self, flag: &str) -> Vec<String> {
        self.all(flag).flat_map(|value| value.split(',')).map(str::to_owned).collect()
    }
}
