//! `[journal]`: where the journal of a project is, for everybody who works on it.

use super::walk::{Section, Walk};
use crate::diagnostic::Diagnostic;

/// The URL of the database, if it is one that may stand in a file that many read.
pub(super) fn read_journal(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<String> {
    let said = section.line(walk, "url")?;
    // Not the text itself: it may hold a password.
    let wrong = match said.value {
        url if !is_of_server(url) => {
            ("`url` is not that of a PostgreSQL database", "postgres://HOST/DATABASE")
        }
        url if has_password(url) => (
            "a password does not belong into `piton.toml`, which everybody reads",
            "leave it out here, and put it into ~/.pgpass or into PGPASSWORD",
        ),
        url => return Some(url.to_owned()),
    };
    let (message, label) = wrong;
    // At the table: what is drawn has the line in it.
    walk.push(Diagnostic::error(section.at.clone(), message).label(label));
    None
}

fn is_of_server(url: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme))
}

fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    user.contains(':') || rest.contains("?password=") || rest.contains("&password=")
}

#[cfg(test)]
mod tests {
    use crate::system::config::read_config;

    #[test]
    fn a_password_does_not_stand_in_a_file_that_everybody_reads() {
        let read = |url: &str| {
            let (config, wrong) = read_config(&format!("[journal]\nurl = \"{url}\"\n"));
            (config.journal, wrong.into_iter().map(|wrong| wrong.message).collect::<Vec<_>>().join("; "))
        };
        for url in [
            "postgres://db/shop",
            "postgresql://me@db:5433,db2/shop?sslmode=verify-full",
            "postgres:///?service=shop",
        ] {
            assert_eq!(read(url), (Some(url.to_owned()), String::new()));
        }
        for url in
            ["postgres://me:s3cret@db/shop", "postgres://db/shop?a=b&password=s3cret", "postgres://me:@db"]
        {
            let (journal, wrong) = read(url);
            assert!(
                journal.is_none() && wrong.contains("password") && !wrong.contains("s3cret"),
                "{url}: {wrong}"
            );
        }
        let (journal, wrong) = read("mysql://s3cret");
        assert!(journal.is_none() && wrong.contains("PostgreSQL") && !wrong.contains("s3cret"), "{wrong}");
    }
}
