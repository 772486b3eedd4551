//! `piton init --for CLIENT`: let an interactive client keep the ledger with Piton, and take that back. Only files of the
//! project are touched, what people wrote in them stays, and every change is shown before it is made.

use std::fs;
use std::io::{self, BufRead, IsTerminal};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::client::{Adapter, Content, Ledger, Part};
use piton_core::line_diff;
use piton_core::settings_file::{Spot, Unfit};
use piton_engine::disk;

use crate::cmd::integrate::init::flags::InitArgs;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::find;
use crate::ui;

pub(super) fn init(client: Adapter, args: &InitArgs) -> Outcome<Exit> {
    let root = find::project(args.project_path.as_deref())?.root;
    let mut changes: Vec<Change> = Vec::new();
    let Some(Ledger { parts, advice }) = client.ledger() else { return Ok(FINE) };
    for part in parts {
        let path = root.join(part.file);
        let nth = match changes.iter().position(|change| change.file == part.file) {
            Some(nth) => nth,
            None => {
                let before = read(&path)?;
                changes.push(Change { file: part.file, path, after: before.clone(), before });
                changes.len() - 1
            }
        };
        let change = &mut changes[nth];
        let now = change.after.take().unwrap_or_default();
        let then = if args.remove { part.taken_from(&now) } else { part.put_into(&now).map(Some) };
        change.after = then.map_err(|unfit| cannot(&part, &unfit))?.filter(|text| !text.is_empty());
    }
    changes.retain(|change| change.before != change.after);
    if changes.is_empty() {
        let so = if args.remove {
            "there is nothing of Piton's to remove"
        } else {
            "everything is already in place"
        };
        ui::say(so);
        return Ok(FINE);
    }
    changes.iter().for_each(|change| ui::answer(change.shown()));
    if !args.yes && !agreed()? {
        let remove = if args.remove { " --remove" } else { "" };
        return Err(Failure::new("nothing was written")
            .hint(format!("piton init --for {}{remove} --yes", client.name())));
    }
    changes.iter().try_for_each(Change::make)?;
    if !args.remove {
        ui::say(advice);
    }
    Ok(FINE)
}

/// Whether the person at the terminal agrees.
fn agreed() -> Outcome<bool> {
    if !io::stdin().is_terminal() || !ui::is_terminal() {
        return Ok(false);
    }
    ui::ask("\nwrite this? [y/N] ");
    let mut said = String::new();
    io::stdin().lock().read_line(&mut said).map_err(Failure::io("cannot read the answer"))?;
    Ok(matches!(said.trim(), "y" | "Y" | "yes"))
}

/// One file, before and after; `None` if it does not exist.
struct Change {
    file: &'static str,
    path: Utf8PathBuf,
    before: Option<String>,
    after: Option<String>,
}

impl Change {
    fn shown(&self) -> String {
        let (before, after) = (self.before.as_deref().unwrap_or(""), self.after.as_deref().unwrap_or(""));
        let name = |text: &Option<String>| text.as_ref().map_or("/dev/null", |_| self.file);
        line_diff::unified(before, after, (name(&self.before), name(&self.after)), 2)
    }

    fn make(&self) -> Outcome {
        let failed = || Failure::io(format!("cannot write {}", self.path));
        let Some(after) = &self.after else {
            fs::remove_file(&self.path).map_err(failed())?;
            // Folders that held nothing else go with it; others stay.
            for folder in
                self.path.ancestors().skip(1).take(Utf8Path::new(self.file).components().count() - 1)
            {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
            return Ok(());
        };
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(failed())?;
        }
        let displaced = disk::exchange(&self.path, after.as_bytes()).map_err(failed())?;
        if displaced.as_deref() != self.before.as_deref().map(str::as_bytes) {
            // It was changed while the person looked at the change: that version stays.
            if let Some(theirs) = &displaced {
                disk::exchange(&self.path, theirs).map_err(failed())?;
            }
            return Err(Failure::new(format!("{} has changed meanwhile", self.path))
                .hint("run the same command again"));
        }
        Ok(())
    }
}

/// What is there. A link was made on purpose, and is not replaced by a file.
fn read(path: &Utf8Path) -> Outcome<Option<String>> {
    let data = match fs::symlink_metadata(path) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::io(format!("cannot read {path}"))(error)),
    };
    if !data.is_file() {
        return Err(Failure::new(format!("{path} is not a regular file"))
            .hint("put a file in its place, then run the same command again"));
    }
    let bytes = fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
    String::from_utf8(bytes).map(Some).map_err(|_| Failure::new(format!("{path} is not UTF-8")))
}

fn cannot(part: &Part, unfit: &Unfit) -> Failure {
    let failure = Failure::new(format!("{} cannot be changed: {unfit}", part.file));
    match &part.content {
        Content::Value(Spot::Member { below, name }, value) => {
            failure.hint(format!("by hand: {}.{name} = {value}", below.join(".")))
        }
        Content::Value(Spot::Item { of }, value) => {
            failure.hint(format!("by hand: one more in {}: {value}", of.join(".")))
        }
        Content::Block(_, body) => failure.hint(format!("by hand:\n{body}")),
        Content::Whole(_) => failure,
    }
}
