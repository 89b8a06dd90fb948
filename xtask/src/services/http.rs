//! Requests to a service on the loopback interface, with JSON in both directions.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

/// Longest time of a request. The slowest is the first statement of a session, for which Flink loads its planner.
const REQUEST_MAX: Duration = Duration::from_secs(60);
/// Largest size of a response.
const RESPONSE_BYTES_MAX: u64 = 64 << 20;

/// A client of one service.
#[derive(Clone)]
pub(crate) struct Client {
    agent: ureq::Agent,
    base: String,
}

/// A response of a service.
pub(crate) struct Response {
    /// The status code of HTTP.
    pub(crate) status: u16,
    /// The body; `Null` if the body is not JSON.
    pub(crate) body: Value,
}

impl Client {
    /// Creates a client of the service on this port of 127.0.0.1.
    pub(crate) fn of_port(port: u16) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(REQUEST_MAX))
            .http_status_as_error(false)
            // The service is on this machine, and a proxy from the environment cannot reach it.
            .proxy(None)
            .build();
        Self { agent: config.into(), base: format!("http://127.0.0.1:{port}") }
    }

    /// Sends GET.
    ///
    /// # Errors
    ///
    /// No response in time, or a response that is too long.
    pub(crate) fn get(&self, path: &str) -> Result<Response> {
        let url = format!("{}{path}", self.base);
        let mut response = self.agent.get(&url).call().with_context(|| format!("no answer from {url}"))?;
        read(&mut response, &url)
    }

    /// Sends POST with a JSON body.
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

    /// Sends DELETE.
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
