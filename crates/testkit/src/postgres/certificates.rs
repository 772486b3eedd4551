//! Certificates for tests, as `openssl` makes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// What is written into certificates. Nothing of the machine's own settings is.
const SETTINGS: &str = "\
[req]
distinguished_name = names
prompt = no
[names]
CN = $ENV::NAME
[authority]
basicConstraints = critical, CA:TRUE
[holder]
basicConstraints = CA:FALSE
subjectAltName = DNS:$ENV::NAME
";

/// An authority that nobody trusts without being asked to.
#[derive(Debug)]
pub struct Authority {
    folder: TempDir,
}

/// The file of a certificate, and that of its key.
#[derive(Debug)]
pub struct Certificate {
    pub chain: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    /// An error, with the reason, if this machine has no `openssl`.
    pub fn new() -> Result<Authority, &'static str> {
        if Command::new("openssl").arg("version").output().is_err() {
            return Err("openssl is not installed");
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("settings"), SETTINGS).expect("a file");
        let authority = Authority { folder };
        authority.make("authority", "Authority of tests", "authority", &[]);
        Ok(authority)
    }

    pub fn certificate(&self) -> PathBuf {
        self.path("authority.crt")
    }

    /// A new certificate for a server or a user.
    pub fn issue(&self, name: &str) -> Certificate {
        let (own, own_key) = (self.path("authority.crt"), self.path("authority.key"));
        self.make(name, name, "holder", &["-CA".as_ref(), &own, "-CAkey".as_ref(), &own_key]);
        Certificate { chain: self.path(&format!("{name}.crt")), key: self.path(&format!("{name}.key")) }
    }

    fn make(&self, file: &str, name: &str, extensions: &str, signer: &[&Path]) {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-new", "-nodes", "-days", "2", "-newkey", "ec"])
            .args(["-pkeyopt", "ec_paramgen_curve:P-256", "-config"])
            .arg(self.path("settings"))
            .args(["-extensions", extensions])
            .args(signer)
            .arg("-keyout")
            .arg(self.path(&format!("{file}.key")))
            .arg("-out")
            .arg(self.path(&format!("{file}.crt")))
            .env("NAME", name)
            .output()
            .expect("openssl is installed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
