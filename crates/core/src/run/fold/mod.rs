//! How each event changes the state. One match, and the few changes that take more than a line.

mod planned;
mod requests;

use std::collections::BTreeMap;

use super::effort::Efforts;
use super::event::{
    AgentEnd, CheckResult, Class, Event, Next, Note, Recorded, Selection, Session, StopMode, StopReason,
    Verdict,
};
use super::flakes::Flakes;
use super::line::Line;
use super::load::CheckLoad;
use super::overload::Overloads;
use super::provider::{Outages, is_of, worker};
use super::state::{Closed, Missing, Run, State};
use super::task::{Answer, Holder, Pass, Progress, Proof, Red, Status, Task, release};
use super::usage::{Bills, Usage, book, is_of_a_worker};
use crate::plan::{Budget, Digest, Oid, TaskId};
use crate::time::{Span, Timestamp};

impl State {
    /// Fold one event. A partial state may miss something half-way: load it into a fresh copy and try again.
    pub fn apply(&mut self, recorded: &Recorded) -> Result<(), Missing> {
        let Recorded { seq, at, event } = recorded;
        self.fold(event, *at, *seq)?;
        self.count_effort(event)?;
        if let (Some(task), Some(_)) = (event.task(), event.advice()) {
            self.update(task, *at, |task| {
                let advice = &mut task.progress.advice;
                advice.drain(..(advice.len() + 1).saturating_sub(Progress::ADVICE));
                advice.push(*seq);
            })?;
        }
        self.seq = *seq;
        Ok(())
    }

