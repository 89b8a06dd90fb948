//! Requests to the REST interface of an engine, behind a trait, so that tests answer with what was recorded.
//!
//! Bounds: the caller gives each request its time, [`REQUEST_MAX`] at most; [`BODY_BYTES_MAX`] for an answer.

use std::fmt;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::bounds::{REQUEST_MAX, ROUND_MAX};
use crate::steering::Unobserved;

/// Largest number of bytes of an answer. A job of a thousand subtasks has about 1 MB.
pub const BODY_BYTES_MAX: u64 = 16 << 20;

/// Greatest number of redirections that a request follows. A JobManager that waits sends requests to the one that
/// leads.
const REDIRECTIONS_MAX: u32 = 2;

/// Greatest number of characters of an answer that a message repeats.
const TOLD_MAX: usize = 200;

/// A way to ask an engine.
pub trait Transport {
    /// Returns the body of the answer to a GET request. `path` begins with `/`.
    ///
    /// # Errors
    /// If there is no answer within `longest`, if it is too long, or if it tells of a failure.
    fn get(&mut self, path: &str, longest: Duration) -> Result<String, Unobserved>;
}

/// Requests by HTTP, without TLS.
pub struct Http {
    agent: ureq::Agent,
    base: String,
    /// Value of the header `Authorization`, if there is one.
    authorization: Option<String>,
}

impl fmt::Debug for Http {
    /// Leaves the token out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("base", &self.base).finish_non_exhaustive()
    }
}

/// Error: the address or the token of a REST interface cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadAddress {
    /// The address asks for TLS.
    Tls(String),
    /// The address is none of HTTP.
    Unknown(String),
    /// The token has characters that a header cannot have. The token is not repeated.
    Token,
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadAddress::Tls(address) => write!(
                f,
                "`{address}` needs TLS, which this program does not have; \
                 give the http:// address of a proxy on this machine that adds it"
            ),
            BadAddress::Unknown(address) => {
                write!(
                    f,
                    "`{address}` is no address of a REST interface; give one such as http://127.0.0.1:8081"
                )
            }
            BadAddress::Token => {
                f.write_str("the token is empty or has characters that a header of HTTP cannot have")
            }
        }
    }
}

impl std::error::Error for BadAddress {}

impl Http {
    /// Makes the requests to the REST interface at an address such as `http://127.0.0.1:8081`; `http://` may be left
    /// out. A token is sent with each request as `Authorization: Bearer TOKEN`. It is not encrypted, so the address
    /// should be on this machine.
    ///
    /// # Errors
    /// [`BadAddress`].
    pub fn new(address: &str, token: Option<&str>) -> Result<Self, BadAddress> {
        let host = match address.split_once("://") {
            Some(("http", host)) => host,
            Some(("https", _)) => return Err(BadAddress::Tls(address.to_owned())),
            Some(_) => return Err(BadAddress::Unknown(address.to_owned())),
            None => address,
        };
        let host = host.trim_end_matches('/');
        let is_plain = |character: char| character.is_ascii_graphic() && !"?#@\\\"<>".contains(character);
        if host.is_empty() || host.starts_with('/') || !host.chars().all(is_plain) {
            return Err(BadAddress::Unknown(address.to_owned()));
        }
        if token.is_some_and(|token| token.is_empty() || !token.chars().all(|c| c.is_ascii_graphic())) {
            return Err(BadAddress::Token);
        }
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(REDIRECTIONS_MAX)
            // A proxy from the environment is for other addresses, and would delay each round.
            .proxy(None)
            .build();
        let authorization = token.map(|token| format!("Bearer {token}"));
        Ok(Http { agent: config.into(), base: format!("http://{host}"), authorization })
    }
}

impl Transport for Http {
    fn get(&mut self, path: &str, longest: Duration) -> Result<String, Unobserved> {
        let url = format!("{}{path}", self.base);
        let told = |error: &dyn fmt::Display| Unobserved(format!("no answer from {}: {error}", short(&url)));
        let mut request = self.agent.get(&url).config().timeout_global(Some(longest)).build();
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let mut response = request.call().map_err(|error| told(&error))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(BODY_BYTES_MAX).read_to_string();
        let body = body.map_err(|error| told(&error))?;
        if status == 200 { Ok(body) } else { Err(refused(&url, status, &body)) }
    }
}

/// Returns the error that an answer tells which is no success: its status, and the first line of its message.
fn refused(url: &str, status: u16, body: &str) -> Unobserved {
    let answer: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let message = answer.as_ref().and_then(|answer| answer["errors"][0].as_str()).unwrap_or(body);
    let line = message.lines().next().unwrap_or_default();
    let hint = match status {
        401 | 403 => "; give a token that it takes",
        _ => "",
    };
    Unobserved(format!("{} answers {status}: {}{hint}", short(url), short(line)))
}

