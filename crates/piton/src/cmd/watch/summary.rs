//! `piton summary`: a run to give away, as text, as one file of HTML, or as Markdown.

use camino::Utf8PathBuf;
use clap::Args;
use piton_core::run::Status;
use piton_core::view::recap::{self, Recap, TaskStory};
use piton_core::view::timeline::Phase;
use piton_core::view::{self, counted};

use crate::args::Which;
use crate::columns;
use crate::failure::{Exit, FINE, Outcome};
use crate::paths;
use crate::runs::found::FoundRun;
use crate::runs::{find, recap as gathered};
use crate::ui::{self, BOLD, DIM};

/// So many tasks are named one by one; of a larger run only those that did not go well.
const MOST: usize = 20;
/// So many entries of what needs a person are named.
const NEEDS: usize = 10;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  piton summary --html run.html\n  piton summary --markdown | gh pr comment 12 --body-file -"
)]
pub(crate) struct SummaryArgs {
    /// The run, or an unambiguous beginning of its id [default: the newest unfinished one here]
    #[arg(value_name = "RUN", conflicts_with = "plan")]
    pub of_run: Option<String>,
    /// Write one HTML file that needs nothing else; `-` is stdout
    #[arg(long, value_name = "FILE", group = "form")]
    pub html: Option<Utf8PathBuf>,
    /// Print Markdown for a pull request or an issue
    #[arg(long, group = "form")]
    pub markdown: bool,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long, group = "form")]
    pub json: bool,
}

pub(crate) fn summary(args: &SummaryArgs) -> Outcome<Exit> {
    let mut which = args.which.clone();
    if args.of_run.is_some() {
        which = Which { run: args.of_run.clone(), plan: None, ..which };
    }
    let FoundRun { project, mut journal, run } = find::run(&which)?;
    let recap = gathered::of_run(&project, &mut journal, &run)?;
    match &args.html {
        Some(file) if file == "-" => ui::answer(recap::html(&recap)),
        Some(file) => {
            paths::write(&paths::absolute(file), &recap::html(&recap))?;
            ui::say(format!("wrote {}", paths::shown(file)));
        }
        None if args.markdown => ui::answer(recap::markdown(&recap)),
        None if args.json => ui::answer_json(&recap),
        None => ui::answer(text(&recap)),
    }
    Ok(FINE)
}

/// For a person at a terminal.
fn text(recap: &Recap) -> String {
    let onto = recap.goes_to(str::to_owned);
    let (run, state) = (ui::styled(BOLD, recap.run.as_str()), ui::plain(&recap.state_text));
    let mut text = format!("{run} {state}{}\n", ui::plain(&onto));
    let took = match recap.is_untouched() {
        true => "nothing has been started yet".to_owned(),
        false => format!("took {}", recap.took_ms),
    };
    let (runs, passes, flakes) = recap.check_runs();
    let flaked = if flakes == 0 { String::new() } else { format!(", {flakes} flaked") };
    let checks = format!("{}, {passes} passed{flaked}", counted(u64::from(runs), "check run"));
    text += &format!("  {}; {took}; cost {}; {checks}\n", recap.results.words(), recap.spent());
    if recap.groups.len() > 1 {
        for group in recap.groups.iter().take(MOST) {
            let bar = view::bar(group.completed, group.total);
            text += &format!("  {:16} {bar} {}/{}\n", ui::plain(&group.id), group.completed, group.total);
        }
    }
    tasks(&mut text, recap);
    if !recap.is_untouched() {
        section(&mut text, "Where the time went");
        for phase in Phase::ALL {
            let (all, path) = (recap.times.all_tasks.of(phase), recap.times.critical_path.of(phase));
            text += &format!(
                "  {:28} {:>8}   {:>8} of the critical path\n",
                phase.words(),
                all.to_string(),
                path.to_string()
            );
        }
    }
    if !recap.agents.is_empty() {
        section(&mut text, "Cost by agent");
        for row in &recap.agents {
            let name = if row.name.is_empty() { "(not named)".to_owned() } else { ui::plain(&row.name) };
            text += &format!("  {name:12} {}\n", view::cost(&row.cost));
        }
    }
    needs(&mut text, recap);
    section(&mut text, "How to go on");
    for step in &recap.next {
        text += &format!("  $ {}   {}\n", step.command, ui::styled(DIM, &step.about));
    }
    text
}

fn section(text: &mut String, name: &str) {
    *text += &format!("\n{}\n", ui::styled(BOLD, name));
}

fn tasks(text: &mut String, recap: &Recap) {
    let is_large = recap.tasks.len() > MOST;
    let is_told = |story: &&TaskStory| !is_large || story.is_stuck() || story.had_trouble();
    let told: Vec<&TaskStory> = recap.tasks.iter().filter(is_told).collect();
    if told.is_empty() {
        return;
    }
    section(text, if is_large { "Tasks that did not go well" } else { "Tasks" });
    let width = columns::columns();
    for story in told.iter().take(MOST) {
        let (sign, style) = ui::status_sign(story.status);
        let attempts = match story.attempts.len() {
            0 => String::new(),
            n => format!("{}, {}, cost {}", counted(n as u64, "attempt"), story.took_ms, story.spent()),
        };
        let parts = [
            (style, format!("  {sign} {:8} {:11}", story.task, story.status)),
            (anstyle::Style::new(), format!(" {}", ui::plain(&story.title))),
            (DIM, if attempts.is_empty() { String::new() } else { format!("  {attempts}") }),
        ];
        *text += &format!("{}\n", columns::fitted(&parts, width));
        for failed in story.attempts.iter().filter(|attempt| attempt.failure().is_some()) {
            let why = failed.outcome.as_deref().unwrap_or_default();
            *text += &format!("      attempt {} {}\n", failed.attempt, ui::plain(why));
        }
        // Why an attempt failed is already there.
        let is_said = story.attempts.last().is_some_and(|last| last.outcome.as_ref() == Some(&story.how));
        let is_news = story.status == Status::Completed || !is_said || !story.had_trouble();
        if is_news && !story.how.is_empty() {
            *text += &format!("      {}\n", ui::styled(DIM, ui::plain(&story.how)));
        }
    }
    if told.len() > MOST {
        *text += &format!("  … and {} more: piton status --all\n", told.len() - MOST);
    }
}

fn needs(text: &mut String, recap: &Recap) {
    if recap.needs.is_empty() {
        return;
    }
    section(text, "What needs you");
    for item in recap.needs.iter().take(NEEDS) {
        *text += &format!("  {}\n", ui::plain(&item.reason));
        for help in item.helps.iter().take(2) {
            *text += &format!("    {}\n", ui::styled(DIM, format!("$ {help}")));
        }
    }
    if recap.needs.len() > NEEDS {
        *text += &format!("  … and {} more: piton inbox\n", recap.needs.len() - NEEDS);
    }
}
