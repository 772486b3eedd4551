//! The systems of this version by variants, for the commands that have words of their own for some of them.

use serde::{Deserialize, Serialize};

use super::{Form, SystemRef, execute, issue, iterative, native, rwkit};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    #[default]
    Native,
    Execute,
    Issue,
    Rwkit,
    Iterative,
}

impl Dialect {
    pub const ALL: [Dialect; 5] =
        [Dialect::Native, Dialect::Execute, Dialect::Issue, Dialect::Rwkit, Dialect::Iterative];

    pub fn system(self) -> SystemRef {
        match self {
            Dialect::Native => &native::Native,
            Dialect::Execute => &execute::Execute,
            Dialect::Issue => &issue::Issues,
            Dialect::Rwkit => &rwkit::Rwkit,
            Dialect::Iterative => &iterative::Iterations,
        }
    }

    pub fn name(self) -> &'static str {
        self.system().name()
    }

    pub fn is_native(self) -> bool {
        self == Dialect::Native
    }
}

impl From<SystemRef> for Dialect {
    fn from(system: SystemRef) -> Dialect {
        match system.plain() {
            Form::Native | Form::Added(_) => Dialect::Native,
            Form::Execute => Dialect::Execute,
            Form::Issue(_) => Dialect::Issue,
            Form::Rwkit(_) => Dialect::Rwkit,
            Form::Iterative(_) => Dialect::Iterative,
        }
    }
}
