//! How each client is started, for people who do not have the client.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use piton_core::client::Adapter;
use piton_core::plan::{Agent, TaskSpec};
use piton_core::run::AgentEnd;
use piton_core::time::{Span, Timestamp};

use super::{PROMPT, Place, Tools, end_of, hear, start};
use crate::disk;
use crate::keeper::{Ended, Job, Outcome};

fn client(name: &str) -> Adapter {
    Adapter::named(name).expect("a known client")
}

const MACHINE: &str = "{\"security\": {}}";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Fence,
    Nothing,
}

/// The command line and the environment of one start where the machine has these settings, with the folder of the test as
/// `[HERE]`.
fn started(agent: &Agent, tools: Option<Tools<'_>>, around: Around, machine: &str) -> String {
    let fenced = around == Around::Fence;
    let temp = tempfile::tempdir().expect("a temporary folder");
    let here = Utf8PathBuf::from_path_buf(temp.path().to_owned()).expect("UTF-8");
    let (cwd, prompt) = (here.join("work"), here.join("job/prompt.md"));
    disk::private_folder(&cwd).expect("a new folder");
    disk::private_folder(&here.join("job")).expect("a new folder");
    // Nothing comes from the environment of the person who runs the tests.
    let own = [
        ("HOME", here.join("home").into_string()),
        ("CODEX_HOME", here.join("home/.codex").into_string()),
        ("TMPDIR", here.to_string()),
        ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", here.join("machine.json").into_string()),
        ("OPENCODE_CONFIG_CONTENT", "{\"model\": \"m\"}".to_owned()),
    ];
    disk::write(&here.join("machine.json"), machine.as_bytes()).expect("a new file");
    let mut agent = agent.clone();
    agent.env.extend(own.map(|(name, value)| (name.to_owned(), value)));
    let job = start(&agent, &Place { cwd: &cwd, prompt: &prompt, tools, fenced }, None).expect("a job");
    let mut lines = vec![format!("== {}, fenced: {fenced}", agent.adapter.name())];
    lines.extend(job.argv);
    let told: BTreeMap<String, String> = job.env.into_iter().chain(job.secrets).collect();
    // Variables that the test itself has set are left out.
    let is_told =
        |name: &String, value: &String| name != "PITON_PROMPT" && agent.env.get(name) != Some(value);
    let told = told.iter().filter(|(name, value)| is_told(name, value));
    lines.extend(told.map(|(name, value)| format!("{name}={value}")));
    lines.extend(job.fence.map(|fence| format!("needs a fence: {}", fence.required)));
    if let Ok(settings) = std::fs::read_to_string(here.join("job/gemini.json")) {
        lines.push(settings);
    }
    let home = here.join("home").read_dir_utf8().into_iter().flatten().flatten();
    let mut made: Vec<String> = home.map(|entry| entry.file_name().to_owned()).collect();
    made.sort();
    lines.push(format!("made at home: {made:?}"));
    lines.join("\n").replace(here.as_str(), "[HERE]") + "\n\n"
}

