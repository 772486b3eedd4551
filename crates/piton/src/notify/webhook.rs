//! A message to a web server. Its URL is often a secret: nothing that is said holds more of it than the host.

use std::io::ErrorKind;
use std::time::Duration;

use ureq::Agent;

use crate::notify::unsent::Unsent;

/// A service that takes messages takes them at once.
const LIMIT: Duration = Duration::from_secs(10);

/// A redirect is not followed: the message is for the server that the person named.
pub(super) fn post(url: &str, body: &str) -> Result<(), Unsent> {
    let config = Agent::config_builder()
        .timeout_global(Some(LIMIT))
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("piton/", env!("CARGO_PKG_VERSION")))
        .build();
    let request = Agent::new_with_config(config).post(url).header("content-type", "application/json");
    let (host, status) = (host(url), request.send(body).map(|response| response.status().as_u16()));
    Err(match status {
        Ok(200..=299) => return Ok(()),
        Ok(status @ 300..=399) => {
            Unsent::certainly(format!("{host} redirects ({status}), which Piton does not follow"))
        }
        // A server behind it may have taken the message.
        Ok(status @ (502 | 504)) => Unsent::perhaps(format!("{host} answered with status {status}")),
        Ok(status) => Unsent::certainly(format!("{host} answered with status {status}")),
        Err(ureq::Error::Io(error)) if error.kind() == ErrorKind::ConnectionRefused => {
            Unsent::certainly(format!("{host}: {error}"))
        }
        Err(ureq::Error::Io(error)) => Unsent::perhaps(format!("{host}: {error}")),
        Err(ureq::Error::Timeout(_)) => {
            Unsent::perhaps(format!("{host} did not answer within {}s", LIMIT.as_secs()))
        }
        Err(ureq::Error::HostNotFound) => Unsent::certainly(format!("there is no host {host}")),
        Err(ureq::Error::Rustls(error)) => Unsent::perhaps(format!("{host}: {error}")),
        // Others may show the URL.
        Err(_) => Unsent::perhaps(format!("{host} could not be reached")),
    })
}

/// `https://name:key@example.org:8080/secret` → `example.org:8080`
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_of_a_url_is_said() {
        for url in
            ["https://example.org:1/a/key", "http://me:key@example.org:1?key", "https://example.org:1#key"]
        {
            assert_eq!(host(url), "example.org:1");
        }
    }
}
