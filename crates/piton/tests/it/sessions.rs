//! Conversations of clients that were cut off: the next try goes on with them. The clients here are stand-ins; real ones
//! are tried in `clients`.

use piton_testkit::sandbox::{Sandbox, task};

use crate::{count, sandbox};

/// Two lines of shell: how a client names its conversation, and how it says that it is done.
const CLAUDE: (&str, &str) = (
    r#"echo '{"type":"system","subtype":"init","session_id":"cut-off-1"}'"#,
    r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"Did it.","modelUsage":{}}'"#,
);
const CODEX: (&str, &str) = (
    r#"echo '{"type":"thread.started","thread_id":"cut-off-1"}'"#,
    r#"echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'"#,
);

/// A run in which the client does this at first, and finishes when it is started again; the words that each was started
/// with, and what the second was asked.
fn cut_off(adapter: &str, (named, done): (&str, &str), first: &str) -> (Sandbox, [String; 2], String) {
    let sandbox = sandbox();
    let side = sandbox.root().join(".cache");
    std::fs::create_dir_all(&side).expect("a folder of our own");
    let program = format!(
        "printf '%s ' \"$@\" >> {side}/argv; echo >> {side}/argv\ncat > {side}/asked\n\
         if ! test -e {side}/begun; then touch {side}/begun; {first}; kill -9 $$; fi\n\
         {named}\necho x > T1.txt\n{done}"
    );
    let bin = sandbox.program("client", &program);
    let plan = format!(
        "name = 'plan'\n[agents.default]\nadapter = '{adapter}'\nprogram = '{bin}/client'\npermissions = 'all'\n\
         [policy]\nbackoff = '0s'\n[defaults]\nattempts = 1\n{}",
        task("T1", "")
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    let _ = sandbox.run("run plan.toml").exits(0).says("was killed by signal 9");
    assert_eq!(count(&sandbox.events(), "agent_ended"), 2);
    let argv = sandbox.read(side.join("argv"));
    let started: Vec<String> = argv.lines().map(str::to_owned).collect();
    let started = started.try_into().unwrap_or_else(|_| panic!("it was started twice: {argv}"));
    let asked = sandbox.read(side.join("asked"));
    (sandbox, started, asked)
}

#[test]
fn a_client_that_was_killed_goes_on_in_its_conversation() {
    let (_sandbox, [first, second], asked) = cut_off("claude", CLAUDE, CLAUDE.0);
    assert!(first.contains("--session-id ") && !first.contains("--resume"), "{first}");
    assert!(second.contains("--resume cut-off-1 ") && !second.contains("--session-id"), "{second}");
    assert!(asked.starts_with("You were interrupted"), "{asked}");
    let (_sandbox, [first, second], _) = cut_off("codex", CODEX, CODEX.0);
    assert!(!first.contains("resume"), "{first}");
    assert!(second.starts_with("exec resume ") && second.contains(" cut-off-1 - "), "{second}");
}

#[test]
fn a_conversation_that_never_began_is_not_gone_on_with() {
    let (_sandbox, [first, second], asked) = cut_off("claude", CLAUDE, "true");
    assert!(first.contains("--session-id ") && second.contains("--session-id "), "{first}\n{second}");
    assert!(!second.contains("--resume") && !asked.starts_with("You were interrupted"), "{second}");
}