    fn fold(&mut self, event: &Event, at: Timestamp, seq: u64) -> Result<(), Missing> {
        match event {
            Event::RunCreated {
                run,
                name,
                plan,
                plan_hash,
                groups,
                settings,
                target,
                base,
                worktree_dir,
            } => {
                self.run = Some(Run {
                    id: run.clone(),
                    name: name.clone(),
                    plan: plan.clone(),
                    plan_hash: plan_hash.clone(),
                    groups: groups.clone(),
                    settings: (**settings).clone(),
                    target: target.clone(),
                    base: base.clone(),
                    worktree_dir: worktree_dir.clone(),
                    created: at,
                    engine: None,
                    session: Session {
                        schedule: settings.schedule,
                        max_parallel: settings.max_parallel,
                        landing_parallel: settings.landing_parallel.unwrap_or(1),
                        landing_by_load: false,
                        selection: Selection::All,
                        agent: None,
                        budget: Budget::default(),
                        fences: settings.fences.clone(),
                        verbose: false,
                        quiet: false,
                    },
                    stop: None,
                    stopped: None,
                    closed: None,
                    landed: 0,
                    gates: Vec::new(),
                    held: false,
                    slots: 0,
                    judged_there: 0,
                    dead: 0,
                    streak: 0,
                    outages: Outages::new(),
                    overloads: Overloads::new(),
                    worked: Span::default(),
                    merging: None,
                    line: Line::default(),
                    flakes: Flakes::default(),
                    check_load: CheckLoad::default(),
                    conflicts_ahead: BTreeMap::new(),
                    context: None,
                    used: Bills::new(),
                    noticed: BTreeMap::new(),
                    halt: None,
                    seen: BTreeMap::new(),
                    adopted: None,
                    efforts: Efforts::default(),
                });
                Ok(())
            }
            Event::PlanAdopted { plan_hash, groups, settings } => {
                self.on_run(|run| {
                    run.halt = None;
                    run.plan_hash = plan_hash.clone();
                    run.groups.clone_from(groups);
                    run.settings = (**settings).clone();
                });
                Ok(())
            }
            Event::SettingsAdopted { settings, session, changed } => {
                let now = session.as_ref().map(|session| session.schedule);
                let reorder =
                    self.run.as_ref().is_some_and(|run| now.is_some_and(|now| now != run.session.schedule));
                self.on_run(|run| {
                    run.settings = (**settings).clone();
                    run.adopted = Some((at, changed.clone()));
                    run.session = session.as_deref().unwrap_or(&run.session).clone();
                });
                if reorder {
                    self.reorder();
                }
                Ok(())
            }
            Event::TaskAdded { spec, level, tail } => self.add(spec, (*level, *tail), at, seq),
            Event::TaskChanged { spec, level, tail } => self.change_spec(spec, (*level, *tail), at, seq),
            Event::TaskRemoved { task } => {
                self.on_run(|run| run.gates.retain(|gate| gate != task));
                self.update(task, at, |task| {
                    task.removed = true;
                    if task.decided != Status::Completed {
                        release(task);
                        task.decided = Status::Skipped;
                    }
                })
            }
            Event::EngineStarted { engine, session } => {
                let reorder = self.run.as_ref().is_some_and(|run| run.session.schedule != session.schedule);
                self.on_run(|run| {
                    run.engine = Some(engine.clone());
                    run.session = session.clone();
                    run.stop = None;
                    run.stopped = None;
                    run.closed = None;
                    run.held = false;
                    run.adopted = None;
                    run.streak = 0;
                    // A person may have seen to it.
                    run.outages.retain(|_, outage| outage.until.is_some());
                    run.overloads.values_mut().for_each(|overload| overload.ask_at = at);
                });
                if reorder {
                    self.reorder();
                }
                Ok(())
            }
            Event::EngineStopped { engine, reason, .. } => {
                self.on_run(|run| {
                    run.halts(engine, reason, at);
                    run.engine = None;
                    run.stopped = Some(reason.clone());
                    run.held = *reason == StopReason::Completed;
                    // The selection and the agent of a session end with it.
                    run.session.selection = Selection::All;
                    run.session.agent = None;
                });
                Ok(())
            }
            Event::StopRequested { now, .. } => {
                self.on_run(|run| run.stop = Some(StopMode::from(*now || run.stops_at_once())));
                Ok(())
            }
            Event::RunClosed { by, reason } => {
                let closed = Closed { by: by.clone(), reason: reason.clone() };
                self.on_run(|run| run.closed = Some(closed));
                Ok(())
            }
            Event::AttemptStarted { task, attempt, fence, holder, agent, .. } => {
                self.on_run(|run| {
                    // It is judged again, whatever was seen before.
                    run.noticed.remove(task);
                    run.moves_on();
                    run.closed = None;
                });
                let checks_first = self.tasks.get(task).is_some_and(Task::begins_with_checks);
                let agent = match holder {
                    // Journals of earlier versions do not name the agent that starts.
                    Holder::Engine if agent.is_empty() && !checks_first => self.meant_for(task),
                    Holder::Engine => agent.clone(),
                    Holder::Ledger(_) => String::new(),
                };
                if !agent.is_empty() {
                    self.on_run(|run| run.agent_began(&agent, task, at));
                }
                let reads = !agent.is_empty() || *holder != Holder::Engine;
                self.update(task, at, |task| {
                    task.progress.sent_back &= !reads;
                    if task.attempt != *attempt {
                        task.transient = 0;
                    }
                    // The agent's work is there: only its checks were cut off, so only they are done again.
                    let recheck = task.progress.recheck && *holder == Holder::Engine;
                    task.decided = if recheck { Status::Verifying } else { Status::InProgress };
                    task.attempt = *attempt;
                    task.fence = *fence;
                    task.holder = Some(holder.clone());
                    task.not_before = None;
                    task.progress.recheck = false;
                    task.progress.red = None;
                    task.progress.booked.clear();
                    task.progress.uncommitted.clear();
                    task.progress.process = None;
                    task.progress.agent = agent;
                    (task.progress.ready, task.progress.agent_done) = (recheck, recheck);
                    task.stand_on_what_is_open();
                    task.progress.confirmations = 0;
                    task.progress.confirmed &= recheck;
                    task.progress.already.take_if(|_| !recheck);
                    task.progress.asks = None;
                    task.progress.worktree |= *holder == Holder::Engine;
                })
            }
            Event::Marked { task, mark, .. } => {
                self.update(task, at, |task| task.progress.mark = Some((**mark).clone()))
            }
            Event::HolderBound { task, process, .. } => {
                self.update(task, at, |task| task.progress.process = Some(process.clone()))
            }
            Event::ClaimWaits { task, files, .. } => {
                self.update(task, at, |task| task.progress.uncommitted.clone_from(files))
            }
            Event::Released { task, .. } => self.update(task, at, |task| {
                release(task);
                task.progress.process = None;
                // This does not count as an attempt.
                task.attempt = task.attempt.min(task.spent);
                task.decided = if task.failure_seq.is_none() { Status::Pending } else { Status::Failed };
            }),
            Event::WorktreeReady { task, base, landed, .. } => self.update(task, at, |task| {
                task.progress.ready = true;
                (task.progress.waits, task.progress.waits_since) = (None, None);
                task.progress.agent_done = task.looks_first();
                task.progress.behind = None;
                // Work that is brought up to the target keeps its judges: the tasks with which it was red have not seen
                // a fix yet.
                let before = task.progress.base.replace(base.clone());
                let at_base = &mut task.progress.landed_at_base;
                *at_base = if before.is_some() { (*at_base).min(*landed) } else { *landed };
            }),
            Event::AgentEnded { task, agent, end, took, closing, .. } => {
                let agent = if agent.is_empty() { self.meant_for(task) } else { agent.clone() };
                self.on_run(|run| {
                    run.worked = run.worked.plus(*took);
                    run.agent_ended(&agent, task, end, at);
                });
                self.update(task, at, |task| {
                    task.worked = task.worked.plus(*took);
                    task.progress.agent_done = true;
                    (task.progress.waits, task.progress.waits_since) = (None, None);
                    task.progress.said = (!closing.words.is_empty()).then_some(seq);
                    task.progress.declined |= matches!(end, AgentEnd::Declined { .. });
                    // A confirming agent only has to find nothing to do: neither its questions nor its word that all
                    // was there already count.
                    if task.decided == Status::InProgress {
                        task.progress.asks.clone_from(&closing.asks);
                        task.progress.already = match end {
                            AgentEnd::Already { reason } => Some(reason.clone()),
                            _ => None,
                        };
                    }
                })
            }
            Event::ReviewerStarted { task, agent, .. } => {
                self.on_run(|run| run.agent_began(agent, task, at));
                Ok(())
            }
            Event::ReviewerEnded { task, agent, end, .. } => {
                self.on_run(|run| run.agent_ended(agent, task, end, at));
                Ok(())
            }
            Event::ProviderAsked { provider, end, .. } => {
                let mut blamed = None;
                self.on_run(|run| blamed = run.asked(provider, end.as_ref(), at));
                match blamed {
                    Some(task) => {
                        self.update(&task, at, |task| task.transient = task.transient.saturating_sub(1))
                    }
                    None => Ok(()),
                }
            }
            Event::ProviderUnparked { provider, .. } => {
                self.on_run(|run| {
                    run.overloads.remove(provider);
                    run.outages.retain(|name, _| !is_of(name, provider));
                });
                Ok(())
            }
            Event::WorkCaptured { task, work, .. } => {
                self.on_run(|run| run.streak = 0);
                self.update(task, at, |task| {
                    let confirming = task.decided == Status::Confirming;
                    task.progress.confirmed = task.looks_first() || confirming && !work.found_work;
                    task.progress.reworked += u32::from(confirming && work.found_work);
                    task.progress.commit.clone_from(&work.commit);
                    task.progress.tree = Some(work.tree.clone());
                    task.progress.already.take_if(|_| work.changed);
                    (task.progress.waits, task.progress.waits_since) = (None, None);
                })
            }
            Event::ConfirmationStarted { task, agent, .. } => {
                if !agent.is_empty() {
                    self.on_run(|run| run.agent_began(agent, task, at));
                }
                self.update(task, at, |task| {
                    task.decided = Status::Confirming;
                    task.progress.uncommitted.clear();
                    task.progress.agent_done = false;
                    task.progress.confirmations += 1;
                    if !agent.is_empty() {
                        task.progress.agent.clone_from(agent);
                    }
                })
            }
            Event::VerificationStarted { task, lands, .. } => self.update(task, at, |task| {
                task.decided = Status::Verifying;
                task.progress.queued = lands.then_some(task.progress.place_kept.unwrap_or(seq));
                task.progress.waits = None;
            }),
            Event::ChecksEnded { task, tree, results, .. } => {
                self.on_run(|run| {
                    run.reviewers_ended(task);
                    run.notice(task, results);
                });
                self.update(task, at, |task| {
                    let rejects = |result: &CheckResult| matches!(result.verdict, Verdict::Rejected { .. });
                    task.progress.rejections += u32::from(results.iter().any(rejects));
                    for result in results.iter().filter(|result| result.verdict == Verdict::Pass) {
                        let pass = Pass {
                            tree: tree.clone(),
                            check: result.check.clone(),
                            environment: result.environment.clone(),
                        };
                        if !task.progress.passes.contains(&pass) {
                            task.progress.passes.push(pass);
                        }
                    }
                })
            }
            Event::Verified { task, .. } => self.update(task, at, |task| {
                task.decided = Status::Verified;
                let place = task.progress.place_kept.unwrap_or(seq);
                task.progress.queued.get_or_insert(place);
                task.progress.waits = None;
            }),
            Event::Failed { task, class, next, behind, .. } => {
                self.fail(task, *class, next, behind.as_ref(), at, seq)
            }
            Event::ProofBegan { proof, chain, alone } => {
                self.on_run(|run| run.line.begin(*proof, chain, *alone, at));
                Ok(())
            }
            Event::ProofEnded { proof, end } => {
                self.on_run(|run| run.line.end(*proof, end, at));
                Ok(())
            }
            Event::LandingPrepared { task, intent, tree, before, .. } => {
                let chain: Vec<TaskId> =
                    before.iter().map(|carried| &carried.task).chain([task]).cloned().collect();
                self.on_run(|run| {
                    run.merging = Some(task.clone());
                    if let Some(tree) = tree {
                        run.line.prepare(&chain, tree, at);
                    }
                });
                self.update(task, at, |task| {
                    task.decided = Status::Merging;
                    task.progress.intent = Some(intent.clone());
                    task.progress.merged.clone_from(tree);
                    task.progress.carries.clone_from(before);
                    task.progress.waits = None;
                })
            }
            Event::LandingReturned { task, .. } => {
                self.on_run(|run| {
                    run.merging = None;
                    run.line.move_target();
                });
                self.update(task, at, |task| {
                    task.decided = Status::Verified;
                    task.progress.intent = None;
                    task.progress.carries.clear();
                    task.progress.waits = None;
                })
            }
            Event::LandingWaits { task, reason, .. } => self.update(task, at, |task| {
                task.progress.waits = Some(reason.clone());
                task.progress.waits_since.get_or_insert(at);
            }),
            Event::Request { task, fact, .. } => self.request(task, fact, at, seq),
            Event::Completed { task, proof, counts, saw, .. } => {
                self.complete(task, proof, counts, at)?;
                match saw {
                    Some(tree) => self.update(task, at, |task| {
                        task.progress.tree.get_or_insert_with(|| tree.clone());
                    }),
                    None => Ok(()),
                }
            }
            Event::LandingFound { task, commit, .. } => {
                let proof = Proof::Landed { commit: commit.clone(), verified: commit.clone() };
                self.complete(task, &proof, &[], at)
            }
            Event::CleanedUp { task, .. } => self.update(task, at, |task| {
                task.progress.worktree = false;
                task.progress.kept = None;
            }),
            Event::CleanupRefused { task, reason, .. } => {
                self.update(task, at, |task| task.progress.kept = Some(reason.clone()))
            }
            Event::Noted { note: Note::Spent { task, fence, agent, used, estimate, took, job }, .. } => {
                let client = self.run.as_ref().and_then(|run| run.settings.agents.get(agent));
                // A custom command never reports usage; only the time that it took is known.
                let tells = used.is_some() || client.is_none_or(|client| !client.adapter.is_command());
                self.on_run(|run| {
                    run.worked = run.worked.plus(*took);
                    if tells {
                        book(run.used.entry(agent.clone()).or_default(), used.as_ref(), estimate);
                    }
                });
                self.update(task, at, |task| {
                    task.worked = task.worked.plus(*took);
                    if tells {
                        let more = Some(Usage::sum(estimate)).filter(|_| !estimate.is_empty());
                        task.used.add(used.as_ref().map(Usage::sum), more);
                    }
                    if is_of_a_worker(job) {
                        task.booked = task.booked.max(*fence);
                    }
                    task.progress.booked.extend(Some(job.clone()).filter(|job| !job.is_empty()));
                })
            }
            Event::Noted { note: Note::ConflictsAhead { task, conflicts, .. }, .. } => {
                self.on_run(|run| match conflicts.is_empty() {
                    true => drop(run.conflicts_ahead.remove(task)),
                    false => drop(run.conflicts_ahead.insert(task.clone(), conflicts.clone())),
                });
                Ok(())
            }
            Event::Noted { by, note: Note::Seen { items, over } } => {
                self.on_run(|run| {
                    let seen = run.seen.entry(by.clone()).or_default();
                    seen.extend(items.iter().cloned());
                    seen.retain(|item| !over.contains(item));
                });
                Ok(())
            }
            Event::Noted { note: Note::ChecksRan { runs, lanes, .. }, .. } => {
                if self.run.as_ref().is_some_and(|run| run.flakes.learn_from(runs)) {
                    self.on_run(|run| run.flakes.note(runs, at));
                }
                if lanes.is_some() || runs.iter().any(|run| run.cpu.is_some()) {
                    self.on_run(|run| run.check_load.note(runs, *lanes));
                }
                Ok(())
            }
            Event::Rescued { .. } | Event::Reported { .. } | Event::Noted { .. } => Ok(()),
            Event::ContextUpdated { update } => {
                self.on_run(|run| run.context = Some((**update).clone()));
                Ok(())
            }
            Event::Retried { task, .. } | Event::Unblocked { task, .. } => self.update(task, at, |task| {
                task.budget = task.budget.max(task.spent + 1);
                task.transient = 0;
                task.conflicts = 0;
                task.not_before = None;
                task.progress.left_behind = false;
                task.progress.declined = false;
                task.progress.rejections = 0;
                task.decided = if task.attempt == 0 { Status::Pending } else { Status::Failed };
            }),
            Event::Answered { task, text, to, .. } => self.update(task, at, |task| {
                let answers = &mut task.progress.answers;
                answers.drain(..(answers.len() + 1).saturating_sub(Progress::ADVICE));
                answers.push(Answer { seq, to: *to, text: Digest::of_bytes(text.as_bytes()) });
            }),
            Event::CommentsSent { follow_up: Some(_), .. } => Ok(()),
            Event::CommentsSent { task, comments, follow_up: None, .. } => self.update(task, at, |task| {
                let known = &mut task.progress.comments;
                known.extend(comments);
                known.drain(..known.len().saturating_sub(Progress::COMMENTS));
                task.progress.sent_back = true;
                // An agent has to read them before any check judges the work again.
                (task.progress.recheck, task.progress.red) = (false, None);
            }),
            Event::Reset { task, .. } => self.update(task, at, |task| {
                release(task);
                task.counts.clear();
                task.progress.mark = None;
                if task.proof.take().is_some() {
                    let (worktree, request) = (task.progress.worktree, task.progress.request.take());
                    *task.progress = Progress { worktree, request, ..Progress::default() };
                }
                task.decided = Status::Pending;
                task.attempt = 0;
                task.spent = 0;
                task.transient = 0;
                task.conflicts = 0;
                task.not_before = None;
                task.failure_seq = None;
                task.progress.feedback = None;
                task.progress.advice.clear();
                task.progress.answers.clear();
                task.progress.comments.clear();
                task.progress.sent_back = false;
                task.progress.reworked = 0;
            }),
            Event::Reopened { task, reason, checks_first, .. } => {
                self.reopen(task, reason, *checks_first, at, seq)
            }
            Event::Skipped { task, .. } => self.update(task, at, |task| {
                release(task);
                task.decided = Status::Skipped;
                // Where the reason stands.
                task.failure_seq = Some(seq);
            }),
            Event::Adopted { task, past, .. } => {
                if let Some(proof) = &past.proof {
                    self.complete(task, proof, &[], at)?;
                }
                self.update(task, at, |task| {
                    task.spent = past.spent;
                    task.attempt = past.attempt();
                    // A new journal may hold a task to fewer attempts than its old one spent.
                    task.budget = task.budget.max(past.spent + u32::from(past.status != Status::Abandoned));
                    task.decided = past.status;
                    if matches!(past.status, Status::Failed | Status::Abandoned) {
                        task.failure_seq = Some(seq);
                        task.progress.feedback = past.failure().map(|_| seq);
                    }
                    task.progress.worktree |= past.base.is_some();
                    task.progress.base.clone_from(&past.base);
                    task.progress.commit = past.work.as_ref().and_then(|work| work.commit.clone());
                    task.progress.tree = past.work.as_ref().map(|work| work.tree.clone());
                    task.progress.recheck = past.recheck && past.base.is_some() && past.work.is_some();
                })
            }
            Event::OutsideSeen { task, need, done } => self.update(task, at, |task| {
                task.outside
                    .iter_mut()
                    .filter(|known| known.need == *need)
                    .for_each(|known| known.done = *done);
            }),
            Event::GivenUp { task, .. } => self.update(task, at, |task| {
                release(task);
                task.decided = Status::Abandoned;
            }),
            Event::Raised { task, attempts, .. } => self.update(task, at, |task| {
                task.budget = *attempts;
                if task.decided == Status::Abandoned && task.spent < task.budget {
                    task.decided = Status::Failed;
                }
            }),
            Event::LandingLost { task, .. } => self.update(task, at, |task| {
                release(task);
                *task.progress = Progress { worktree: task.progress.worktree, ..Progress::default() };
                task.proof = None;
                task.decided = Status::Pending;
                task.failure_seq = None;
                // All attempts may have been spent when it was completed in another way: it gets one more.
                task.budget = task.budget.max(task.spent + 1);
            }),
        }
    }

