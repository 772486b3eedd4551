//! Orders carried out, each in a thread of its own, and what their ends mean as commands.

use std::panic::{AssertUnwindSafe, catch_unwind};

use piton_core::run::line::ProofEnd;
use piton_core::run::{Action, Class, Command, Run};

use super::order::{Order, Site, Trouble};
use super::{budget, check, follow, land, work};
use crate::clock;

/// Carry out an order, and record what its reviewers and helpers have used, whatever their result. That comes first,
/// since the meaning of a failure may depend on it.
pub(super) fn perform(order: &Order) -> Vec<Command> {
    let ended = carry_out(order);
    let failed = ended.iter().any(|command| matches!(command, Command::TryFailed { .. }));
    let is_work = matches!(order.action, Action::Work { .. });
    let bill = if failed && is_work { budget::bill_of_trouble(order) } else { None };
    let found = ended.into_iter().map(|command| match order.action {
        Action::Prove { proof, .. } | Action::Land { proof, .. } => command.of_proof(proof),
        _ => command,
    });
    budget::bills(order).into_iter().chain(bill).chain(order.checks_ran()).chain(found).collect()
}

/// An action can be repeated after its engine died, so it can also be repeated after one of its git processes was
/// killed.
pub(super) fn despite_kills<T>(
    site: &Site,
    run: &Run,
    mut act: impl FnMut() -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let Some(repo) = &site.repo else { return act() };
    let is_kill = |trouble: &Trouble| matches!(trouble, Trouble::Git(error) if error.is_kill());
    repo.despite_kills(run.id.as_str(), clock::system_time(run.created), is_kill, act)
}

/// Every end is a command, a panic too: a lost worker would hold its slot for ever.
fn carry_out(order: &Order) -> Vec<Command> {
    let act = || match &order.action {
        Action::Start { .. }
        | Action::Unstack { .. }
        | Action::BeginProof { .. }
        | Action::Context
        | Action::Ask { .. } => Ok(Vec::new()),
        Action::Prepare { .. } => work::prepare(order),
        Action::Work { pass, .. } => work::work(order, *pass),
        Action::Capture { pass, .. } => work::capture(order, *pass),
        Action::Check { .. } => check::check(order),
        Action::Prove { proof, .. } | Action::Land { proof, .. } => land::prove(order, *proof),
        Action::Move { .. } => land::move_target(order),
        Action::Request { step, .. } => follow::follow(order, *step),
        Action::Clean { .. } => land::clean(order),
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| despite_kills(&order.site, &order.run, act)));
    let trouble = match outcome {
        Ok(Ok(commands)) => return commands,
        Ok(Err(trouble)) => trouble,
        Err(_) => Trouble::Transient(format!("an internal error in {:?}", order.action)),
    };
    let (task, fence) = (order.task.id.clone(), order.fence());
    if let (false, Some(reason)) = (matches!(order.action, Action::Clean { .. }), trouble.of_the_disk()) {
        // Another try would fail in the same way and cost as much: the task waits.
        let reason = format!("{task} cannot go on: {reason}");
        return vec![Command::LandingWaits { task, fence, reason }];
    }
    match (&order.action, &trouble) {
        (Action::Check { .. } | Action::Prove { .. }, Trouble::Cut(cut)) => order.on_tree(|tree| {
            let results = order.own_results(&cut.earlier);
            let (agent, end) = (cut.agent.clone(), cut.end.clone());
            let lands = matches!(order.action, Action::Prove { .. });
            Command::ReviewerCut { task, fence, lands, tree, results, agent, end }
        }),
        (Action::Check { .. } | Action::Prove { .. }, Trouble::First(first)) => order.on_tree(|tree| {
            let results = order.own_results(&first.earlier);
            Command::ReviewerBegins { task, fence, tree, results, agent: first.agent.clone() }
        }),
        // The provider is known to be out, and the work is verified: it waits.
        (Action::Prove { .. }, Trouble::Out(reason)) => {
            vec![Command::LandingWaits { task, fence, reason: reason.clone() }]
        }
        // A landing that was interrupted is simply done again; nothing was moved. A step of a request looks first.
        (Action::Prove { .. } | Action::Land { .. } | Action::Request { .. }, Trouble::Stopped) => Vec::new(),
        // The work is verified: a git command that fails now is not a reason to pay for it again.
        (Action::Prove { .. } | Action::Land { .. }, _) if trouble.class() == Class::Transient => {
            vec![Command::LandingWaits { task, fence, reason: trouble.to_string() }]
        }
        // Which task is to blame shows when each is proven alone.
        (Action::Prove { proof, .. } | Action::Land { proof, .. }, _) if !order.ahead.is_empty() => {
            let end = ProofEnd::Red { reason: trouble.to_string(), of: Vec::new() };
            vec![Command::ProofEnded { proof: *proof, end, results: Vec::new() }]
        }
        // Once the intent is journaled, only git knows whether the target moved: look again, do not guess.
        (Action::Move { .. } | Action::Request { .. }, Trouble::Git(_) | Trouble::Io(_))
            if trouble.class() == Class::Transient =>
        {
            vec![Command::LandingWaits { task, fence, reason: trouble.to_string() }]
        }
        (Action::Clean { .. }, _) => {
            vec![Command::CleanupRefused { task, fence, reason: trouble.to_string() }]
        }
        _ => vec![order.failed(&trouble)],
    }
}
