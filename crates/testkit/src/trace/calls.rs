//! The calls that are stopped, and the filter that stops them.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// Which calls are stopped. Syncs and changes of names and lengths always are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Calls {
    /// Files that are opened to be created if they are not there.
    pub creates: bool,
    /// What is written to any descriptor.
    pub writes: bool,
}

/// Where a path is among a call's arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Descriptor(usize),
    Path(usize),
    /// A folder's descriptor, and a path in it.
    At(usize, usize),
}

pub(super) struct Call {
    pub(super) number: i64,
    pub(super) name: &'static str,
    pub(super) places: &'static [Place],
}

use Place::{At, Descriptor, Path};

const fn call(number: i64, name: &'static str, places: &'static [Place]) -> Call {
    Call { number, name, places }
}

const ALWAYS: &[Call] = &[
    call(libc::SYS_fsync, "fsync", &[Descriptor(0)]),
    call(libc::SYS_fdatasync, "fdatasync", &[Descriptor(0)]),
    call(libc::SYS_sync_file_range, "sync_file_range", &[Descriptor(0)]),
    call(libc::SYS_syncfs, "syncfs", &[Descriptor(0)]),
    call(libc::SYS_sync, "sync", &[]),
    call(libc::SYS_rename, "rename", &[Path(0), Path(1)]),
    call(libc::SYS_renameat, "renameat", &[At(0, 1), At(2, 3)]),
    call(libc::SYS_renameat2, "renameat2", &[At(0, 1), At(2, 3)]),
    call(libc::SYS_link, "link", &[Path(0), Path(1)]),
    call(libc::SYS_linkat, "linkat", &[At(0, 1), At(2, 3)]),
    call(libc::SYS_symlink, "symlink", &[Path(1)]),
    call(libc::SYS_symlinkat, "symlinkat", &[At(1, 2)]),
    call(libc::SYS_unlink, "unlink", &[Path(0)]),
    call(libc::SYS_unlinkat, "unlinkat", &[At(0, 1)]),
    call(libc::SYS_rmdir, "rmdir", &[Path(0)]),
    call(libc::SYS_mkdir, "mkdir", &[Path(0)]),
    call(libc::SYS_mkdirat, "mkdirat", &[At(0, 1)]),
    call(libc::SYS_truncate, "truncate", &[Path(0)]),
    call(libc::SYS_ftruncate, "ftruncate", &[Descriptor(0)]),
];

const WRITES: &[Call] = &[
    call(libc::SYS_write, "write", &[Descriptor(0)]),
    call(libc::SYS_writev, "writev", &[Descriptor(0)]),
    call(libc::SYS_pwrite64, "pwrite64", &[Descriptor(0)]),
    call(libc::SYS_pwritev, "pwritev", &[Descriptor(0)]),
    call(libc::SYS_fallocate, "fallocate", &[Descriptor(0)]),
    call(libc::SYS_copy_file_range, "copy_file_range", &[Descriptor(2)]),
    call(libc::SYS_sendfile, "sendfile", &[Descriptor(0)]),
];

/// With the argument that holds the flags.
const CREATES: &[(Call, u8)] =
    &[(call(libc::SYS_open, "open", &[Path(0)]), 1), (call(libc::SYS_openat, "openat", &[At(0, 1)]), 2)];

pub(super) fn by_number(number: i64) -> Option<&'static Call> {
    let all = ALWAYS.iter().chain(WRITES).chain(CREATES.iter().map(|(call, _)| call));
    all.into_iter().find(|call| call.number == number)
}

impl Calls {
    /// Stop these, let all others through.
    pub(super) fn filter(self) -> BpfProgram {
        let writes = if self.writes { WRITES } else { &[] };
        // No rule for a call means: whatever its arguments.
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            ALWAYS.iter().chain(writes).map(|call| (call.number, Vec::new())).collect();
        for (call, flags) in CREATES.iter().filter(|_| self.creates) {
            let bit = u64::try_from(libc::O_CREAT).expect("a flag");
            let set =
                SeccompCondition::new(*flags, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bit), bit);
            let rule = SeccompRule::new(vec![set.expect("an argument that exists")]);
            rules.insert(call.number, vec![rule.expect("one condition")]);
        }
        let filter =
            SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Trace(0), TargetArch::x86_64);
        filter.expect("two different actions").try_into().expect("a short program")
    }
}
