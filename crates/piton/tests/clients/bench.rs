//! A sandbox with one real client in it.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use piton_testkit::models::{Api, Models, Refusal, Script};
use piton_testkit::sandbox::{Invocation, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A folder with the programs of the clients.
const FOLDER: &str = "PITON_TEST_CLIENTS";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

impl Client {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Opencode => "opencode",
        }
    }

    pub(crate) fn program(self) -> Option<Utf8PathBuf> {
        let ours = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/clients/node_modules/.bin");
        let folder = std::env::var(FOLDER).map_or(ours, Utf8PathBuf::from);
        folder.join(self.name()).canonicalize_utf8().ok()
    }

    fn api(self) -> Api {
        match self {
            Client::Claude => Api::Anthropic,
            Client::Codex => Api::OpenAi,
            Client::Gemini => Api::Gemini,
            Client::Opencode => Api::Chat,
        }
    }

    /// The same for one model, and what the client calls it, where we know how a server says that.
    pub(crate) fn limit_of_model(self, until: i64) -> Option<(Refusal, &'static str)> {
        let refusal = self.limit(until);
        match self {
            Client::Claude => {
                let of = |(name, value): (String, String)| {
                    let value = if value == "five_hour" { "seven_day_opus".to_owned() } else { value };
                    (name, value)
                };
                let headers = refusal.headers.into_iter().map(of).collect();
                Some((Refusal { headers, ..refusal }, "opus"))
            }
            Client::Codex => {
                let header = |name: &str, value: &str| (format!("x-codex-{name}"), value.to_owned());
                let headers =
                    vec![header("active-limit", "codex_spark"), header("spark-limit-name", "spark")];
                Some((Refusal { headers, ..refusal }, "spark"))
            }
            Client::Gemini | Client::Opencode => None,
        }
    }

    /// How it asks to be refused when a subscription is used up until then.
    pub(crate) fn limit(self, until: i64) -> Refusal {
        let busy = Refusal::busy(u32::MAX);
        let header = |name: &str, value: String| (format!("anthropic-ratelimit-unified-{name}"), value);
        match self {
            Client::Claude => Refusal {
                headers: vec![
                    header("status", "rejected".to_owned()),
                    header("reset", until.to_string()),
                    header("representative-claim", "five_hour".to_owned()),
                ],
                ..busy
            },
            // It does not tell when.
            Client::Gemini => {
                let violation = json!({ "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier" });
                let kind = "type.googleapis.com/google.rpc.QuotaFailure";
                Refusal {
                    body: json!({ "error": {
                        "code": 429, "message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED",
                        "details": [{ "@type": kind, "violations": [violation] }],
                    } }),
                    ..busy
                }
            }
            Client::Codex | Client::Opencode => Refusal {
                body: json!({ "error": {
                    "type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus",
                    "resets_at": until,
                } }),
                ..busy
            },
        }
    }
}

pub(crate) struct Bench {
    pub(crate) client: Client,
    pub(crate) sandbox: Sandbox,
    pub(crate) program: Utf8PathBuf,
}

impl Bench {
    /// `None` if the client is not here.
    pub(crate) fn with(client: Client) -> Option<Bench> {
        let program = client.program()?;
        let binary = env!("CARGO_BIN_EXE_piton");
        let sandbox = match client {
            Client::Claude | Client::Opencode => Sandbox::new(binary),
            // It takes no settings from below a folder that everybody may write to.
            Client::Gemini => {
                Sandbox::new_in(binary, &std::env::var("HOME").map_or("/".into(), Utf8PathBuf::from))
            }
            // Its own sandbox hides what is in memory, and lets everybody write to /tmp.
            Client::Codex => Sandbox::new_in(binary, Utf8Path::new("/var/tmp")),
        };
        Some(Bench { client, sandbox, program })
    }

    pub(crate) fn serve(&self, scripts: impl IntoIterator<Item = Script>) -> Models {
        self.serve_as(self.client, scripts)
    }

    /// A model for another client than this one.
    pub(crate) fn serve_as(&self, client: Client, scripts: impl IntoIterator<Item = Script>) -> Models {
        Models::serve(client.api(), scripts)
    }

    /// Write a plan whose agent is the client, and commit it. `tasks` begins inside `[defaults]`.
    pub(crate) fn plan(&self, models: &Models, tasks: &str) {
        self.plan_retrying(2, models, tasks);
    }

    /// The same, with a client that itself tries so often again.
    pub(crate) fn plan_retrying(&self, retries: u32, models: &Models, tasks: &str) {
        let agent = self.profile("default", (self.client, &self.program), models, retries);
        self.plan_of(&agent, tasks);
    }