#[test]
fn a_client_gets_its_tools_its_question_and_no_more_rights_than_the_work_needs() {
    let tools = Tools { piton: "/opt/it's/piton", asked: true };
    let asked = |adapter: Adapter| adapter.facts().can_be_asked;
    let mut all = String::new();
    for adapter in Adapter::known() {
        let agent = Agent { adapter, hooks: asked(adapter), ..Agent::default() };
        all += &started(&agent, Some(tools), Around::Fence, MACHINE);
    }
    // Clients that only answer a question, or that should get no tools.
    for adapter in Adapter::known().filter(|adapter| adapter.name() != "claude") {
        let plain = Agent { adapter, hooks: true, ..Agent::default() };
        all += &started(&plain, None, Around::Nothing, MACHINE);
    }
    for adapter in Adapter::known().filter(|adapter| asked(*adapter)) {
        let agent = Agent { adapter, no_mcp: true, ..Agent::default() };
        all += &started(&agent, Some(tools), Around::Nothing, MACHINE);
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_secret_in_the_settings_of_the_machine_is_copied_nowhere() {
    let gemini = Agent { adapter: client("gemini"), ..Agent::default() };
    let tools = Some(Tools { piton: "/opt/piton", asked: false });
    let key = format!("AIza{}", "Sy0123456789abcdefghijklmnopqrstuvw");
    let with = format!("{{\"mcpServers\": {{\"other\": {{\"env\": {{\"KEY\": \"{key}\"}}}}}}}}");
    let told = started(&gemini, tools, Around::Fence, &with);
    assert!(!told.contains(&key) && !told.contains("gemini.json"), "{told}");
    assert!(started(&gemini, tools, Around::Fence, MACHINE).contains("gemini.json"));
}

#[test]
fn a_client_that_would_not_take_its_bound_on_turns_is_not_started() {
    let bounded = Agent { adapter: client("gemini"), max_turns: Some(7), ..Agent::default() };
    // It takes no settings from a folder that every user may write to.
    let temp = tempfile::tempdir().expect("a temporary folder");
    let here = Utf8PathBuf::from_path_buf(temp.path().to_owned()).expect("UTF-8");
    let writable_by_all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&here, writable_by_all).expect("our own folder");
    let prompt = here.join("prompt.md");
    let place = Place { cwd: &here, prompt: &prompt, tools: None, fenced: false };
    let refused = start(&bounded, &place, None).map(drop);
    assert_eq!(refused.map_err(|error| error.kind()), Err(std::io::ErrorKind::Unsupported));
    let free = Agent { max_turns: None, ..bounded };
    assert!(start(&free, &place, None).is_ok());
}

/// What the end of a command means that printed this and exited with 0. Its prompt asked for a certain last line.
fn command_said(printed: &str) -> AgentEnd {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let here = Utf8PathBuf::from_path_buf(temp.path().to_owned()).expect("UTF-8");
    disk::write(&here.join("output.log"), printed.as_bytes()).expect("a new file");
    disk::write(&here.join(PROMPT), b"Say so: end with the line\n  `<signal>BLOCKED:why</signal>`\n")
        .expect("a new file");
    let ended = Ended::Exited { code: 0 };
    let outcome: Outcome = serde_json::from_value(serde_json::json!({
        "ended": &ended, "started_at_ms": 0, "ended_at_ms": 0, "output_bytes": printed.len(),
    }))
    .expect("an outcome");
    let heard = hear(&Agent::default(), &Job::at(&here), None, &outcome, 1024).expect("readable");
    let spec: TaskSpec = serde_json::from_value(serde_json::json!({
        "id": "T1", "title": "Do it", "prompt": "Do it", "group": 0, "priority": 1, "agent": "default",
        "attempts": 1, "timeout": Span::minutes(1),
    }))
    .expect("a task");
    end_of(&ended, &heard, None, &spec)
}

#[test]
fn a_command_that_quotes_a_signal_has_only_ended() {
    let until = Timestamp(7_200_000);
    let limit = AgentEnd::Limit { reason: "the agent reached a usage limit".to_owned(), until, model: None };
    assert_eq!(command_said("Work.\n<signal>LIMIT:2h</signal>\n"), limit);
    for quoted in [
        "The docs say:\n> <signal>LIMIT:2h</signal>\n",
        "```\n<signal>LIMIT:2h</signal>\n```\n",
        "```\n<signal>LIMIT:2h</signal>\n",
        "docs/agents.md:12:<signal>LIMIT:2h</signal>\n",
        "+<signal>BLOCKED:x</signal>\n",
        "- <signal>BLOCKED:x</signal>\n",
        "<signal>Q1_DONE</signal>\n",
        // Its prompt, and nothing more.
        "Say so: end with the line\n  `<signal>BLOCKED:why</signal>`\n",
    ] {
        assert_eq!(command_said(quoted), AgentEnd::Done, "{quoted}");
    }
    // Only the end is looked at, and a fence may have begun before it.
    let long = format!("```\n{}\n<signal>LIMIT:2h</signal>\n```\n", "x\n".repeat(2000));
    assert_eq!(command_said(&long), AgentEnd::Done);
}

#[test]
fn the_arguments_of_a_profile_stand_after_pitons_own_and_before_what_is_positional() {
    for adapter in Adapter::all() {
        let args = ["--effort".to_owned(), "high".to_owned()];
        let agent = Agent { adapter, command: vec!["me".into()], args: args.to_vec(), ..Agent::default() };
        let told = started(&agent, None, Around::Nothing, MACHINE);
        let words: Vec<&str> = told.lines().collect();
        let at = words.iter().position(|word| *word == "--effort").expect("its arguments");
        assert_eq!(words[at + 1], "high", "{told}");
        // What it reads its prompt from comes last.
        assert_eq!(words[at + 2] == "-", adapter.name() == "codex", "{told}");
    }
}
