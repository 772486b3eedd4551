//! Where a remote of git is hosted.

use std::collections::BTreeMap;

use super::Kind;

/// A repository at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub kind: Kind,
    /// The host's name in lower case, without a user. It has a port only where the web is served on another one than 443.
    pub host: String,
    /// Its owner. At GitLab this may be a group in a group: `group/subgroup`.
    pub owner: String,
    pub name: String,
}

/// Why a remote is at no host that Piton can ask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    #[error("the remote is a folder, not a host")]
    Local,
    #[error(
        "Piton does not know whether `{host}` runs GitHub or GitLab: `git config piton.{host}.runs gitlab` says so"
    )]
    UnknownHost { host: String },
    #[error("the remote's address names no repository as `OWNER/NAME`")]
    NoRepository,
}

impl Place {
    /// Where the remote with this URL is hosted. `known` says what hosts run whose names do not say so.
    pub fn of(url: &str, known: &BTreeMap<String, Kind>) -> Result<Place, NoPlace> {
        let (host, path) = split(url)?;
        let kind = known.get(&host).copied().or_else(|| usual_kind(&host));
        let kind = kind.ok_or_else(|| NoPlace::UnknownHost { host: host.clone() })?;
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let (owner, name) = path.rsplit_once('/').ok_or(NoPlace::NoRepository)?;
        let depth = owner.split('/').count();
        if !path.split('/').all(is_name) || (kind == Kind::GitHub && depth != 1) {
            return Err(NoPlace::NoRepository);
        }
        Ok(Place { kind, host, owner: owner.to_owned(), name: name.to_owned() })
    }

    /// `OWNER/NAME`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// What follows `-R`, so that the program does not guess the repository or its host.
    pub fn argument(&self) -> String {
        match self.kind {
            Kind::GitHub => format!("{}/{}/{}", self.host, self.owner, self.name),
            // The short form cannot be told from a group in a group.
            Kind::GitLab => format!("https://{}/{}/{}", self.host, self.owner, self.name),
        }
    }

    /// The repository in the path of its API: `repos/OWNER/NAME` or `projects/OWNER%2FNAME`.
    pub fn api_path(&self) -> String {
        match self.kind {
            Kind::GitHub => format!("repos/{}/{}", self.owner, self.name),
            Kind::GitLab => format!("projects/{}", self.full_name().replace('/', "%2F")),
        }
    }
}

/// What a host runs, by its name alone.
fn usual_kind(host: &str) -> Option<Kind> {
    let first = host.split('.').next().unwrap_or_default();
    match host {
        "github.com" => Some(Kind::GitHub),
        "gitlab.com" => Some(Kind::GitLab),
        _ if host.ends_with(".ghe.com") => Some(Kind::GitHub),
        // `gitlab.example.org` is the name that people give to their own.
        _ if first == "github" => Some(Kind::GitHub),
        _ if first == "gitlab" => Some(Kind::GitLab),
        _ => None,
    }
}

/// The host and the path of a URL.
fn split(url: &str) -> Result<(String, &str), NoPlace> {
    let url = url.trim();
    if let Some((scheme, rest)) = url.split_once("://") {
        let (authority, path) = rest.split_once('/').ok_or(NoPlace::NoRepository)?;
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (name, port) =
            authority.rsplit_once(':').map_or((authority, None), |(name, port)| (name, Some(port)));
        return match scheme.to_ascii_lowercase().as_str() {
            // Another port is another host there.
            "https" | "http" => {
                let usual = matches!(port, None | Some("" | "443" | "80"));
                let host = folded(name)?;
                let port = port.filter(|_| !usual).map(str::parse::<u16>).transpose();
                match port.map_err(|_| NoPlace::Local)? {
                    Some(port) => Ok((format!("{host}:{port}"), path)),
                    None => Ok((host, path)),
                }
            }
            // The port is that of ssh, or of git's own protocol, and says nothing about the web.
            "ssh" | "git" | "git+ssh" | "ssh+git" => Ok((folded(name)?, path)),
            _ => Err(NoPlace::Local),
        };
    }
    // `git@host:owner/name`, but neither `C:\folder` nor `./a:b`.
    let (host, path) = url.split_once(':').ok_or(NoPlace::Local)?;
    if host.contains('/') || host.len() < 2 || path.starts_with('\\') {
        return Err(NoPlace::Local);
    }
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    Ok((folded(host)?, path))
}

/// A host's name as its web pages have it.
fn folded(host: &str) -> Result<String, NoPlace> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if host.is_empty() || host.starts_with(['-', '.']) || !host.chars().all(fits) {
        return Err(NoPlace::Local);
    }
    Ok(match host.to_ascii_lowercase().as_str() {
        // These take ssh on the port of the web.
        "ssh.github.com" | "www.github.com" => "github.com".to_owned(),
        "altssh.gitlab.com" => "gitlab.com".to_owned(),
        other => other.to_owned(),
    })
}

/// Whether it can be the name of an owner or of a repository. It ends up in arguments and in paths of an API.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !name.is_empty() && name != "." && name != ".." && !name.starts_with('-') && name.chars().all(fits)
}
