//! What may happen to a run, from outside: properties over random commands, the promises one by one, one test
//! for each rule that was once wrong, and the table of what people may do in which state.

mod bench;
mod promises;
mod properties;
mod repaired;
mod table;
