//! A client is one file and one row: this is such a file, and nothing else knows the client.

use piton_core::client::{
    Adapter, Client, ClientRef, End, Exit, Facts, Fault, Happening, Launch, Meaning, Start, Story,
    add_clients,
};
use piton_core::plan::Agent;
use piton_core::run::{ByModel, Usage};
use piton_core::system::config::Config;
use piton_core::system::native;
use piton_core::time::Timestamp;
use serde_json::{Value, json};

#[derive(Debug)]
struct Parrot;

static PARROT: Parrot = Parrot;

impl Client for Parrot {
    fn name(&self) -> &'static str {
        "parrot"
    }

    fn facts(&self) -> Facts {
        Facts { has_stream: true, takes_budget: true, own_arguments: &["--repeat"], ..Facts::UNKNOWN }
    }

    fn provider<'a>(&self, _model: Option<&'a str>) -> Option<&'a str> {
        Some("jungle")
    }

    fn start(&self, start: &Start<'_>) -> Result<Launch, String> {
        let words = vec![start.agent.program().to_owned(), "--repeat".to_owned()];
        Ok(Launch { words, ..Launch::default() })
    }

    fn happenings(&self, line: &Value, _now: Timestamp) -> Vec<Happening> {
        match line["says"].as_str() {
            Some("bye") => {
                let used = Usage { input: line["ate"].as_u64(), ..Usage::default() };
                let of = ByModel::from([(String::new(), used)]);
                vec![Happening::Usage { so_far: true, of }, Happening::End(End::Finished)]
            }
            Some(text) => vec![Happening::Message { of: "m".to_owned(), text: text.to_owned() }],
            None => Vec::new(),
        }
    }

    fn fault(&self, words: &str, _code: i32) -> Fault {
        if words.contains("cage") { Fault::Person } else { Fault::Outside }
    }
}

fn read(agent: &str) -> (Option<Agent>, String) {
    let plan = format!(
        "[agents.default]\n{agent}\n[[task]]\nid = 'T1'\ntitle = 'It'\nprompt = 'Do it'\nchecks = ['true']\n"
    );
    let reading = native::read(&plan, "plan", &Config::default(), &native::Overrides::default());
    let said: Vec<&str> = reading.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    (reading.plan.settings.agents.get("default").cloned(), said.join("; "))
}

#[test]
fn a_client_is_one_file_and_one_row() {
    static ROWS: [ClientRef; 1] = [&PARROT];
    let unknown: Result<Agent, _> = serde_json::from_value(json!({ "adapter": "parrot" }));
    assert!(unknown.is_err_and(|error| error.to_string().starts_with("unknown variant `parrot`")));
    add_clients(&ROWS);

    let (agent, said) = read("adapter = 'parrot'\nbudget_usd = 2");
    let agent = agent.expect("an agent");
    assert_eq!((said.as_str(), agent.budget, agent.program()), ("", Some(2_000_000), "parrot"));
    assert_eq!(agent.provider("default"), "jungle");
    assert!(agent.adapter.tells_no_money());
    let (_, said) = read("adapter = 'parrot'\nmax_turns = 2\nargs = ['--repeat']");
    assert_eq!(
        said,
        "the adapter `parrot` does not use `max_turns`; Piton passes `--repeat` to `parrot` itself"
    );

    let written = json!(agent);
    assert_eq!(written["adapter"], "parrot");
    assert_eq!(serde_json::from_value::<Agent>(written).expect("what was written"), agent);

    let story = |output: &[u8]| Story::of(agent.adapter, output, Timestamp(0)).expect("it has a stream");
    let ended = story(b"{\"says\": \"hello\"}\n{\"says\": \"bye\", \"ate\": 7}\n");
    assert_eq!((ended.said.as_str(), ended.meaning(Exit::Code(0))), ("hello", Meaning::Finished));
    assert_eq!(ended.used.expect("it tells")[""].input, Some(7));
    let broken = story(b"it is in a cage\n").meaning(Exit::Code(1));
    assert!(matches!(broken, Meaning::Broken { fault: Fault::Person, .. }), "{broken:?}");
    assert_eq!(Adapter::known().last().map(|last| last.name()), Some("parrot"));
}
