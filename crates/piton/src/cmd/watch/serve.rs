//! `piton serve`: the page in a browser.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use camino::Utf8PathBuf;
use clap::Args;

use crate::failure::{Exit, Outcome};
use crate::runs::{attempt, find};
use crate::serve::{self, Options, PORT};

#[derive(Debug, Args)]
#[command(after_help = "Example: piton serve --allow-control\n\
    From another machine: ssh -L 7486:127.0.0.1:7486 HOST, and open the address that is printed there.")]
pub(crate) struct ServeArgs {
    /// Let the page answer, retry, skip, unblock, raise and stop
    #[arg(long)]
    pub allow_control: bool,
    /// The address or the port to listen on [default: 127.0.0.1:7486, or another port if that is taken]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub listen: Option<SocketAddr>,
    /// Another name under which the page is reached, for example through a proxy with TLS
    #[arg(long, value_name = "NAME")]
    pub public_host: Vec<String>,
    /// Ask for the token in this file, instead of a new one
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<Utf8PathBuf>,
    /// Ask for the password in this file
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<Utf8PathBuf>,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let with_port = text.replace("localhost", "127.0.0.1").parse::<SocketAddr>();
    let alone = || text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT));
    let port = || text.parse::<u16>().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    with_port.or_else(|_| alone()).or_else(|_| port()).map_err(|_| {
        "an address is a port or an IP address, or both, such as 8080, 0.0.0.0 or 127.0.0.1:8080".to_owned()
    })
}

pub(crate) fn serve(args: &ServeArgs) -> Outcome<Exit> {
    attempt::outside_of_attempts()?;
    let usual = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);
    serve::start(Options {
        project: find::project(args.project_path.as_deref())?,
        listen: args.listen.unwrap_or(usual),
        any_port: args.listen.is_none(),
        public_hosts: args.public_host.clone(),
        allow_control: args.allow_control,
        token_file: args.token_file.clone(),
        password_file: args.password_file.clone(),
    })
}