/// Asks, and waits for the answer until the end of the round at most.
///
/// # Errors
/// As for [`Transport::get`], and if the round is over.
pub(crate) fn get(
    transport: &mut impl Transport,
    path: &str,
    deadline: Instant,
) -> Result<String, Unobserved> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Unobserved(format!("the engine took longer than {} s to answer", ROUND_MAX.as_secs())));
    }
    transport.get(path, REQUEST_MAX.min(left))
}

/// Reads an answer that is JSON. `path` is for messages.
///
/// # Errors
/// If the answer is none, or lacks what is asked for.
pub(crate) fn read<T: DeserializeOwned>(path: &str, body: &str) -> Result<T, Unobserved> {
    let told = |error| Unobserved(format!("the answer to {} is not understood: {error}", short(path)));
    serde_json::from_str(body).map_err(told)
}

/// Returns the beginning of a text, for a message.
pub(crate) fn short(text: &str) -> String {
    text.chars()
        .take(TOLD_MAX)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
}

/// Returns a text in the form that it has in the query of an address: RFC 3986, section 2.1.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(byte.into());
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Answers one request with this text, and returns the address and the request.
    fn server(answer: &'static [u8]) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serve = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                request.push(byte[0]);
            }
            let _is_written = stream.write_all(answer);
            if answer.is_empty() {
                // The client gives up first, and closes the connection.
                let _end = stream.read(&mut [0]);
            }
            String::from_utf8(request).unwrap()
        };
        (address, thread::spawn(serve))
    }

    const LONGEST: Duration = Duration::from_secs(5);

    #[test]
    fn an_answer_is_returned_and_the_token_is_sent() {
        let (address, asked) = server(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
        let mut http = Http::new(&format!("http://{address}/"), Some("s3cret")).unwrap();
        assert!(!format!("{http:?}").contains("s3cret"));
        assert_eq!(http.get("/jobs", LONGEST), Ok("{}".to_owned()));
        let asked = asked.join().unwrap();
        assert!(asked.starts_with("GET /jobs HTTP/1.1\r\n"), "{asked}");
        assert!(asked.to_lowercase().contains("\r\nauthorization: bearer s3cret\r\n"), "{asked}");
    }

    /// A failure is told with the first line of the stack trace that Flink sends.
    #[test]
    fn a_failure_is_told_in_one_line() {
        let answer = b"HTTP/1.1 404 Not Found\r\ncontent-length: 46\r\n\r\n\
                       {\"errors\":[\"Job f not found\\n\\tat java.lang\"]}";
        let (address, asked) = server(answer);
        let error = Http::new(&address, None).unwrap().get("/jobs/f", LONGEST).unwrap_err();
        assert_eq!(error.0, format!("http://{address}/jobs/f answers 404: Job f not found"));
        asked.join().unwrap();
        let refused = refused("http://a/jobs", 401, "no");
        assert_eq!(refused.0, "http://a/jobs answers 401: no; give a token that it takes");
    }

    /// A server that says nothing, one that is not there and one that never ends are errors within the time.
    #[test]
    fn an_answer_that_does_not_come_is_an_error() {
        let (address, asked) = server(b"");
        let error = Http::new(&address, None).unwrap().get("/jobs", Duration::from_millis(50)).unwrap_err();
        assert!(error.0.contains("timeout"), "{error}");
        asked.join().unwrap();
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let error = Http::new(&closed, None).unwrap().get("/jobs", LONGEST).unwrap_err();
        assert!(error.0.starts_with(&format!("no answer from http://{closed}/jobs: ")), "{error}");
    }

    #[test]
    fn a_body_beyond_the_bound_is_an_error() {
        let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        answer.resize(answer.len() + BODY_BYTES_MAX as usize + 1, b'x');
        let (address, asked) = server(answer.leak());
        assert!(Http::new(&address, None).unwrap().get("/jobs", LONGEST).is_err());
        asked.join().unwrap();
    }

    #[test]
    fn addresses_that_cannot_be_used_are_refused() {
        let unknown = |address: &str| BadAddress::Unknown(address.to_owned());
        for address in ["", "http://", "ftp://a", "http:///jobs", "a b", "http://a?b", "http://user@a", "a\n"]
        {
            assert_eq!(Http::new(address, None).unwrap_err(), unknown(address));
        }
        let tls = Http::new("https://a:8081", None).unwrap_err();
        assert!(tls.to_string().contains("`https://a:8081` needs TLS"), "{tls}");
        for token in ["", "a b", "a\r\nX: y", "é"] {
            assert_eq!(Http::new("http://a", Some(token)).unwrap_err(), BadAddress::Token, "{token}");
        }
    }

    #[test]
    fn names_are_encoded_for_a_query() {
        assert_eq!(encoded("0.Source__a[1]&b=%.q"), "0.Source__a%5B1%5D%26b%3D%25.q");
        assert_eq!(encoded("ä,\""), "%C3%A4%2C%22");
    }
}
