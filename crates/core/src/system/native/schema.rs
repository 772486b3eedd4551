//! JSON Schemas of `plan.toml` and `piton.toml`, for editors that complete and explain.
//!
//! The reader walks TOML by hand, so these types only mirror what it takes. A test holds their names against the
//! reader's own keys, and another reads the starter through them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::Value;

use crate::client::Adapter;

/// The schema of `plan.toml`.
pub fn schema() -> Value {
    schema_of::<PlanFile>()
}

/// The schema of `piton.toml`.
pub fn config_schema() -> Value {
    schema_of::<ConfigFile>()
}

/// Draft 7 is what editors of TOML understand.
fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<T>().to_value();
    adapt(&mut schema);
    schema
}

/// Adapts what `schemars` makes for Rust to TOML: there is no null, a number has no width, and a description has no
/// line breaks of our source.
fn adapt(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.retain(|key, value| !(key == "format" && value == "uint32"));
            if let Some(Value::Array(kinds)) = object.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [only] = kinds.as_slice() {
                    object["type"] = only.clone();
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                let before = choices.len();
                choices.retain(|choice| choice["type"] != "null");
                if let ([only], true) = (choices.as_slice(), choices.len() < before) {
                    // Draft 7 ignores what stands next to a `$ref`, so the reference gets a place of its own.
                    let only = only.clone();
                    object.insert("allOf".to_owned(), Value::Array(vec![only]));
                    object.shift_remove("anyOf");
                }
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            object.values_mut().for_each(adapt);
        }
        Value::Array(items) => items.iter_mut().for_each(adapt),
        _ => {}
    }
}

