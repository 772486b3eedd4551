//! What happens, line by line on the normal screen, where the terminal keeps it. Each event is printed once, however often one
//! changes between the two.

use piton_core::run::Recorded;
use piton_core::view::{self, Tone};

use crate::failure::Outcome;
use crate::progress::line;
use crate::screen::source::Source;
use crate::screen::terminal::write;
use crate::ui;

/// So many lines from before are printed first: one sees what went on.
const CONTEXT: usize = 10;
/// Among so many events they are looked for.
const AMONG: usize = 300;
/// Events read at once.
const PAGE: usize = 500;

pub(super) struct PlainStream {
    source: Source,
    /// The last event that was printed, or does not have to be.
    after: Option<u64>,
    /// Which journal that was.
    opened: u32,
}

impl PlainStream {
    pub(super) fn new(source: Source) -> PlainStream {
        PlainStream { source, after: None, opened: 0 }
    }

    /// From here on nothing is missed. A journal that cannot be read now is read later.
    pub(super) fn begin(&mut self) {
        let _ = self.start();
    }

    fn start(&mut self) -> Outcome<u64> {
        if let Some(after) = self.after {
            return Ok(after);
        }
        let (run, (journal, _)) = (self.source.run.clone(), self.source.journal()?);
        let events = journal.last_events(&run, None, AMONG)?;
        let shown: Vec<u64> = events.iter().filter(is_shown).map(|recorded| recorded.seq).collect();
        let first = shown.len().checked_sub(CONTEXT).and_then(|at| shown.get(at)).map(|seq| seq - 1);
        let first = first.or(events.first().map(|first| first.seq - 1)).unwrap_or(0);
        self.after = Some(first);
        Ok(first)
    }

    pub(super) fn greet(&self) {
        let text = format!("{} prints what happens; press s to return to the screen", self.source.run);
        print(&ui::styled(ui::DIM, text));
    }

    /// Print what has happened since.
    pub(super) fn print(&mut self) {
        if let Err(failure) = self.print_news() {
            // It is said once, and read again later.
            if self.after.is_some() {
                print(&ui::styled(ui::WARNING, ui::plain(&failure.message)));
            }
            self.after = None;
            self.source.close();
        }
    }

    fn print_news(&mut self) -> Outcome {
        let mut after = self.start()?;
        loop {
            let (run, (journal, opened)) = (self.source.run.clone(), self.source.journal()?);
            let is_new = std::mem::replace(&mut self.opened, opened) != opened;
            if is_new && journal.last_events(&run, None, 1)?.last().map_or(0, |last| last.seq) < after {
                // Another journal, which begins again.
                after = 0;
            }
            let page = journal.events(&run, after, None, PAGE)?;
            for recorded in &page {
                after = recorded.seq;
                if is_shown(&recorded) {
                    print(&line::line(recorded));
                }
            }
            self.after = Some(after);
            if page.len() < PAGE {
                return Ok(());
            }
        }
    }
}

fn is_shown(recorded: &&Recorded) -> bool {
    view::describe(&recorded.event).tone != Tone::Quiet
}

/// A line, while the terminal does not turn line feeds into line breaks.
fn print(line: &str) {
    write(&format!("{}\r\n", ui::as_shown(line)));
}
