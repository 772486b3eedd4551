//! `piton init`: settings for a project, from what is found in it; or, with `--for`, what a client needs to keep the ledger.

mod client;
mod flags;
mod project;

pub(crate) use flags::InitArgs;

use crate::failure::{Exit, Outcome};

pub(crate) fn init(args: &InitArgs) -> Outcome<Exit> {
    match args.client {
        Some(client) => client::init(client, args),
        None => project::init(args),
    }
}
