//! The environment and the files that a URL leaves things to. They are read here; `settings` decides what counts.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use camino::{Utf8Path, Utf8PathBuf};

use super::server::NotAServer;

/// All public authorities fill a quarter of it.
const LARGEST: u64 = 1024 * 1024;

type Variable<'s> = Box<dyn Fn(&str) -> Option<String> + 's>;
type Files<'s> = Box<dyn Fn(&Utf8Path) -> io::Result<Content> + 's>;

/// What is around a URL: variables and files say what it leaves out.
pub struct Surroundings<'s> {
    variable: Variable<'s>,
    file: Files<'s>,
}

/// A file as it was read.
pub(super) struct Content {
    pub bytes: Vec<u8>,
    /// Nobody but its owner may read or write it.
    pub private: bool,
}

impl fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").finish_non_exhaustive()
    }
}

impl<'s> Surroundings<'s> {
    /// Those of this process.
    pub fn of_process() -> Surroundings<'static> {
        Surroundings::with_variables(|name| std::env::var(name).ok())
    }

    /// Other variables, and the files of this machine.
    pub fn with_variables(variable: impl Fn(&str) -> Option<String> + 's) -> Surroundings<'s> {
        Surroundings::new(variable, read)
    }

    pub(super) fn new(
        variable: impl Fn(&str) -> Option<String> + 's,
        file: impl Fn(&Utf8Path) -> io::Result<Content> + 's,
    ) -> Surroundings<'s> {
        Surroundings { variable: Box::new(variable), file: Box::new(file) }
    }

    /// An empty variable counts as one that is not set.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// A file that is named has to exist; the usual one below the home is used if it does.
    pub(super) fn named_or_usual(
        &self,
        named: Option<&str>,
        usual: &str,
    ) -> Result<Option<(Utf8PathBuf, Content)>, NotAServer> {
        if let Some(named) = named {
            return self.file(named.into()).map(Some);
        }
        let Some(home) = self.variable("HOME") else { return Ok(None) };
        match self.file(Utf8Path::new(&home).join(usual)) {
            Err(NotAServer::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    pub(super) fn file(&self, path: Utf8PathBuf) -> Result<(Utf8PathBuf, Content), NotAServer> {
        match (self.file)(&path) {
            Ok(content) => Ok((path, content)),
            Err(error) => Err(NotAServer::File { file: path, error }),
        }
    }
}

fn read(path: &Utf8Path) -> io::Result<Content> {
    // It is how people say that there is none.
    if path == "/dev/null" {
        return Ok(Content { bytes: Vec::new(), private: true });
    }
    // To open a pipe could take for ever.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    let file = File::open(path)?;
    let private = file.metadata()?.mode() & 0o077 == 0;
    let mut bytes = Vec::new();
    if file.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 1 MiB"));
    }
    Ok(Content { bytes, private })
}

/// As text.
pub(super) fn text((path, content): &(Utf8PathBuf, Content)) -> Result<&str, NotAServer> {
    std::str::from_utf8(&content.bytes).map_err(|_| NotAServer::File {
        file: path.clone(),
        error: io::Error::new(io::ErrorKind::InvalidData, "not UTF-8"),
    })
}
