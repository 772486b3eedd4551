//! Who may ask for what: decided from a request's line and headers alone, so that it can be tested as a table.
//!
//! A browser sends requests that other pages cause, and a name that once led elsewhere may lead here (DNS rebinding). So the
//! host must be one of ours on every request, what a browser says about the origin must fit, and what changes something or
//! stays open must prove where it comes from.

use std::net::IpAddr;

/// A name under which the page is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    /// As it stands in a `Host` header, in lower case.
    pub authority: String,
    pub https: bool,
}

/// What the page is served under, and what it allows.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub hosts: Vec<Host>,
    /// Any IP address with this port is ours, too: we listen on all of them. A name could be rebound, an address cannot.
    pub any_address: Option<u16>,
    pub control: bool,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    /// The page itself, without data: it is the same everywhere.
    Page,
    /// To be let in.
    Enter,
    Read,
    /// The stream of events: it stays open.
    Stream,
    Write,
}

/// What a request says about its right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credential {
    None,
    /// The cookie that a browser sends by itself, to every port of the host.
    Cookie,
    /// The cookie, and the key that only the page itself can read.
    Page,
    /// A header that only the caller can have written.
    Bearer,
}

/// The parts of a request that decide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'r> {
    pub method: &'r str,
    pub path: &'r str,
    /// `None` if there is no `Host` header, or several.
    pub host: Option<&'r str>,
    pub origin: Option<&'r str>,
    /// `Sec-Fetch-Site`.
    pub site: Option<&'r str>,
    /// `Sec-Fetch-Mode`.
    pub mode: Option<&'r str>,
    pub credential: Credential,
}

/// Why a request may not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    Host,
    Origin,
    Site,
    /// It does not prove that it comes from the page itself.
    Unproven,
    Credential,
    /// It has the cookie, but not the key of the page.
    Key,
    ReadOnly,
    Method,
}

impl Denied {
    pub(super) fn status(self) -> u16 {
        match self {
            Denied::Host => 421,
            Denied::Credential | Denied::Key => 401,
            Denied::Method => 405,
            Denied::Origin | Denied::Site | Denied::Unproven | Denied::ReadOnly => 403,
        }
    }

    pub(super) fn why(self) -> &'static str {
        match self {
            Denied::Host => "this host name is not served here; `piton serve --public-host NAME` adds one",
            Denied::Origin => "the request comes from another origin",
            Denied::Site => "the request comes from another site",
            Denied::Unproven => "the request does not say that it comes from this page",
            Denied::Credential => "open the address that `piton serve` printed",
            Denied::Key => {
                "this tab does not have the key of the page: open the address that `piton serve` printed"
            }
            Denied::ReadOnly => "This page is read-only: start piton serve with --allow-control",
            Denied::Method => "this method is not allowed here",
        }
    }
}

pub(super) const ENTER: &str = "/api/enter";
pub(super) const EVENTS: &str = "/api/events";
pub(super) const METRICS: &str = "/metrics";

impl Guard {
    /// Whether a request may pass, and what it asks for.
    pub(super) fn check(&self, asked: &Asked<'_>) -> Result<Area, Denied> {
        let host = asked.host.and_then(|host| self.host(host)).ok_or(Denied::Host)?;
        let area = area(asked)?;
        let is_navigation = area == Area::Page && asked.method == "GET" && asked.mode == Some("navigate");
        match asked.site {
            None | Some("same-origin" | "none") => {}
            // A link on another page may lead to ours. It gets no data, and sends no cookie.
            Some("same-site" | "cross-site") if is_navigation => {}
            Some(_) => return Err(Denied::Site),
        }
        if asked.origin.is_some_and(|origin| !host.is_origin(origin)) {
            return Err(Denied::Origin);
        }
        if area == Area::Page {
            return Ok(area);
        }
        let is_proven = asked.origin.is_some() || asked.site == Some("same-origin");
        let must_prove = matches!(area, Area::Enter | Area::Stream | Area::Write);
        if must_prove && !is_proven && asked.credential != Credential::Bearer {
            return Err(Denied::Unproven);
        }
        if area != Area::Enter && asked.credential == Credential::None {
            return Err(Denied::Credential);
        }
        // A server on another port of this host is sent the cookie too. It cannot read the key.
        if area != Area::Enter && asked.credential == Credential::Cookie {
            return Err(Denied::Key);
        }
        if area == Area::Write && !self.control {
            return Err(Denied::ReadOnly);
        }
        Ok(area)
    }

