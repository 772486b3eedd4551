//! The secrets that open the page: a token in the first address, or a password; then a cookie together with a key.
//!
//! Browsers send a cookie to every port of a host, so another server there can collect it and use it. The key is only in
//! the page's own memory and in a header that the page writes.

use std::collections::HashMap;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use camino::Utf8Path;

use crate::failure::{Failure, Outcome};
use crate::serve::guard::Credential;

/// Shorter ones can be guessed.
const SHORTEST_TOKEN: usize = 16;
const SHORTEST_PASSWORD: usize = 8;
/// A person who mistypes does not need more, and a program that guesses gets nowhere with it.
const TRIES: u32 = 10;
const TRIES_PER: Duration = Duration::from_secs(60);
/// Machines with wrong passwords that are remembered. Others wait: together they try no more passwords than this many can.
const PEERS: usize = 256;

#[derive(Debug)]
pub(super) struct Keys {
    /// In the address that is opened first, or in a header of programs.
    pub token: String,
    password: Option<String>,
    /// The value of the cookie: it opens nothing once the server has ended.
    session: String,
    cookie: String,
    /// What the page sends beside the cookie. It ends with the server, too.
    pub key: String,
}

impl Keys {
    /// Cookies do not know ports, so that the port is part of the cookie's name.
    pub(super) fn new(token: Option<String>, password: Option<String>, port: u16) -> Outcome<Keys> {
        let token = token.map_or_else(random, Ok)?;
        Ok(Keys { token, password, session: random()?, cookie: format!("piton_{port}"), key: random()? })
    }

    pub(super) fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// What the headers of a request are worth.
    pub(super) fn credential<'h>(
        &self,
        authorization: Option<&str>,
        mut cookies: impl Iterator<Item = &'h str>,
        key: Option<&str>,
    ) -> Credential {
        let bearer = authorization.and_then(|value| value.strip_prefix("Bearer "));
        if bearer.is_some_and(|token| is_same(token.trim(), &self.token)) {
            return Credential::Bearer;
        }
        let is_ours = |pair: &str| {
            pair.trim()
                .split_once('=')
                .is_some_and(|(name, value)| name == self.cookie && is_same(value, &self.session))
        };
        if !cookies.any(|header| header.split(';').any(is_ours)) {
            return Credential::None;
        }
        match key.is_some_and(|key| is_same(key, &self.key)) {
            true => Credential::Page,
            false => Credential::Cookie,
        }
    }

    pub(super) fn opens(&self, token: &str) -> bool {
        is_same(token, &self.token)
    }

    pub(super) fn is_password(&self, given: &str) -> bool {
        self.password.as_ref().is_some_and(|password| is_same(given, password))
    }

    /// The header that sets the cookie.
    pub(super) fn set_cookie(&self, https: bool) -> String {
        let secure = if https { "; Secure" } else { "" };
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie, self.session)
    }
}

/// Why a password does not open the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Wrong,
    /// It was not looked at: there were too many wrong ones.
    Wait(Duration),
}

/// Wrong passwords, by who sent them: one who guesses does not keep the others out.
#[derive(Debug, Default)]
pub(super) struct Tries(HashMap<IpAddr, Wrong>);

#[derive(Debug)]
struct Wrong {
    since: Instant,
    count: u32,
}

impl Tries {
    pub(super) fn attempt(
        &mut self,
        peer: IpAddr,
        now: Instant,
        is_right: impl FnOnce() -> bool,
    ) -> Result<(), Refused> {
        let peer = network(peer);
        self.0.retain(|_, wrong| now.duration_since(wrong.since) < TRIES_PER);
        let left = |wrong: &Wrong| TRIES_PER.saturating_sub(now.duration_since(wrong.since));
        match self.0.get(&peer) {
            Some(wrong) if wrong.count >= TRIES => return Err(Refused::Wait(left(wrong))),
            None if self.0.len() >= PEERS => {
                return Err(Refused::Wait(self.0.values().map(left).min().unwrap_or(TRIES_PER)));
            }
            _ => {}
        }
        if is_right() {
            return Ok(());
        }
        self.0.entry(peer).or_insert(Wrong { since: now, count: 0 }).count += 1;
        Err(Refused::Wrong)
    }
}

