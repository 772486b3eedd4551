//! What may happen to a run, from outside: properties over random commands, the promises one by one, one test
//! for each rule that was once wrong, the table of what people may do in which state, and the end of a run.

mod ahead;
mod already;
mod bench;
mod budget;
mod by_person;
mod candidates;
mod claims;
mod clients;
mod closing;
mod comments;
mod context;
mod ending;
mod gates;
mod identity;
mod inbox;
mod journals;
mod line;
mod overload;
mod promises;
mod properties;
mod providers;
mod renumbered;
mod repaired;
mod requests;
mod revisions;
mod sequence;
mod siblings;
mod stacks;
mod table;
mod timeline;
mod whole;