    /// The one of our hosts that this is.
    pub(super) fn host(&self, authority: &str) -> Option<Host> {
        let authority = authority.to_ascii_lowercase();
        if let Some(host) = self.hosts.iter().find(|host| host.authority == authority) {
            return Some(host.clone());
        }
        let (address, port) = authority.rsplit_once(':')?;
        let address = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
        let is_ours = self.any_address.is_some_and(|ours| port.parse() == Ok(ours));
        let is_address = address.parse::<IpAddr>().is_ok();
        (is_ours && is_address).then_some(Host { authority, https: false })
    }
}

impl Host {
    fn is_origin(&self, origin: &str) -> bool {
        let scheme = if self.https { "https" } else { "http" };
        origin.to_ascii_lowercase() == format!("{scheme}://{}", self.authority)
    }
}

fn area(asked: &Asked<'_>) -> Result<Area, Denied> {
    let is_data = asked.path == METRICS || asked.path.starts_with("/api/") || asked.path == "/api";
    let area = match (asked.method, asked.path) {
        ("GET", EVENTS) => Area::Stream,
        ("POST", ENTER) => Area::Enter,
        (_, EVENTS | ENTER) => return Err(Denied::Method),
        ("GET" | "HEAD", _) if is_data => Area::Read,
        ("POST", _) if is_data && asked.path != METRICS => Area::Write,
        ("GET" | "HEAD", _) => Area::Page,
        _ => return Err(Denied::Method),
    };
    Ok(area)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(control: bool) -> Guard {
        let ours = |authority: &str, https| Host { authority: authority.to_owned(), https };
        Guard {
            hosts: vec![
                ours("127.0.0.1:7486", false),
                ours("localhost:7486", false),
                ours("piton.example", true),
            ],
            any_address: None,
            control,
        }
    }

    /// What the page itself sends, with its cookie and its key, from a browser that says everything.
    const OWN: Asked<'_> = Asked {
        method: "GET",
        path: "/api/runs",
        host: Some("127.0.0.1:7486"),
        origin: None,
        site: Some("same-origin"),
        mode: Some("cors"),
        credential: Credential::Page,
    };
    const WRITE: Asked<'_> =
        Asked { method: "POST", path: "/api/runs/r/stop", origin: Some("http://127.0.0.1:7486"), ..OWN };
    const STREAM: Asked<'_> = Asked { path: "/api/events", ..OWN };

    #[test]
    fn the_page_itself_passes() {
        let guard = guard(true);
        for (asked, area) in [
            (OWN, Area::Read),
            (Asked { method: "HEAD", ..OWN }, Area::Read),
            (Asked { host: Some("LOCALHOST:7486"), ..OWN }, Area::Read),
            (Asked { path: "/metrics", ..OWN }, Area::Read),
            (STREAM, Area::Stream),
            (WRITE, Area::Write),
            // A browser that says nothing about sites, as over plain HTTP from another machine.
            (Asked { site: None, mode: None, ..WRITE }, Area::Write),
            (Asked { site: None, mode: None, ..OWN }, Area::Read),
            (
                Asked { host: Some("piton.example"), origin: Some("https://piton.example"), ..WRITE },
                Area::Write,
            ),
            (Asked { path: "/api/enter", credential: Credential::None, ..WRITE }, Area::Enter),
        ] {
            assert_eq!(guard.check(&asked), Ok(area), "{asked:?}");
        }
    }

    #[test]
    fn the_page_without_data_is_for_everybody_who_names_it_right() {
        let guard = guard(false);
        let page = Asked { path: "/", credential: Credential::None, ..OWN };
        let link = Asked { site: Some("cross-site"), mode: Some("navigate"), ..page };
        for asked in [page, link, Asked { site: Some("none"), ..page }, Asked { path: "/app.js", ..page }] {
            assert_eq!(guard.check(&asked), Ok(Area::Page), "{asked:?}");
        }
        let used_elsewhere =
            Asked { path: "/app.js", site: Some("cross-site"), mode: Some("no-cors"), ..page };
        assert_eq!(guard.check(&used_elsewhere), Err(Denied::Site));
    }

    #[test]
    fn a_program_with_the_token_needs_no_browser() {
        let guard = guard(true);
        let bare = Asked { origin: None, site: None, mode: None, credential: Credential::Bearer, ..OWN };
        assert_eq!(guard.check(&bare), Ok(Area::Read));
        assert_eq!(guard.check(&Asked { path: "/api/events", ..bare }), Ok(Area::Stream));
        assert_eq!(guard.check(&Asked { method: "POST", ..bare }), Ok(Area::Write));
        let from_a_page = Asked { origin: Some("http://evil.example"), method: "POST", ..bare };
        assert_eq!(guard.check(&from_a_page), Err(Denied::Origin));
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        let guard = guard(true);
        for (asked, why) in [
            // No right.
            (Asked { credential: Credential::None, ..OWN }, Denied::Credential),
            (Asked { credential: Credential::None, ..WRITE }, Denied::Credential),
            (Asked { credential: Credential::None, ..STREAM }, Denied::Credential),
            (Asked { path: "/metrics", credential: Credential::None, ..OWN }, Denied::Credential),
            // The cookie alone: a server on another port of this host has it too.
            (Asked { credential: Credential::Cookie, ..OWN }, Denied::Key),
            (Asked { credential: Credential::Cookie, ..WRITE }, Denied::Key),
            (Asked { credential: Credential::Cookie, ..STREAM }, Denied::Key),
            (Asked { path: "/metrics", credential: Credential::Cookie, ..OWN }, Denied::Key),
            // A host that is not ours: rebinding, another port, none, several.
            (Asked { host: Some("evil.example:7486"), ..OWN }, Denied::Host),
            (Asked { host: Some("evil.example"), path: "/", ..OWN }, Denied::Host),
            (Asked { host: Some("127.0.0.1"), ..OWN }, Denied::Host),
            (Asked { host: Some("127.0.0.1:80"), ..OWN }, Denied::Host),
            (Asked { host: Some("127.0.0.1:7486.evil.example"), ..OWN }, Denied::Host),
            (Asked { host: Some("localhost.:7486"), ..OWN }, Denied::Host),
            (Asked { host: Some("10.0.0.1:7486"), ..OWN }, Denied::Host),
            (Asked { host: None, ..OWN }, Denied::Host),
            // Another origin.
            (Asked { origin: Some("http://evil.example"), ..WRITE }, Denied::Origin),
            (Asked { origin: Some("null"), ..WRITE }, Denied::Origin),
            (Asked { origin: Some("https://127.0.0.1:7486"), ..WRITE }, Denied::Origin),
            (Asked { origin: Some("http://127.0.0.1:7487"), ..WRITE }, Denied::Origin),
            (Asked { origin: Some("http://127.0.0.1:7486/"), ..WRITE }, Denied::Origin),
            // One of our names is not another one's origin.
            (Asked { origin: Some("http://localhost:7486"), ..WRITE }, Denied::Origin),
            (Asked { origin: Some("http://evil.example"), ..OWN }, Denied::Origin),
            (Asked { origin: Some("http://evil.example"), path: "/app.js", ..OWN }, Denied::Origin),
            // Another site.
            (Asked { site: Some("cross-site"), ..OWN }, Denied::Site),
            (Asked { site: Some("same-site"), ..WRITE }, Denied::Site),
            (Asked { site: Some("cross-site"), mode: Some("navigate"), ..OWN }, Denied::Site),
            (Asked { site: Some("cross-site"), ..STREAM }, Denied::Site),
            (Asked { site: Some("what"), ..OWN }, Denied::Site),
            // Nothing says where it comes from, and the cookie comes by itself.
            (Asked { origin: None, site: None, ..WRITE }, Denied::Unproven),
            (Asked { origin: None, site: Some("none"), ..WRITE }, Denied::Unproven),
            (Asked { site: None, ..STREAM }, Denied::Unproven),
            (Asked { site: None, origin: None, path: "/api/enter", ..WRITE }, Denied::Unproven),
            // Other methods.
            (Asked { method: "DELETE", ..OWN }, Denied::Method),
            (Asked { method: "OPTIONS", ..OWN }, Denied::Method),
            (Asked { method: "POST", path: "/", ..WRITE }, Denied::Method),
            (Asked { method: "POST", path: "/metrics", ..WRITE }, Denied::Method),
            (Asked { method: "POST", path: "/api/events", ..WRITE }, Denied::Method),
            (Asked { path: "/api/enter", ..OWN }, Denied::Method),
        ] {
            assert_eq!(guard.check(&asked), Err(why), "{asked:?}");
        }
    }

    #[test]
    fn a_page_that_only_reads_changes_nothing() {
        assert_eq!(guard(false).check(&WRITE), Err(Denied::ReadOnly));
        let bearer = Asked { credential: Credential::Bearer, ..WRITE };
        assert_eq!(guard(false).check(&bearer), Err(Denied::ReadOnly));
        assert_eq!(guard(false).check(&OWN), Ok(Area::Read));
    }

    #[test]
    fn on_every_address_each_address_is_ours_and_no_name() {
        let guard = Guard { any_address: Some(7486), ..guard(false) };
        for (host, is_ours) in [
            ("10.0.0.1:7486", true),
            ("[2001:db8::1]:7486", true),
            ("10.0.0.1:80", false),
            ("10.0.0.1", false),
            ("evil.example:7486", false),
            ("10.0.0.1.evil.example:7486", false),
            (":7486", false),
        ] {
            assert_eq!(guard.check(&Asked { host: Some(host), ..OWN }).is_ok(), is_ours, "{host}");
        }
    }
}
