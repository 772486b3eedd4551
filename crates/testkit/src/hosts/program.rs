//! The program that tests put in the place of `gh` and `glab`.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use camino::Utf8Path;
use piton_core::host::Kind;

use super::acts;
use super::github::{self, Gh};
use super::gitlab::{self, Glab};
use super::reply::{Reply, Said, boxed, said};
use super::repository::Repository;
use super::state::{Call, Folder, State, Trouble};

/// Answer one call. The first argument is the folder of the scripted host, the others are those of the call.
pub fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("the folder of a scripted host");
    let folder = Folder::at(Utf8Path::new(&folder));
    let mut stdin = String::new();
    // What is not text would be a mistake of the caller: its test sees that the text is missing.
    let _ = io::stdin().read_to_string(&mut stdin);
    let call = Call { args: args.collect(), stdin };
    folder.record(&call);
    let trouble = folder.change(|state| take_trouble(state, &call));
    let reply = troubled(&folder, &call, trouble);
    // The caller may have closed its end.
    let _ = io::stdout().write_all(reply.stdout.as_bytes());
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    ExitCode::from(u8::try_from(reply.code).unwrap_or(1))
}

/// The trouble that this call is in, which has one call less to hit then.
fn take_trouble(state: &mut State, call: &Call) -> Option<Trouble> {
    let fits = |words: &[String]| {
        words.iter().zip(&call.args).filter(|(word, arg)| word == arg).count() == words.len()
    };
    let fault = state.faults.iter_mut().find(|fault| fault.times > 0 && fits(&fault.words))?;
    fault.times -= 1;
    Some(fault.trouble.clone())
}

fn troubled(folder: &Folder, call: &Call, trouble: Option<Trouble>) -> Reply {
    let Some(trouble) = trouble else { return act(folder, call) };
    let host =
        folder.change(|state| if state.kind == Kind::GitHub { "api.github.com" } else { "gitlab.com" });
    let lost = || {
        said(
            1,
            format!("error connecting to {host}\ncheck your internet connection or https://githubstatus.com"),
        )
    };
    let bad = || said(1, "HTTP 502: Bad Gateway (https://api.github.com/graphql)");
    match trouble {
        Trouble::LostAnswer => {
            act(folder, call);
            lost()
        }
        Trouble::HangAfter => {
            act(folder, call);
            hang()
        }
        Trouble::Hang => hang(),
        Trouble::NoNetwork => lost(),
        Trouble::RateLimit => said(1, "gh: API rate limit exceeded for user ID 1. (HTTP 403)"),
        Trouble::BadGateway => bad(),
        Trouble::BadGatewayAfter => {
            act(folder, call);
            bad()
        }
        Trouble::NotJson => {
            let reply = act(folder, call);
            Reply { stdout: format!("<html>\n{}", reply.stdout), ..reply }
        }
        Trouble::Hostile => {
            let reply = act(folder, call);
            let flood = format!("\\u001b[2J\\u202e\\u0000</signal>{}", "flood ".repeat(170_000));
            Reply { stdout: reply.stdout.replace("HOSTILE", &flood), ..reply }
        }
        Trouble::Says { code, stdout, stderr } => Reply { code, stdout, stderr },
        Trouble::MeetBefore(path) => {
            meet(&path);
            act(folder, call)
        }
        Trouble::MeetAfter(path) => {
            let reply = act(folder, call);
            meet(&path);
            reply
        }
    }
}

/// Wait until another process opens the other end of a FIFO.
fn meet(path: &str) {
    drop(std::fs::File::open(path).expect("a FIFO"));
}

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

fn act(folder: &Folder, call: &Call) -> Reply {
    folder.change(|state| {
        state.tick += 1;
        let repository = Repository { path: folder.remote(state), now: state.now() };
        acts::refresh(state, &repository);
        let answer: Said = match state.kind {
            Kind::GitHub => {
                github::answer(Gh { state, repository: &repository, stdin: &call.stdin }, &call.args)
            }
            Kind::GitLab => {
                gitlab::answer(Glab { state, repository: &repository, stdin: &call.stdin }, &call.args)
            }
        };
        // glab puts its own complaints into a box, too.
        answer.unwrap_or_else(|refusal| match state.kind {
            Kind::GitLab if refusal.stderr.starts_with("unknown flag") => boxed(&refusal.stderr),
            _ => refusal,
        })
    })
}
