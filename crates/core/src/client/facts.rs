//! Plain facts about a client. The rules and the engine go by these, so they need not know any client.

#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The version that its row was tried with, end to end.
    pub checked_version: Option<&'static str>,
    /// The command that installs it.
    pub install: Option<&'static str>,
    /// It writes a line of JSON for whatever happens.
    pub has_stream: bool,
    /// The pieces of a message may end anywhere. Elsewhere each is a paragraph.
    pub says_in_pieces: bool,
    /// It stops when a call was refused, without a last message.
    pub stops_when_denied: bool,
    /// It reports the usage of each request. Other clients report a sum.
    pub reports_each_request: bool,
    /// It also reports its cost in money.
    pub reports_cost: bool,
    /// Piton names its conversation. Other clients choose the name and report it.
    pub takes_session_name: bool,
    /// It reports the usage of the whole conversation. Other clients report that of one run.
    pub counts_on: bool,
    /// It can be held to a number of turns.
    pub takes_max_turns: bool,
    /// It can be given a limit in money.
    pub takes_budget: bool,
    /// It asks before it stops, and can be sent on.
    pub can_be_asked: bool,
    /// What Piton says itself on its command line: said twice, its output could not be understood, or it would work on
    /// something else.
    pub own_arguments: &'static [&'static str],
    /// Where it keeps its conversations. Not where programs are.
    pub homes: &'static [Home],
    /// The file with its credentials.
    pub credentials: Option<Credentials>,
    /// Variables whose values usually contain secrets.
    pub secret_variables: &'static [&'static str],
}

impl Facts {
    /// For a client about which nothing is known.
    pub const UNKNOWN: Facts = Facts {
        checked_version: None,
        install: None,
        has_stream: false,
        says_in_pieces: false,
        stops_when_denied: false,
        reports_each_request: false,
        reports_cost: false,
        takes_session_name: false,
        counts_on: false,
        takes_max_turns: false,
        takes_budget: false,
        can_be_asked: false,
        own_arguments: &[],
        homes: &[],
        credentials: None,
        secret_variables: &[],
    };
}

/// A folder of a client: the variable that says where, with what is below that; or else what is below the home folder.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    pub variable: &'static str,
    pub below: &'static str,
    pub usual: &'static str,
}

/// The variable that says which folder, what that is below the home folder without it, and the file in it.
#[derive(Clone, Copy, Debug)]
pub struct Credentials {
    pub variable: &'static str,
    pub usual: &'static str,
    pub file: &'static str,
}