/// One machine has as many addresses as it likes in its own part of IPv6.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// 256 bits from the operating system, in hexadecimal.
fn random() -> Outcome<String> {
    let mut bytes = [0; 32];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(Failure::io("cannot read /dev/urandom"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The time that it takes says nothing about where they differ.
fn is_same(given: &str, secret: &str) -> bool {
    let (given, secret) = (given.as_bytes(), secret.as_bytes());
    if given.len() != secret.len() || secret.is_empty() {
        return false;
    }
    let differences = given.iter().zip(secret).fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
    differences == 0
}

/// The token in a file: its first line.
pub(super) fn token_in(path: &Utf8Path) -> Outcome<String> {
    let token = secret_in(path, "token", SHORTEST_TOKEN)?;
    match token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)) {
        true => Ok(token),
        false => Err(Failure::usage(format!(
            "the token in {path} may have letters, digits and -_.~ only, since it is part of an address"
        ))),
    }
}

pub(super) fn password_in(path: &Utf8Path) -> Outcome<String> {
    secret_in(path, "password", SHORTEST_PASSWORD)
}

fn secret_in(path: &Utf8Path, what: &str, shortest: usize) -> Outcome<String> {
    let text = std::fs::read_to_string(path).map_err(Failure::io(format!("cannot read {path}")))?;
    let secret = text.lines().next().unwrap_or_default().trim().to_owned();
    match secret.chars().count() < shortest {
        true => Err(Failure::usage(format!("the {what} in {path} is shorter than {shortest} characters"))),
        false => Ok(secret),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        Keys::new(None, Some("under the snow".to_owned()), 7486).expect("random numbers")
    }

    #[test]
    fn the_cookie_and_the_token_open_and_nothing_like_them() {
        let keys = keys();
        let cookie = keys.set_cookie(false);
        let pair = cookie.split(';').next().expect("a pair");
        let several = format!("theme=dark; {pair}; a=b");
        let none = || std::iter::empty();
        let with_key = |key: Option<&str>| keys.credential(None, [several.as_str()].into_iter(), key);
        assert_eq!(with_key(Some(&keys.key)), Credential::Page);
        for wrong in [None, Some(""), Some(keys.token.as_str()), Some(&keys.key[1..])] {
            assert_eq!(with_key(wrong), Credential::Cookie, "{wrong:?}");
        }
        assert_eq!(keys.credential(None, none(), Some(&keys.key)), Credential::None, "the key alone");
        assert_eq!(
            keys.credential(Some(&format!("Bearer {}", keys.token)), none(), None),
            Credential::Bearer
        );
        let value = pair.split_once('=').expect("a value").1;
        let (cut, other_port) = (format!("piton_7486={}", &value[1..]), format!("piton_7487={value}"));
        for wrong in [cut.as_str(), other_port.as_str(), "piton_7486=", "piton_7486", value] {
            assert_eq!(
                keys.credential(None, [wrong].into_iter(), Some(&keys.key)),
                Credential::None,
                "{wrong}"
            );
        }
        for wrong in
            ["Bearer", "Bearer ", &keys.token, &format!("Basic {}", keys.token), &format!("Bearer {value}")]
        {
            assert_eq!(keys.credential(Some(wrong), none(), None), Credential::None, "{wrong}");
        }
        assert!(keys.opens(&keys.token) && !keys.opens("") && !keys.opens(value));
        assert!(keys.is_password("under the snow") && !keys.is_password("under the sno"));
    }

    #[test]
    fn secrets_are_long_differ_and_the_cookie_is_strict() {
        let (one, other) = (keys(), keys());
        assert_eq!(one.token.len(), 64);
        assert!(one.token != other.token && one.session != other.session && one.key != other.key);
        assert!(one.token != one.session && one.token != one.key && one.session != one.key);
        assert!(one.set_cookie(false).ends_with("; Path=/; HttpOnly; SameSite=Strict"));
        assert!(one.set_cookie(true).ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"));
    }

    #[test]
    fn a_password_cannot_be_guessed_by_trying() {
        let (mut tries, now) = (Tries::default(), Instant::now());
        let peer = |text: &str| text.parse::<IpAddr>().expect("an address");
        let mut guess = |from: &str, is_right: bool, now| tries.attempt(peer(from), now, || is_right);
        for _ in 0..TRIES {
            assert_eq!(guess("2001:db8::1", true, now), Ok(()), "the right one does not count");
            assert_eq!(guess("2001:db8::1", false, now), Err(Refused::Wrong));
        }
        let later = now + TRIES_PER / 4;
        assert_eq!(guess("2001:db8::1", true, later), Err(Refused::Wait(TRIES_PER * 3 / 4)));
        assert_eq!(guess("2001:db8::2", true, later), Err(Refused::Wait(TRIES_PER * 3 / 4)), "a neighbour");
        assert_eq!(guess("10.0.0.1", true, later), Ok(()), "somebody else");
        assert_eq!(guess("2001:db8::1", true, now + TRIES_PER), Ok(()));
        // Many machines that guess are together no faster.
        let later = now + TRIES_PER * 2;
        let many: Vec<String> = (0..2 * PEERS).map(|n| format!("10.{}.{}.1", n / 256, n % 256)).collect();
        let looked_at = many.iter().filter(|from| guess(from, false, later) == Err(Refused::Wrong));
        assert_eq!(looked_at.count(), PEERS);
        assert_eq!(guess(&many[0], true, later), Ok(()));
    }

    #[test]
    fn weak_secrets_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = camino::Utf8PathBuf::from_path_buf(folder.path().join("secret")).expect("UTF-8");
        for (text, is_token, is_password) in [
            ("", false, false),
            ("short\n", false, false),
            ("0123456789abcdef\n", true, true),
            ("0123456789 abcdef&", false, true),
        ] {
            std::fs::write(&path, text).expect("a file");
            assert_eq!(token_in(&path).is_ok(), is_token, "{text:?}");
            assert_eq!(password_in(&path).is_ok(), is_password, "{text:?}");
        }
    }
}