macro_rules! mirror {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => {$(
        #[derive(JsonSchema)]
        #[cfg_attr(test, derive(serde::Deserialize))]
        #[serde(deny_unknown_fields)]
        $(#[$meta])*
        #[expect(dead_code, reason = "only the shape is used")]
        struct $name { $($(#[$field_meta])* $field: $type,)* }
    )*};
}

mirror! {
    /// A plan for Piton: tasks for coding agents, what proves them done, and how the run behaves.
    #[schemars(title = "Piton plan")]
    struct PlanFile {
        /// Names the plan and its runs. Letters, digits and `. _ - # @`. Default: the name of the file.
        #[schemars(length(min = 1, max = 60))]
        name: Option<String>,
        /// How the whole run behaves.
        policy: Option<PolicyTable>,
        /// Programs that do the work, by name. Completes those of `piton.toml`, key by key.
        agents: Option<BTreeMap<String, AgentTable>>,
        /// How a fresh worktree is made ready.
        worktree: Option<WorktreeTable>,
        /// What agents may write to, and fill.
        sandbox: Option<SandboxTable>,
        /// What may be used before the run stops.
        budget: Option<BudgetTable>,
        /// What holds for tasks that do not say otherwise.
        defaults: Option<DefaultsTable>,
        /// Groups, in the order in which they are worked on. Without any, all tasks are in one.
        group: Option<Vec<GroupTable>>,
        /// The tasks.
        #[schemars(length(min = 1))]
        task: Vec<TaskTable>,
    }

    /// What holds for every plan of a project; a plan's own tables are stronger, key by key.
    #[schemars(title = "Piton project settings")]
    struct ConfigFile {
        /// How runs behave.
        policy: Option<PolicyTable>,
        /// Programs that do the work, by name.
        agents: Option<BTreeMap<String, AgentTable>>,
        /// How a fresh worktree is made ready.
        worktree: Option<WorktreeTable>,
        /// What agents may write to, and fill.
        sandbox: Option<SandboxTable>,
        /// What may be used before the run stops.
        budget: Option<BudgetTable>,
        /// What holds for tasks that do not say otherwise.
        defaults: Option<DefaultsTable>,
        /// What is looked at when all tasks of a plan of the rw-kit system are through, by name: `unit_tests`,
        /// `integration_tests`, `e2e_tests`, `smoke_test`, `uat`, `qa_review`, or others.
        gates: Option<BTreeMap<String, GateTable>>,
        /// What happens at a tracker whose issues are a plan.
        issues: Option<IssuesTable>,
        /// How tasks land by requests, in a run with `--land pr`.
        requests: Option<RequestsTable>,
        /// How you are told about a run that you do not watch.
        notify: Option<NotifyTable>,
        /// Where the journal is, if several machines share it.
        journal: Option<JournalTable>,
    }

    /// How a whole run behaves.
    struct PolicyTable {
        /// `layered`: groups strictly in order. `batch`: also a barrier after each dependency level. `flow`: every
        /// task as soon as its dependencies have landed. Default: `layered`.
        schedule: Option<ScheduleName>,
        /// Who waits for whom in a plan of another tool that does not say it of each task. `all`: each task waits for
        /// the one before it. `groups`: only within its group. `free`: nobody. Default: as the format is usually meant.
        order: Option<OrderName>,
        /// What the subtasks of a list of Task Master are. `steps`: one agent does a task with all its subtasks.
        /// `tasks`: each subtask is a task of its own. Default: `steps`.
        subtasks: Option<SubtasksName>,
        /// Tasks worked on at once. Default: 3.
        #[schemars(range(min = 1, max = 64))]
        max_parallel: Option<u32>,
        /// When a task's attempts are spent: `stop` starting anything new; `continue` with what does not depend on
        /// it, in its group; `pass` on to later groups as well; or `skip` it, so that even what depends on it goes
        /// on. Default: `continue`.
        exhausted: Option<ExhaustedName>,
        /// Agents that take over after the first failure of a task, the second, and so on; the last one stays.
        /// `debugger`, `specialist` and `wider-context` are also told what that means, and where no agent has such
        /// a name, the task's own agent is. Default: none.
        escalation: Option<Vec<String>>,
        /// The agent that reads what a failed check printed and what was changed, and writes for the next try what to do
        /// about it. Default: none.
        #[schemars(length(min = 1))]
        feedback: Option<String>,
        /// Must pass on the merged tree before the target branch moves, whatever the task.
        landing_checks: Option<Vec<CheckEntry>>,
        /// First pause after a transient failure; it grows with each. Default: `5s`.
        backoff: Option<SpanText>,
        /// How long landing waits for uncommitted changes in the way, once nothing else is left to do. Default: `10m`.
        landing_wait: Option<SpanText>,
        /// How tasks that were proven together land: all in one move of the target (`batch`), or one by one, each proven
        /// (`each`), for those who bisect. Default: `batch`.
        land: Option<LandName>,
        /// How many checks of merges that are to land run at the same time. Default: as many as the processors bear, by
        /// what check runs were seen to use.
        #[schemars(range(min = 1, max = 64))]
        landing_parallel: Option<u32>,
        /// Look for merge conflicts while agents work: with the target, and with each other. Default: `true`.
        early_conflicts: Option<bool>,
        /// Put before `[ID]` in commit subjects.
        #[schemars(length(min = 1))]
        commit_prefix: Option<String>,
        /// Who the commits are by: `Name <mail>`.
        #[schemars(regex(pattern = r"^[^<>]*[^<> ][^<>]*<[^<> ]+>$"))]
        author: Option<String>,
        /// Longest time an agent may take to say anything at all. Default: `2m` for known clients, none for commands.
        startup: Option<SpanText>,
        /// Patterns of files that no task changes unless it names them in `files`, beside the settings of tests and of
        /// continuous integration, which are always among them.
        protected: Option<Vec<String>>,
        /// When a task changes one of them: `report` it, or `block` the work until it is put back. Default: `report`.
        protect: Option<ProtectName>,
    }

    /// A program that does the work.
    struct AgentTable {
        /// Which client it is; `command` is any other program. Default: `command`.
        adapter: Option<AdapterName>,
        /// What to start: a list of words, or text that is split like a shell does. No shell reads it. For the
        /// adapter `command`, and required there unless `piton.toml` defines this agent.
        command: Option<Words>,
        /// How it gets its prompt. With `file`, `{prompt}` in the command becomes the path. For the adapter
        /// `command`. Default: `stdin`.
        prompt: Option<PromptName>,
        /// Environment variables set for it.
        env: Option<BTreeMap<String, String>>,
        /// Where the client is: a name that is looked up, or an absolute path. Default: the adapter's name.
        #[schemars(length(min = 1))]
        program: Option<String>,
        /// The model, as the client calls it. Default: the client's own choice.
        #[schemars(length(min = 1))]
        model: Option<String>,
        /// More arguments for the client, after those that Piton passes itself: effort, tools, folders.
        args: Option<Vec<String>>,
        /// The most turns of one try, for clients that can limit them. Default: no limit.
        #[schemars(range(min = 1, max = 10000))]
        max_turns: Option<u32>,
        /// The most dollars one try may cost, for clients that can limit them. Default: no limit.
        budget_usd: Option<f64>,
        /// What it may do without asking. `narrow`: commands, and files in its worktree. `all`: the client's own
        /// fences are off. Default: `narrow`.
        permissions: Option<PermissionsName>,
        /// Whose limits and credentials it works under: agents of one provider share them. Default: the provider of the
        /// client or of its `model`, and the agent's own name with `command`.
        #[schemars(length(min = 1))]
        provider: Option<String>,
        /// The agent that stands in while its provider is unavailable: a usage limit, or credentials that are refused.
        /// Default: none, and tasks wait.
        #[schemars(length(min = 1))]
        fallback: Option<String>,
        /// Give it Piton's tools (MCP), to ask about its task and to report. For clients. Default: true.
        mcp: Option<bool>,
        /// Ask it once for a report when it is about to stop without one, for clients with such a hook. Default: false.
        hooks: Option<bool>,
    }

    /// What agents may write to, and fill.
    struct SandboxTable {
        /// Keep agents from writing outside of their worktree: `auto` where the system can, `on` or do not start them,
        /// `off`. Default: `auto`.
        mode: Option<SandboxName>,
        /// More places that they may write to: absolute, or below `~/`.
        writable: Option<Vec<String>>,
        /// The most memory that one process of an agent may fill, in MiB. Default: no limit.
        #[schemars(range(min = 64, max = 16_777_216))]
        memory_mib: Option<u32>,
        /// The most processes that the user may have while agents start more. Default: no limit.
        #[schemars(range(min = 16, max = 4_194_304))]
        processes: Option<u32>,
    }

    /// What happens at a tracker whose issues are a plan.
    struct IssuesTable {
        /// What is done about the issue of a completed task. `close`: it gets a comment with the evidence, and is closed.
        /// `comment`: it gets the comment. Default: `close`.
        done: Option<ReportName>,
        /// Whether an issue is assigned to you while Piton works on it. Default: true for Beads, where this is the claim
        /// that other agents see; false elsewhere.
        assign: Option<bool>,
        /// The label that an issue has while Piton works on it. It has to exist at GitHub. Default: none.
        label: Option<String>,
        /// How often the issues are asked for while a run goes on. Default: `1m`.
        poll: Option<String>,
        /// Whether comments of people who may write to the repository are a part of what is asked for. Default: false.
        comments: Option<bool>,
    }

    /// How tasks land by requests, in a run with `--land pr`.
    struct RequestsTable {
        /// What one request is for. `task`: each task has its own. `batch`: all tasks of a group together. `run`: all
        /// tasks of a run together. Default: `task`.
        per: Option<PerName>,
        /// Who merges. `piton`: Piton, once the host's checks pass. `host`: its queue, or by merging automatically.
        /// `person`. Default: `piton`.
        merge: Option<MergeName>,
        /// How the host makes one history of two. Default: `merge`.
        method: Option<MethodName>,
        /// Whether a task may begin on the open requests of what it depends on. It is merged after them. Default: false.
        stack: Option<bool>,
        /// The remote whose host has the requests. Default: `origin`.
        remote: Option<String>,
        /// Labels that each request gets.
        labels: Option<Vec<String>>,
        /// Whether requests are opened as drafts. Default: false.
        draft: Option<bool>,
        /// How often the host or its reviewers may send a task back before a person is asked. Default: 3.
        #[schemars(range(max = 20))]
        rounds: Option<u32>,
        /// The time between two looks at a request. Default: `30s`.
        poll: Option<SpanText>,
        /// How long a request without any check is given, since a host may begin its checks late. Default: `1m`.
        settle: Option<SpanText>,
    }

    /// Where the journal is. Default: a file in Piton's folder.
    struct JournalTable {
        /// The URL of a PostgreSQL database, without a password: `postgres://USER@HOST/DATABASE`.
        #[schemars(length(min = 1))]
        url: Option<String>,
    }

    /// How you are told about a run that you do not watch. Each message is sent once.
    struct NotifyTable {
        /// What to tell about. Default: all of them.
        on: Option<Vec<TopicName>>,
        /// A message on the desktop. Default: false.
        desktop: Option<bool>,
        /// A program that gets the message as JSON on its standard input. No shell reads it.
        command: Option<Words>,
        /// A URL that the message is posted to as JSON, or `$NAME` for the variable that holds it.
        #[schemars(length(min = 1))]
        webhook: Option<String>,
    }

    /// What may be used before the run stops, as far as clients tell what they use.
    struct BudgetTable {
        /// Dollars that all agents of a run may cost together. No agent starts once it is reached.
        #[schemars(range(min = 0.000_001, max = 1_000_000))]
        run_usd: Option<f64>,
        /// Tokens, read and written, of all agents of a run.
        #[schemars(range(min = 1))]
        run_tokens: Option<u32>,
        /// Time that all agents of a run may work together: `"8h"`.
        run_time: Option<String>,
        /// Dollars that the tries of one task may cost together. Then a person looks.
        #[schemars(range(min = 0.000_001, max = 1_000_000))]
        task_usd: Option<f64>,
        /// Tokens, read and written, of all tries of one task.
        #[schemars(range(min = 1))]
        task_tokens: Option<u32>,
        /// Time that the agents of one task may work together.
        task_time: Option<String>,
        /// Dollars that one run of an agent may cost. It is stopped there, and has failed.
        #[schemars(range(min = 0.000_001, max = 1_000_000))]
        attempt_usd: Option<f64>,
        /// Tokens, read and written, of one run of an agent.
        #[schemars(range(min = 1))]
        attempt_tokens: Option<u32>,
        /// Time of one run of an agent, whatever its task's `timeout` is.
        attempt_time: Option<String>,
    }

    /// How a fresh worktree is made ready.
    struct WorktreeTable {
        /// Files copied from the main checkout where they exist, such as `.env`.
        copy: Option<Vec<String>>,
        /// A command run in each fresh worktree.
        setup: Option<Words>,
        /// What becomes of the worktree of a task that is done. `warm`: the next task works in it, with its caches.
        /// `clean`: without anything that git ignores. `never`: it is removed. Default: `warm`.
        reuse: Option<ReuseName>,
        /// Folders of caches, such as `target`. A worktree that has none gets a copy of the main checkout's.
        warm: Option<Vec<String>>,
        /// The most that worktrees which nobody works in may fill, in MiB. Default: 20480.
        keep_mib: Option<u32>,
    }

    /// What holds for tasks that do not say otherwise.
    struct DefaultsTable {
        /// A name in `[agents]`. Default: `default`.
        #[schemars(length(min = 1))]
        agent: Option<String>,
        /// Commands that prove a task done, for tasks without checks of their own.
        checks: Option<Vec<CheckEntry>>,
        /// How often a check may fail before a task is abandoned. Default: 3.
        #[schemars(range(min = 1, max = 100))]
        attempts: Option<u32>,
        /// Among tasks that could start, 1 is first. Default: 50.
        #[schemars(range(min = 1, max = 99))]
        priority: Option<u32>,
        /// Longest time of one try. Default: `30m`.
        timeout: Option<SpanText>,
        /// Longest time in which nothing happens, or `off`. Default: `10m` for known clients, `off` for commands.
        silence: Option<SilenceText>,
        /// One more pass by a fresh agent, until it finds nothing to do. Default: false.
        confirm: Option<bool>,
        /// Leaving everything as it was is success too. Default: false.
        may_change_nothing: Option<bool>,
        /// Run the checks before any agent: where they pass, there is nothing to do. Default: false.
        check_first: Option<bool>,
        /// When its attempts are spent, the run goes on without it, and so does what depends on it. Default: false.
        may_fail: Option<bool>,
    }

    /// A group of tasks: a layer, a phase.
    struct GroupTable {
        /// Unique among groups. Letters, digits and `. _ - # @`.
        #[schemars(length(min = 1, max = 100))]
        id: String,
        /// For people. Default: the id.
        #[schemars(length(min = 1))]
        title: Option<String>,
    }

    /// One task for one agent.
    struct TaskTable {
        /// Unique in the plan, whatever the case; names its worktree and branch. Letters, digits and `. _ - # @`.
        #[schemars(length(min = 1, max = 100))]
        id: String,
        /// One line, for people and for the commit.
        #[schemars(length(min = 1))]
        title: String,
        /// What the agent is asked to do.
        #[schemars(length(min = 1))]
        prompt: String,
        /// The id of its group. Required if the plan declares groups.
        group: Option<String>,
        /// Ids of tasks that must have landed before it starts.
        depends_on: Option<Vec<String>>,
        /// Files it will change, as far as known, from the top of the project.
        files: Option<Vec<String>>,
        /// What must be true at the end, in words.
        criteria: Option<Vec<String>>,
        /// Commands that prove it done; Piton runs them itself. `[]` says that nothing can prove it.
        checks: Option<Vec<CheckEntry>>,
        /// A name in `[agents]`. Default: `default`.
        #[schemars(length(min = 1))]
        agent: Option<String>,
        /// How often a check may fail before the task is abandoned. Default: 3.
        #[schemars(range(min = 1, max = 100))]
        attempts: Option<u32>,
        /// Among tasks that could start, 1 is first. Default: 50.
        #[schemars(range(min = 1, max = 99))]
        priority: Option<u32>,
        /// Longest time of one try. Default: `30m`.
        timeout: Option<SpanText>,
        /// Longest time in which nothing happens, or `off`. Default: `10m` for known clients, `off` for commands.
        silence: Option<SilenceText>,
        /// One more pass by a fresh agent, until it finds nothing to do. Default: false.
        confirm: Option<bool>,
        /// Leaving everything as it was is success too. Default: false.
        may_change_nothing: Option<bool>,
        /// Run the checks before any agent: where they pass, there is nothing to do. Default: false.
        check_first: Option<bool>,
        /// When its attempts are spent, the run goes on without it, and so does what depends on it. Default: false.
        may_fail: Option<bool>,
        /// It judges the whole: its checks run first, and again after whatever lands later. Default: false.
        gate: Option<bool>,
        /// A person does it, and no agent: it waits until the person reports it done. Default: false.
        by_person: Option<bool>,
    }

    /// What is checked when all tasks are done, and how often it is fixed. It has `run`, `file` or `review`.
    struct GateTable {
        /// For people. Default: the command.
        #[schemars(length(min = 1))]
        name: Option<String>,
        /// The command. Exit status 0 is a pass.
        run: Option<Words>,
        /// A file that has to be there and not to be empty.
        file: Option<String>,
        /// What that file has to hold. Default: nothing.
        holds: Option<Vec<String>>,
        /// A name in `[agents]`: an agent that reviews the work, and changes nothing.
        review: Option<String>,
        /// What that agent is to look at. Default: the work as a whole.
        ask: Option<String>,
        /// Longest time it may take. Default: `5m`, of a review `30m`.
        timeout: Option<SpanText>,
        /// Where the command runs. Default: at the top of the project.
        cwd: Option<String>,
        /// Whether every command of a pipe has to succeed. Default: true.
        pipefail: Option<bool>,
        /// Run it on what a fresh clone has: no ignored file, nothing copied, no set-up. Default: false.
        fresh: Option<bool>,
        /// With `false` it runs each time, also where it has passed on the same files. Default: true.
        cache: Option<bool>,
        /// How often an agent may fix it before the run goes on without it. Default: 3; for `smoke_test` and `qa_review`
        /// 2.
        #[schemars(range(min = 0, max = 20))]
        fixes: Option<u32>,
    }

    /// A check with its own name or limit, one that looks into a file, or one that an agent makes: it has `run`,
    /// `file` or `review`.
    struct CheckTable {
        /// For people. Default: the command.
        #[schemars(length(min = 1))]
        name: Option<String>,
        /// The command. Exit status 0 is a pass.
        run: Option<Words>,
        /// A file that has to be there and not to be empty.
        file: Option<String>,
        /// What that file has to hold. Default: nothing.
        holds: Option<Vec<String>>,
        /// A name in `[agents]`: an agent that reviews the work, and changes nothing.
        review: Option<String>,
        /// What that agent is to look at. Default: the work as a whole.
        ask: Option<String>,
        /// Longest time it may take. Default: `5m`, of a review `30m`.
        timeout: Option<SpanText>,
        /// Where the command runs. Default: at the top of the project.
        cwd: Option<String>,
        /// Whether every command of a pipe has to succeed. Default: true.
        pipefail: Option<bool>,
        /// Run it on what a fresh clone has: no ignored file, nothing copied, no set-up. Default: false.
        fresh: Option<bool>,
        /// With `false` it runs each time, also where it has passed on the same files. Default: true.
        cache: Option<bool>,
    }
}

macro_rules! choices {
    ($($(#[$meta:meta])* enum $name:ident { $($variant:tt)* })*) => {$(
        #[derive(JsonSchema)]
        #[cfg_attr(test, derive(serde::Deserialize))]
        $(#[$meta])*
        #[allow(dead_code, reason = "only the shape is used; in tests serde makes some of them")]
        enum $name { $($variant)* }
    )*};
}

choices! {
    /// A command line, or a table.
    #[serde(untagged)]
    enum CheckEntry { Line(#[schemars(length(min = 1))] String), Table(CheckTable), }

    /// A command line, or its words.
    #[serde(untagged)]
    enum Words { Line(#[schemars(length(min = 1))] String), Words(#[schemars(length(min = 1))] Vec<String>), }

    /// The order in which tasks may start.
    #[serde(rename_all = "snake_case")]
    enum ScheduleName { Layered, Batch, Flow, }

    /// Who waits for whom where the plan does not say it.
    #[serde(rename_all = "snake_case")]
    enum OrderName { All, Groups, Free, }

    /// What subtasks are.
    #[serde(rename_all = "snake_case")]
    enum SubtasksName { Steps, Tasks, }

    /// What a spent budget means.
    #[serde(rename_all = "snake_case")]
    enum ExhaustedName { Stop, Continue, Pass, Skip, }

    /// How tasks that were proven together land.
    #[serde(rename_all = "snake_case")]
    enum LandName { Batch, Each, }

    /// What becomes of the worktree of a task that is done.
    #[serde(rename_all = "snake_case")]
    enum ReuseName { Warm, Clean, Never, }

    /// Whether agents are kept inside.
    #[serde(rename_all = "snake_case")]
    enum SandboxName { Auto, On, Off, }

    /// What Piton notifies you about.
    #[serde(rename_all = "kebab-case")]
    enum TopicName { Done, NeedsYou, Parked, Budget, }

    /// What is done about the issue of a completed task.
    #[serde(rename_all = "snake_case")]
    enum ReportName { Close, Comment, Nothing, }

    /// What one request is for.
    #[serde(rename_all = "snake_case")]
    enum PerName { Task, Batch, Run, }

    /// Who merges a request.
    #[serde(rename_all = "snake_case")]
    enum MergeName { Piton, Host, Person, }

    /// How the host makes one history of two.
    #[serde(rename_all = "snake_case")]
    enum MethodName { Merge, Squash, Rebase, }

    /// What a change of a protected file leads to.
    #[serde(rename_all = "snake_case")]
    enum ProtectName { Report, Block, }

    /// How an agent gets its prompt.
    #[serde(rename_all = "snake_case")]
    enum PromptName { Stdin, File, }

    /// What a client may do without asking.
    #[serde(rename_all = "snake_case")]
    enum PermissionsName { Narrow, All, }
}

/// The name of a client.
#[cfg_attr(test, derive(serde::Deserialize))]
#[expect(dead_code, reason = "only the shape is used")]
struct AdapterName(String);

impl JsonSchema for AdapterName {
    fn schema_name() -> Cow<'static, str> {
        "AdapterName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Adapter::all().map(|adapter| adapter.name()).collect();
        json_schema!({
            "type": "string",
            "enum": names,
            "description": "A client that Piton knows how to drive.",
        })
    }
}

/// A length of time: `90s`, `5m`, `1h30m`.
#[derive(JsonSchema)]
#[cfg_attr(test, derive(serde::Deserialize))]
#[expect(dead_code, reason = "only the shape is used")]
struct SpanText(#[schemars(regex(pattern = r"^\s*([0-9]+\s*(ms|s|m|min|h|d)\s*)+$"))] String);

/// A length of time, or `off`.
#[derive(JsonSchema)]
#[cfg_attr(test, derive(serde::Deserialize))]
#[expect(dead_code, reason = "only the shape is used")]
struct SilenceText(#[schemars(regex(pattern = r"^(off|\s*([0-9]+\s*(ms|s|m|min|h|d)\s*)+)$"))] String);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::keys::{self, Keys};
    use super::super::tests::EVERYTHING;
    use super::super::{Worker, starter};
    use super::*;
    use crate::client::client;

    /// The names a schema has at a table are those the reader knows, no more and no fewer.
    fn same(table: &Value, keys: &Keys) {
        let listed: BTreeSet<&str> = keys.names.iter().copied().collect();
        let shown: BTreeSet<&str> =
            table["properties"].as_object().expect("a table").keys().map(String::as_str).collect();
        assert_eq!(shown, listed, "{}", keys.table);
        assert_eq!(table["additionalProperties"], false, "{}", keys.table);
        for (name, property) in table["properties"].as_object().expect("a table") {
            assert!(property["description"].is_string(), "{name} in {} is not explained", keys.table);
        }
    }

    #[test]
    fn the_schema_has_the_readers_keys() {
        let plan = schema();
        same(&plan, &keys::PLAN);
        same(&config_schema(), &keys::CONFIG);
        let tables = &plan["definitions"];
        same(&tables["PolicyTable"], &keys::POLICY);
        same(&tables["AgentTable"], &keys::AGENT);
        same(&tables["WorktreeTable"], &keys::WORKTREE);
        same(&tables["SandboxTable"], &keys::SANDBOX);
        same(&tables["DefaultsTable"], &keys::DEFAULTS);
        same(&tables["GroupTable"], &keys::GROUP);
        same(&tables["TaskTable"], &keys::TASK);
        same(&tables["CheckTable"], &keys::CHECK);
        same(&config_schema()["definitions"]["GateTable"], &keys::GATE);
        same(&config_schema()["definitions"]["IssuesTable"], &keys::ISSUES);
        same(&config_schema()["definitions"]["RequestsTable"], &keys::REQUESTS);
        same(&config_schema()["definitions"]["NotifyTable"], &keys::NOTIFY);
        assert_eq!(tables["TaskTable"]["required"], serde_json::json!(["id", "title", "prompt"]));
    }

    #[test]
    fn the_schema_speaks_of_toml() {
        let text = schema().to_string();
        assert!(!text.contains("null") && !text.contains("uint32") && !text.contains("\\n"), "{text}");
        insta::assert_snapshot!(schema()["definitions"]["TaskTable"]["properties"]["timeout"], @r##"{"description":"Longest time of one try. Default: `30m`.","allOf":[{"$ref":"#/definitions/SpanText"}]}"##);
        insta::assert_snapshot!(schema()["definitions"]["PolicyTable"]["properties"]["max_parallel"], @r#"{"type":"integer","minimum":1,"description":"Tasks worked on at once. Default: 3.","maximum":64}"#);
    }

    #[test]
    fn plans_that_can_be_read_fit() {
        for text in [&starter("demo", Worker::Client(client("claude"))), EVERYTHING] {
            toml::from_str::<PlanFile>(text).expect("it fits the schema's types");
        }
    }
}
