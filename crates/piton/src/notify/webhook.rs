//! A message to a web server. Its URL is often a secret: nothing that is said holds more of it than the host.

use std::time::Duration;

use ureq::Agent;

/// A service that takes messages takes them at once.
const LIMIT: Duration = Duration::from_secs(10);

/// A redirect is not followed: the message is for the server that the person named.
pub(super) fn post(url: &str, body: &str) -> Result<(), String> {
    let config = Agent::config_builder()
        .timeout_global(Some(LIMIT))
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("piton/", env!("CARGO_PKG_VERSION")))
        .build();
    let request = Agent::new_with_config(config).post(url).header("content-type", "application/json");
    let (host, status) = (host(url), request.send(body).map(|response| response.status().as_u16()));
    match status {
        Ok(200..=299) => Ok(()),
        Ok(status @ 300..=399) => Err(format!("{host} redirects ({status}), which Piton does not follow")),
        Ok(status) => Err(format!("{host} answered with status {status}")),
        Err(ureq::Error::Io(error)) => Err(format!("{host}: {error}")),
        Err(ureq::Error::Timeout(_)) => Err(format!("{host} did not answer within {}s", LIMIT.as_secs())),
        Err(ureq::Error::HostNotFound) => Err(format!("there is no host {host}")),
        Err(ureq::Error::Rustls(error)) => Err(format!("{host}: {error}")),
        // Others may show the URL.
        Err(_) => Err(format!("{host} could not be reached")),
    }
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
