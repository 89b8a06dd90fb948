//! Requests to a service on the loopback interface, with JSON in both directions.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

/// Longest time that a request may take. The slowest is the first statement of a session, for which Flink
/// loads its planner.
const REQUEST_MAX: Duration = Duration::from_secs(60);
/// Largest number of bytes that a response may have.
const RESPONSE_BYTES_MAX: u64 = 64 << 20;

/// An HTTP client of one service.
#[derive(Clone)]
pub(crate) struct Client {
    agent: ureq::Agent,
    base: String,
}

/// The response of a service to a request.
pub(crate) struct Response {
    /// The HTTP status code of the response.
    pub(crate) status: u16,
    /// The body of the response; `Null` if the body is not JSON.
    pub(crate) body: Value,
}

impl Client {
    /// Creates a client of the service on this port of 127.0.0.1.
    pub(crate) fn of_port(port: u16) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(REQUEST_MAX))
            .http_status_as_error(false)
            // No proxy is used: the service is on this machine, and a proxy from the environment cannot reach
            // it.
            .proxy(None)
            .build();
        Self { agent: config.into(), base: format!("http://127.0.0.1:{port}") }
    }

    /// Sends a GET request to the service.
    ///
    /// # Errors
    ///
    /// No response in time, or a response that is too long.
    pub(crate) fn get(&self, path: &str) -> Result<Response> {
        let url = format!("{}{path}", self.base);
        let mut response = self.agent.get(&url).call().with_context(|| format!("no answer from {url}"))?;
        read(&mut response, &url)
    }

    /// Sends a POST request with a JSON body to the service.
    ///
    /// # Errors
    ///
    /// No response in time, or a response that is too long.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Response> {
        let url = format!("{}{path}", self.base);
        let request = self.agent.post(&url).content_type("application/json");
        let mut response = request.send(body.to_string()).with_context(|| format!("no answer from {url}"))?;
        read(&mut response, &url)
    }

    /// Sends a DELETE request to the service.
    ///
    /// # Errors
    ///
    /// No response in time, or a response that is too long.
    pub(crate) fn delete(&self, path: &str) -> Result<Response> {
        let url = format!("{}{path}", self.base);
        let mut response = self.agent.delete(&url).call().with_context(|| format!("no answer from {url}"))?;
        read(&mut response, &url)
    }
}

fn read(response: &mut ureq::http::Response<ureq::Body>, url: &str) -> Result<Response> {
    let status = response.status().as_u16();
    let text = response.body_mut().with_config().limit(RESPONSE_BYTES_MAX).read_to_string();
    let text = text.with_context(|| format!("could not read the answer from {url}"))?;
    Ok(Response { status, body: serde_json::from_str(&text).unwrap_or(Value::Null) })
}
