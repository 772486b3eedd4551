//! A read-only view of the machine for one child. It also protects modes, times and extended attributes of files, which
//! Landlock cannot.
//!
//! The child gets a mount namespace of its own. In it every mount is read-only but for copies of those places that it may
//! write to, which lie over the originals. The system administrator's right that this takes comes with a user namespace, in
//! which the user and the group have the same ids as outside, or is there already; either way the program that is started
//! does not have it, so it cannot undo this. In a namespace that it makes for itself the kernel locks what is read-only.
//!
//! Mounts of the machine that come or go later do so in the view as well: a disk that is unmounted is not kept busy by it.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::mount::{MountPropagationFlags, MoveMountFlags, OpenTreeFlags};
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use super::child::{make_read_only, unshare};

/// Where terminals are made: programs set the modes of their own.
const TERMINALS: &str = "/dev/pts";

/// All that the child needs to make its view. Made before the fork: after it, nothing may ask for memory.
pub(super) struct View {
    places: Vec<CString>,
    identity: Option<Identity>,
    cwd: CString,
    stdin: Option<CString>,
    /// A place, and the copy that is put there.
    copies: Vec<(OwnedFd, OwnedFd)>,
}

/// What is written to `/proc/self/uid_map` and `/proc/self/gid_map` of a new user namespace.
struct Identity {
    user: String,
    group: String,
}

impl View {
    /// The error is why there cannot be one.
    pub(super) fn new(
        writable: &[Utf8PathBuf],
        cwd: &Utf8Path,
        stdin: Option<&Utf8Path>,
    ) -> std::result::Result<View, String> {
        let administers = rustix::thread::capabilities(None)
            .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
        let (user, group) = (geteuid(), getegid());
        if user.is_root() && !administers {
            // With only one id mapped, root would lose its access to the files of all other users.
            return Err("root has no right to make mounts here".to_owned());
        }
        let identity = (!administers).then(|| Identity {
            user: format!("{0} {0} 1\n", user.as_raw()),
            group: format!("{0} {0} 1\n", group.as_raw()),
        });
        let path = |path: &Utf8Path| {
            CString::new(path.as_str())
                .map_err(|_| format!("a path has a NUL: {}", path.as_str().escape_debug()))
        };
        let terminals = Utf8PathBuf::from(TERMINALS);
        let all: Vec<&Utf8PathBuf> = writable.iter().chain([&terminals]).collect();
        if all.iter().any(|place| place.parent().is_none()) {
            return Err("everything is writable".to_owned());
        }
        // A place below another one is part of its copy: with a second copy, no file could be moved between the two.
        let is_inside =
            |place: &Utf8Path| all.iter().any(|other| place != **other && place.starts_with(other));
        let mut places = Vec::new();
        for place in all.iter().filter(|place| !is_inside(place)) {
            let place = path(place)?;
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let copies = Vec::with_capacity(places.len());
        Ok(View { places, identity, cwd: path(cwd)?, stdin: stdin.map(path).transpose()?, copies })
    }

    /// Make it around this process, which has one thread and is about to become another program.
    pub(super) fn enter(&mut self) -> Result<()> {
        match &self.identity {
            Some(identity) => {
                unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
                // Without this, the group map cannot be written.
                write(c"/proc/self/setgroups", b"deny")?;
                write(c"/proc/self/uid_map", identity.user.as_bytes())?;
                write(c"/proc/self/gid_map", identity.group.as_bytes())?;
            }
            None => unshare(UnshareFlags::NEWNS)?,
        }
        rustix::mount::mount_change(c"/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
        for place in &self.places {
            let there = match rustix::fs::openat(CWD, place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
                Ok(there) => there,
                // A place that does not exist, or cannot be reached, needs no copy.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => continue,
                Err(error) => return Err(error),
            };
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_EMPTY_PATH
                | OpenTreeFlags::AT_RECURSIVE;
            let copy = rustix::mount::open_tree(&there, c"", flags)?;
            // There is room for all of them.
            self.copies.push((there, copy));
        }
        make_read_only(c"/")?;
        for (there, copy) in self.copies.drain(..) {
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
            rustix::mount::move_mount(copy, c"", there, c"", flags)?;
        }
        // A program that is started as root has the rights that are left here. With the second one it could open any
        // file of a file system by its inode number, through a writable place.
        for right in [CapabilitySet::SYS_ADMIN, CapabilitySet::DAC_READ_SEARCH] {
            renounce(right)?;
        }
        // Folders that were opened before still refer to the old mounts.
        rustix::process::chdir(&self.cwd)?;
        if let Some(stdin) = &self.stdin {
            let stdin = rustix::fs::openat(CWD, stdin, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
            rustix::stdio::dup2_stdin(stdin)?;
        }
        Ok(())
    }
}

/// Take a right away from all programs that are started from here on, for every user.
fn renounce(right: CapabilitySet) -> Result<()> {
    rustix::thread::remove_capability_from_bounding_set(right)?;
    let sets = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { inheritable: sets.inheritable.difference(right), ..sets },
    )
}

fn write(path: &CStr, text: &[u8]) -> Result<()> {
    let file = rustix::fs::openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    // The kernel takes all of it or nothing.
    rustix::io::write(file, text).map(drop)
}
