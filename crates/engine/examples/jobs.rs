//! The helper of the keeper's tests: a keeper, or an engine that runs one job and prints its outcome.
//!
//! `jobs keeper …` is the hidden mode; `jobs run DIR SPEC` takes the spec as JSON. With `KEEPER_CRASH` set,
//! the keeper crashes at that point. `jobs attribute FILE` sets an extended attribute, for which few machines have a
//! program.

use std::error::Error;
use std::io::{self, Write};

use piton_engine::keeper::{self, Job};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    if args.first().is_some_and(|mode| mode == "keeper") {
        return Ok(keeper::enter(&args[1..])?);
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    #[cfg(target_os = "linux")]
    if let [mode, file] = args.as_slice()
        && mode == "attribute"
    {
        return Ok(rustix::fs::setxattr(file, "user.piton", b"x", rustix::fs::XattrFlags::empty())?);
    }
    let [mode, dir, spec] = args.as_slice() else { return Err("run DIR SPEC".into()) };
    if mode != "run" {
        return Err(format!("unknown mode {mode}").into());
    }
    let program = std::env::current_exe()?.to_str().ok_or("not UTF-8")?.to_owned();
    let mut keeper = vec![program, "keeper".to_owned()];
    if let Ok(point) = std::env::var("KEEPER_CRASH") {
        keeper.splice(0..0, ["env".to_owned(), format!("PITON_CRASH={point}")]);
    }
    let outcome = Job::at(dir).run(&serde_json::from_str(spec)?, &keeper)?;
    Ok(writeln!(io::stdout(), "{}", serde_json::to_string(&outcome)?)?)
}