    fn fail(
        &mut self,
        id: &TaskId,
        class: Class,
        next: &Next,
        behind: Option<&Oid>,
        at: Timestamp,
        seq: u64,
    ) -> Result<(), Missing> {
        self.on_run(|run| {
            if run.merging.as_ref() == Some(id) {
                run.merging = None;
            }
            if class == Class::Transient {
                run.streak += 1;
            }
        });
        let is_landing = self.tasks.get(id).is_some_and(Task::is_candidate);
        if is_landing && matches!(class, Class::Code | Class::Conflict) {
            self.on_run(|run| run.line.fail());
        }
        self.update(id, at, |task| {
            match class {
                // That is not held against the task: it gets one more.
                Class::SentBack => {
                    task.spent += 1 + std::mem::take(&mut task.progress.reworked);
                    task.budget = task.budget.max(task.spent + 1);
                }
                Class::Code => {
                    let more = std::mem::take(&mut task.progress.reworked);
                    task.spent = (task.spent + 1 + more).min(task.budget.max(task.spent));
                }
                Class::Conflict => task.conflicts += 1,
                Class::Transient => task.transient += 1,
                Class::Limit | Class::Defect | Class::Stopped => {}
            }
            // A stop is not a failure, and the next agent cannot fix what cut off an agent.
            if class != Class::Stopped {
                task.failure_seq = Some(seq);
            }
            if matches!(class, Class::Code | Class::Conflict | Class::SentBack) {
                task.progress.feedback = Some(seq);
            }
            let judged = match task.decided {
                _ if task.is_candidate() => Some(Red::Landing),
                Status::Verifying => Some(Red::Alone),
                _ => None,
            };
            let is_red = matches!(class, Class::Code | Class::Conflict | Class::Defect);
            task.progress.red = judged.filter(|_| is_red);
            task.holder = None;
            // The host or a person stands in the way of work that is proven: it is not done again.
            let is_stuck = class == Class::Defect && task.decided == Status::Merging && task.is_followed();
            task.progress.recheck = match class {
                _ if is_stuck => true,
                // The agent or check that was to judge the work failed, had no access, or was stopped.
                Class::Transient | Class::Limit | Class::Stopped => judged.is_some(),
                Class::Code | Class::Conflict | Class::Defect | Class::SentBack => false,
            };
            task.progress.intent = None;
            task.progress.carries.clear();
            let place = task.progress.queued.take();
            if class == Class::Conflict {
                task.progress.place_kept = place.or(task.progress.place_kept);
            }
            (task.progress.waits, task.progress.waits_since) = (None, None);
            task.progress.uncommitted.clear();
            task.progress.behind = behind.cloned();
            task.progress.left_behind = *next == Next::Skipped;
            task.not_before = match next {
                Next::Again { not_before } => *not_before,
                Next::Abandoned | Next::Blocked | Next::Skipped => None,
            };
            task.decided = match next {
                // A try that was stopped has not failed; one that failed before still has.
                Next::Again { .. } if task.failure_seq.is_none() => Status::Pending,
                Next::Again { .. } => Status::Failed,
                Next::Abandoned => Status::Abandoned,
                Next::Blocked => Status::Blocked,
                Next::Skipped => Status::Skipped,
            };
        })
    }

