//! Encrypted connections, by rustls. The certificate and the name of the server are always verified.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use camino::Utf8PathBuf;
use sha2::{Digest, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Stream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};

use super::server::NotAServer;
use super::settings::Trust;
use super::surroundings::Content;

/// How connections are encrypted, if they are.
#[derive(Clone, Default)]
pub(super) struct Tls(Option<Arc<ClientConfig>>);

/// One handshake that is to come.
pub(super) struct Handshake {
    config: Option<Arc<ClientConfig>>,
    host: String,
}

/// Why a server is not trusted, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotTrusted(String);

impl Tls {
    pub(super) fn new(trust: &Trust) -> Result<Tls, NotAServer> {
        let mut roots = RootCertStore::empty();
        match &trust.roots {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(file) => {
                let (usable, _) = roots.add_parsable_certificates(certificates(file)?);
                if usable == 0 {
                    return Err(unusable(&file.0, "certificate"));
                }
            }
        }
        // Not the provider of the process: nobody else has a say in this.
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| NotAServer::Form)?
            .with_root_certificates(roots);
        let config = match &trust.own {
            None => builder.with_no_client_auth(),
            Some([chain, key]) => {
                let bad_key = || unusable(&key.0, "private key");
                let secret = PrivateKeyDer::from_pem_slice(&key.1.bytes).map_err(|_| bad_key())?;
                builder.with_client_auth_cert(certificates(chain)?, secret).map_err(|_| bad_key())?
            }
        };
        Ok(Tls(Some(Arc::new(config))))
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }
}

/// Every item of a file. A file without one is an error.
fn certificates(
    (path, content): &(Utf8PathBuf, Content),
) -> Result<Vec<CertificateDer<'static>>, NotAServer> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content.bytes).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or_else(|| unusable(path, "certificate"))
}

fn unusable(path: &Utf8PathBuf, what: &'static str) -> NotAServer {
    NotAServer::Unusable { file: path.clone(), what }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Encrypted<S>;
    type TlsConnect = Handshake;
    type Error = NotTrusted;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, NotTrusted> {
        // Asked for every connection, encrypted or not.
        Ok(Handshake { config: self.0.clone(), host: host.to_owned() })
    }
}

type Shaking<S> = Pin<Box<dyn Future<Output = Result<Encrypted<S>, Box<dyn Error + Send + Sync>>> + Send>>;

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Encrypted<S>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Shaking<S>;

    fn connect(self, stream: S) -> Shaking<S> {
        Box::pin(async move {
            let name = ServerName::try_from(self.host.clone());
            let (Some(config), Ok(name)) = (self.config, name) else {
                return Err(NotTrusted(format!("`{}` cannot be the name of a server", self.host)).into());
            };
            match TlsConnector::from(config).connect(name, stream).await {
                Ok(stream) => Ok(Encrypted(stream)),
                Err(error) => Err(explained(error, &self.host)),
            }
        })
    }
}

/// A server that is not trusted is another matter than one that went away.
fn explained(error: io::Error, host: &str) -> Box<dyn Error + Send + Sync> {
    let known = error.get_ref().and_then(|inner| inner.downcast_ref());
    match known.map(|error: &rustls::Error| reason(error, host)) {
        Some(reason) => NotTrusted(reason).into(),
        None => error.into(),
    }
}

const UNKNOWN_AUTHORITY: &str = "its certificate is of an authority that is not trusted; if that is your own, write \
                                 sslrootcert=FILE into the URL, with the certificate of the authority";

const NOT_OFFERED: &str =
    "it offers no encryption; if you trust the network, write sslmode=disable into the URL";

fn reason(error: &rustls::Error, host: &str) -> String {
    let rustls::Error::InvalidCertificate(error) = error else { return error.to_string() };
    match error {
        // The latter if another authority of the same name is trusted.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => UNKNOWN_AUTHORITY.to_owned(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("its certificate does not name {host} (as subjectAltName); connect by a name that it has")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: compare the clocks".to_owned()
        }
        error if format!("{error:?}").contains("CaUsedAsEndEntity") => {
            "it shows the certificate of an authority; sign one for the server with that".to_owned()
        }
        error => error.to_string(),
    }
}

