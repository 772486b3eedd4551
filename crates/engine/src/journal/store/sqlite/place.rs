//! Where a journal may lie. SQLite's write-ahead log needs shared memory and honest locks, which
//! network file systems do not give: two machines would write over each other.

use camino::Utf8Path;

use crate::journal::error::Trouble;

/// Types of file system as `statfs` numbers them (`linux/magic.h` and the file systems' own headers).
#[cfg(any(target_os = "linux", test))]
const NETWORK: [(u64, &str); 13] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x564c, "NCP"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x7461_636f, "OCFS2"),
];

/// FUSE serves local file systems too; its kind is in the mount table.
#[cfg(target_os = "linux")]
const FUSE: u64 = 0x6573_5546;

#[cfg(any(target_os = "linux", test))]
const NETWORK_FUSE: [&str; 9] = [
    "fuse.sshfs",
    "fuse.s3fs",
    "fuse.rclone",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.ceph",
    "fuse.davfs",
    "fuse.curlftpfs",
    "fuse.juicefs",
];

/// Refuse a folder on a network file system, naming its kind.
pub(super) fn refuse_network(folder: &Utf8Path) -> Result<(), Trouble> {
    match network_kind(folder) {
        Some(kind) => Err(Trouble::Network { kind }),
        None => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn network_kind(folder: &Utf8Path) -> Option<String> {
    // If the folder's type is unknown, SQLite reports what is wrong with it.
    let facts = rustix::fs::statfs(folder.as_std_path()).ok()?;
    // The type is signed on some machines; only the low 32 bits carry the number.
    let number = u64::from(facts.f_type as u32);
    if number == FUSE {
        let device = std::os::unix::fs::MetadataExt::dev(&std::fs::metadata(folder).ok()?);
        let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        return network_mount(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, &device);
    }
    network_number(number).map(str::to_owned)
}

#[cfg(target_os = "macos")]
fn network_kind(folder: &Utf8Path) -> Option<String> {
    /// `MNT_LOCAL` of `sys/mount.h`.
    const LOCAL: u32 = 0x1000;
    let facts = rustix::fs::statfs(folder.as_std_path()).ok()?;
    (facts.f_flags & LOCAL == 0).then(|| "not a local volume".to_owned())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn network_kind(_folder: &Utf8Path) -> Option<String> {
    None
}

#[cfg(any(target_os = "linux", test))]
fn network_number(number: u64) -> Option<&'static str> {
    NETWORK.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// The network file system mounted as `device`, from the lines of a mount table:
/// `36 35 0:45 / /mnt rw - fuse.sshfs host:/dir rw`.
#[cfg(any(target_os = "linux", test))]
fn network_mount(table: &str, device: &str) -> Option<String> {
    let kind = table.lines().find_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        (mount.split(' ').nth(2) == Some(device)).then(|| source.split(' ').next()).flatten()
    })?;
    NETWORK_FUSE.contains(&kind).then(|| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_number_and_by_mount() {
        assert_eq!(network_number(0x6969), Some("NFS"));
        assert_eq!(network_number(0xef53), None, "ext4");
        let table = "36 35 0:45 / /mnt rw,nosuid shared:1 - fuse.sshfs me@host:/dir rw\n\
                     37 35 0:46 / /data rw - fuse.ntfs-3g /dev/sdb1 rw\n";
        assert_eq!(network_mount(table, "0:45").as_deref(), Some("fuse.sshfs"));
        assert_eq!(network_mount(table, "0:46"), None);
        assert_eq!(network_mount(table, "0:47"), None);
    }
}