    /// The table of an agent that is a client; what the client needs in its home is written there.
    pub(crate) fn profile(
        &self,
        name: &str,
        (client, program): (Client, &Utf8Path),
        models: &Models,
        retries: u32,
    ) -> String {
        let env = self.environment(client, models, retries);
        let pairs = env.as_object().expect("an object").iter();
        let env: Vec<String> = pairs.map(|(name, value)| format!("{name} = {value}")).collect();
        let model = if client == Client::Gemini { "model = \"gemini-2.5-pro\"\n" } else { "" };
        format!(
            "[agents.{name}]\nadapter = \"{}\"\nprogram = \"{program}\"\n{model}env = {{ {} }}\n",
            client.name(),
            env.join(", ")
        )
    }

    /// A plan with these agents. `tasks` begins inside `[defaults]`.
    pub(crate) fn plan_of(&self, agents: &str, tasks: &str) {
        let text = format!(
            "name = \"plan\"\n{agents}[policy]\nbackoff = \"0s\"\n[defaults]\ntimeout = \"100s\"\n{tasks}"
        );
        self.sandbox.write("plan.toml", &text);
        self.sandbox.commit("Plan");
    }

    /// What leads a client to the scripted model.
    pub(crate) fn environment(&self, client: Client, models: &Models, retries: u32) -> Value {
        let url = models.url();
        match client {
            // A subscription: the service reports limits only to those.
            Client::Claude => json!({
                "ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_OAUTH_TOKEN": "dummy",
                "CLAUDE_CODE_MAX_RETRIES": retries.to_string(),
            }),
            Client::Codex => {
                self.sandbox
                    .write(self.sandbox.root().join("home/.codex/config.toml"), &codex_config(&url, retries));
                json!({ "FAKE_KEY": "dummy" })
            }
            Client::Gemini => {
                let settings = json!({
                    "security": { "auth": { "selectedType": "gemini-api-key" } },
                    "privacy": { "usageStatisticsEnabled": false },
                    "general": { "enableAutoUpdate": false, "maxAttempts": retries + 1 },
                });
                self.sandbox
                    .write(self.sandbox.root().join("home/.gemini/settings.json"), &settings.to_string());
                json!({ "GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url })
            }
            Client::Opencode => {
                let provider = json!({
                    "npm": "@ai-sdk/openai-compatible", "name": "Fake", "models": { "m": { "name": "M" } },
                    "options": { "baseURL": format!("{url}/v1"), "apiKey": "dummy" },
                });
                let config = json!({
                    "model": "fake/m", "small_model": "fake/m", "autoupdate": false, "share": "disabled",
                    "provider": { "fake": provider },
                });
                json!({
                    "OPENCODE_CONFIG_CONTENT": config.to_string(), "OPENCODE_DISABLE_MODELS_FETCH": "1",
                    "npm_config_offline": "true",
                })
            }
        }
    }

    pub(crate) fn run(&self) -> Invocation {
        self.sandbox.piton(["run", "plan.toml"])
    }

    /// The same with a fence around every agent, where this kernel has one.
    pub(crate) fn run_fenced(&self) -> Invocation {
        self.run().env("PITON_SANDBOX", "auto")
    }

    /// The events of the run that hold this.
    pub(crate) fn events(&self, what: &str) -> Vec<Value> {
        let events = self.sandbox.events();
        let found = events.iter().filter(|event| event.contains(what));
        found.map(|event| serde_json::from_str(event).expect("a line of JSON")).collect()
    }

    /// What each try has used, as the journal has it.
    pub(crate) fn used(&self) -> Vec<Value> {
        let notes = self.events("\"note\":\"spent\"").into_iter();
        notes.map(|event| event["note"]["used"].clone()).collect()
    }

    /// The command line of a job of a task.
    pub(crate) fn argv(&self, task: &str, job: &str) -> String {
        let runs = self.sandbox.own().join("runs");
        let run =
            runs.read_dir_utf8().expect("a folder").next().expect("a run").expect("a folder").into_path();
        self.sandbox.read(run.join(task).join(job).join("started.json"))
    }

    /// Kill the client, and only it: not its keeper, not what its tools started.
    pub(crate) fn kill_client(&self) {
        let mut killed = 0;
        for (pid, words) in self.processes() {
            if ["stream-json", "--skip-git-repo-check", "--format json"]
                .iter()
                .any(|word| words.contains(word))
            {
                let pid = Pid::from_raw(pid).expect("not zero");
                killed += usize::from(kill_process(pid, Signal::KILL).is_ok());
            }
        }
        assert!(killed > 0, "there is no client to kill");
    }

    /// Processes of attempts in this sandbox, with their command lines.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let marker = format!("PITON_JOB={}", self.sandbox.root());
        let folder = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = folder.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let lossy =
            |path: String| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "));
        let ours =
            pids.filter(|pid| lossy(format!("/proc/{pid}/environ")).is_ok_and(|env| env.contains(&marker)));
        ours.filter_map(|pid| Some((pid, lossy(format!("/proc/{pid}/cmdline")).ok()?))).collect()
    }
}

fn codex_config(url: &str, retries: u32) -> String {
    format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\n\
         base_url = \"{url}/v1\"\nenv_key = \"FAKE_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 0\n\
         stream_max_retries = {retries}\n"
    )
}