/// Why the server is not trusted, if that is what an error says.
pub(super) fn distrust(error: &tokio_postgres::Error) -> Option<String> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(NotTrusted(reason)) = error.downcast_ref() {
            return Some(reason.clone());
        }
        // The client library has no other sign of it.
        if error.to_string() == "server does not support TLS" {
            return Some(NOT_OFFERED.to_owned());
        }
        cause = error.source();
    }
    None
}

/// A connection that is encrypted.
pub(super) struct Encrypted<S>(Stream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        let shown = self.0.get_ref().1.peer_certificates().and_then(<[_]>::first);
        match shown.and_then(|certificate| digest(certificate)) {
            Some(digest) => ChannelBinding::tls_server_end_point(digest),
            None => ChannelBinding::none(),
        }
    }
}

/// The digest of a certificate by the hash function of its signature (RFC 5929), if that is a usual one.
fn digest(certificate: &[u8]) -> Option<Vec<u8>> {
    // A sequence of what is signed, the algorithm, and the signature.
    let (content, _) = element(certificate)?;
    let (_, rest) = element(content)?;
    let (algorithm, _) = element(rest)?;
    match element(algorithm)?.0 {
        // With RSA (1.2.840.113549.1.1) or ECDSA (1.2.840.10045.4.3).
        [42, 134, 72, 134, 247, 13, 1, 1, 11] | [42, 134, 72, 206, 61, 4, 3, 2] => {
            Some(Sha256::digest(certificate).to_vec())
        }
        [42, 134, 72, 134, 247, 13, 1, 1, 12] | [42, 134, 72, 206, 61, 4, 3, 3] => {
            Some(Sha384::digest(certificate).to_vec())
        }
        [42, 134, 72, 134, 247, 13, 1, 1, 13] | [42, 134, 72, 206, 61, 4, 3, 4] => {
            Some(Sha512::digest(certificate).to_vec())
        }
        _ => None,
    }
}

/// The content of the first element of some DER, and what follows it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let [_, length, rest @ ..] = der else { return None };
    let (length, rest) = match *length {
        short @ ..0x80 => (usize::from(short), rest),
        // Three bytes are more than a certificate has.
        long => {
            let (digits, rest) =
                rest.split_at_checked(usize::from(long & 0x7f)).filter(|(digits, _)| digits.len() < 4)?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
    };
    rest.split_at_checked(length)
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_bound_by_the_hash_of_its_signature() {
        let signed_with = |oid: &[u8]| {
            let wrap = |content: &[u8]| {
                let length = u8::try_from(content.len()).unwrap_or(0);
                [&[0x30, 0x82, 0, length][..], content].concat()
            };
            let algorithm = wrap(&[&[6, u8::try_from(oid.len()).unwrap_or(0)], oid, &[5, 0]].concat());
            wrap(&[wrap(b"what is signed"), algorithm, vec![3, 1, 0]].concat())
        };
        let cases: [(&[u8], usize); 4] = [
            (&[42, 134, 72, 134, 247, 13, 1, 1, 11], 32),
            (&[42, 134, 72, 206, 61, 4, 3, 3], 48),
            (&[42, 134, 72, 134, 247, 13, 1, 1, 13], 64),
            (&[43, 101, 112], 0),
        ];
        for (oid, length) in cases {
            let certificate = signed_with(oid);
            assert_eq!(digest(&certificate).map_or(0, |digest| digest.len()), length, "{oid:?}");
            for end in 0..certificate.len() - 3 {
                assert_eq!(digest(&certificate[..end]), None, "{oid:?} up to {end}");
            }
        }
        assert_eq!(element(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(element(&[0x30, 0xff]), None);
    }
}
