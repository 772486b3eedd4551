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
    /// It goes no further when it was refused something, and has no last word then.
    pub stops_when_denied: bool,
    /// What it says it has used is of one request. Elsewhere it sums up.
    pub reports_each_request: bool,
    /// It tells what it used in money, too.
    pub reports_cost: bool,
    /// Its conversation gets a name from outside. Elsewhere it tells its own.
    pub takes_session_name: bool,
    /// What it says it has used is of the whole conversation. Elsewhere it is of one run.
    pub counts_on: bool,
    /// It can be held to a number of turns.
    pub takes_max_turns: bool,
    /// It can be told what it may cost.
    pub takes_budget: bool,
    /// It asks before it stops, and can be sent on.
    pub can_be_asked: bool,
    /// What Piton says itself on its command line: said twice, its output could not be understood, or it would work on
    /// something else.
    pub own_arguments: &'static [&'static str],
    /// Where it keeps its conversations. Not where programs are.
    pub homes: &'static [Home],
    /// The file that holds what lets it in.
    pub credentials: Option<Credentials>,
    /// Variables whose values usually hold secrets among other things.
    pub secret_variables: &'static [&'static str],
}

impl Facts {
    /// Of a client that nothing is known about.
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