    fn meant_for(&self, id: &TaskId) -> String {
        let both = self.run.as_ref().zip(self.tasks.get(id));
        both.map_or_else(String::new, |(run, task)| worker(run, task).to_owned())
    }

    fn complete(&mut self, id: &TaskId, proof: &Proof, counts: &[Oid], at: Timestamp) -> Result<(), Missing> {
        let landed_no = match (&mut self.run, proof) {
            (Some(run), Proof::Landed { .. }) => {
                run.landed += 1;
                Some(run.landed - 1)
            }
            _ => None,
        };
        let is_request = self.run.as_ref().is_some_and(|run| run.is_its_request(id));
        self.on_run(|run| {
            (run.context, run.held) = (None, false);
            run.moves_on();
            if run.merging.as_ref() == Some(id) {
                run.merging = None;
            }
        });
        self.update(id, at, |task| {
            task.decided = Status::Completed;
            task.holder = None;
            task.proof = Some(proof.clone());
            task.reopened = None;
            task.counts = counts.to_vec();
            let saw = match proof {
                Proof::Landed { .. } => task.progress.merged.take(),
                Proof::Checked { tree, .. } => tree.clone(),
                Proof::Work { .. } | Proof::Reported => None,
            };
            let (worktree, tree) = (task.progress.worktree, saw.filter(|_| task.gate));
            let request = task.progress.request.take().filter(|_| is_request);
            *task.progress = Progress { worktree, landed_no, tree, request, ..Progress::default() };
        })
    }
}
