//! Flink 2.3: a job manager, one task manager and the SQL gateway, as three Java processes with together about 1.1 GB.
//!
//! The jars come from PyPI (`apache-flink-libraries`) and Maven Central (the gateway). Neither contains Flink's
//! scripts, so this module makes the command lines. It sets each part of the memory, because the script that computes
//! the parts is missing. Watermarks are emitted after every row (`pipeline.auto-watermark-interval`), so that answers
//! do not depend on the machine. Metrics are at most a second old (`metrics.fetcher.update-interval`), since
//! `thalweg steer` goes by them.
//!
//! `cargo xtask services`, [`crate::e2e`] and [`crate::engines`] start Flink through this module. The tests here read
//! texts only. Whether Flink starts and answers is seen by `cargo xtask e2e flink`, which is no part of `check`.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use super::fetch;
use super::http::Client;
use super::processes::{self, Lifetime, Running};

/// Version of Flink that is downloaded and started.
pub(crate) const VERSION: &str = "2.3.0";
/// SHA-256 of Flink's wheel on PyPI.
const WHEEL_SHA256: &str = "38ece876553286b3a285cf344c2d2038f8a7ca10da5df54d5107250386d64151";
/// SHA-256 of the SQL gateway's jar on Maven Central.
const GATEWAY_SHA256: &str = "aad296a152dc367ddd70727f5a57dd61958cff3d8dceb1f947bf8d9705c8d724";
/// Longest time that Flink may take from its start until all three processes answer.
const READY_MAX: Duration = Duration::from_secs(180);
/// Number of queries that the task manager can run at a time. All operators of a query share a slot.
pub(crate) const SLOTS: usize = 8;
/// Packages of the JDK that Flink's scripts open for reflection, without those for Kerberos and RMI.
const OPENED: [&str; 12] = [
    "java.base/java.lang",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.text",
    "java.base/java.time",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/java.util.concurrent.locks",
    "java.base/sun.nio.ch",
];
/// Name of the process whose threads run queries.
const TASK_MANAGER: &str = "task manager";
/// Name, size of the heap and main class of each process of Flink, and whether the process takes the
/// configuration as an option.
const PROCESSES: [(&str, &str, &str, bool); 3] = [
    ("job manager", "320m", "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", true),
    (TASK_MANAGER, "384m", "org.apache.flink.runtime.taskexecutor.TaskManagerRunner", true),
    ("SQL gateway", "384m", "org.apache.flink.table.gateway.SqlGateway", false),
];

/// A running Flink, which ends when this value is dropped.
pub(crate) struct Flink {
    processes: Vec<Running>,
    ports: Ports,
}

/// TCP ports of Flink that its configuration names. Flink chooses its other ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ports {
    /// Port of the job manager, to which the task manager and the gateway connect.
    rpc: u16,
    /// Port of the job manager's REST interface and of its page for browsers.
    rest: u16,
    /// Port of the SQL gateway's REST interface.
    gateway: u16,
}

impl Flink {
    /// Starts Flink with its files in `directory`, and waits until it accepts queries.
    ///
    /// # Errors
    ///
    /// A download or a process that failed. The logs stay in `directory`.
    pub(crate) fn start(directory: &Path, lifetime: Lifetime) -> Result<Flink> {
        let jars = jars()?;
        let ports = Ports::free()?;
        let (configuration, logs) = (directory.join("conf"), directory.join("logs"));
        for made in [&configuration, &logs] {
            fs::create_dir_all(made).with_context(|| format!("could not make {}", made.display()))?;
        }
        fs::write(configuration.join("config.yaml"), ports.configuration(directory))?;
        fs::write(configuration.join("log4j.properties"), LOGGING)?;
        let mut processes = Vec::new();
        for (name, heap, class, takes_option) in PROCESSES {
            let mut arguments = java_options(heap, &configuration, &logs.join(format!("{name}.log")));
            arguments.extend(["-cp".to_owned(), format!("{}/*", jars.display()), class.to_owned()]);
            if takes_option {
                arguments.extend(["-c".to_owned(), configuration.display().to_string()]);
            }
            let output = logs.join(format!("{name}.out"));
            let environment = [("FLINK_CONF_DIR", configuration.as_path())];
            processes.push(Running::start(name, lifetime, "java", &arguments, &environment, &output)?);
        }
        let mut flink = Flink { processes, ports };
        flink.wait().with_context(|| format!("flink did not start; its logs are in {}", logs.display()))?;
        Ok(flink)
    }

    /// Returns a client of the SQL gateway.
    pub(crate) fn gateway(&self) -> Client {
        Client::of_port(self.ports.gateway)
    }

    /// Returns the address of the job manager's REST interface.
    pub(crate) fn jobs(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.rest)
    }

    /// Returns the number of the task manager's process.
    pub(crate) fn task_manager(&self) -> Option<u32> {
        self.processes.iter().find(|process| process.name == TASK_MANAGER).map(Running::number)
    }

    fn wait(&mut self) -> Result<()> {
        let Ports { rest, gateway, .. } = self.ports;
        processes::wait_until("a task manager", READY_MAX, &mut self.processes, || {
            let overview = Client::of_port(rest).get("/overview");
            Ok(overview.is_ok_and(|overview| overview.body["slots-total"].as_u64() >= Some(1)))
        })?;
        processes::wait_until("the SQL gateway", READY_MAX, &mut self.processes, || {
            Ok(Client::of_port(gateway).get("/v1/info").is_ok_and(|info| info.status == 200))
        })
    }
}

impl Ports {
    /// Asks the operating system for free ports. If another process takes one of them before Flink does,
    /// Flink reports it and does not start.
    fn free() -> Result<Self> {
        let listeners: Vec<TcpListener> =
            (0..3).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        let port = |place: usize| listeners[place].local_addr().map(|address| address.port());
        Ok(Self { rpc: port(0)?, rest: port(1)?, gateway: port(2)? })
    }

    fn configuration(self, directory: &Path) -> String {
        let Ports { rpc, rest, gateway } = self;
        let temporary = directory.join("tmp");
        let temporary = temporary.display();
        format!(
            "jobmanager.rpc.address: 127.0.0.1
jobmanager.rpc.port: {rpc}
jobmanager.bind-host: 127.0.0.1
jobmanager.memory.process.size: 800m
jobmanager.execution.failover-strategy: full
rest.address: 127.0.0.1
rest.bind-address: 127.0.0.1
rest.port: {rest}
web.submit.enable: false
taskmanager.host: 127.0.0.1
taskmanager.bind-host: 127.0.0.1
taskmanager.numberOfTaskSlots: {SLOTS}
taskmanager.cpu.cores: 2.0
taskmanager.memory.framework.heap.size: 128m
taskmanager.memory.framework.off-heap.size: 128m
taskmanager.memory.task.heap.size: 256m
taskmanager.memory.task.off-heap.size: 0m
taskmanager.memory.network.min: 64m
taskmanager.memory.network.max: 64m
taskmanager.memory.managed.size: 256m
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 64m
taskmanager.memory.jvm-overhead.max: 64m
sql-gateway.endpoint.rest.address: 127.0.0.1
sql-gateway.endpoint.rest.bind-address: 127.0.0.1
sql-gateway.endpoint.rest.port: {gateway}
io.tmp.dirs: {temporary}
parallelism.default: 1
restart-strategy.type: none
pipeline.auto-watermark-interval: 0 ms
metrics.fetcher.update-interval: 1000
"
        )
    }
}

/// Configuration of Flink's logging: each process writes into the file that its system property names.
const LOGGING: &str = "rootLogger.level = INFO
rootLogger.appenderRef.file.ref = File
appender.file.name = File
appender.file.type = FILE
appender.file.fileName = ${sys:log.file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %-5p %c - %m%n
";

fn java_options(heap: &str, configuration: &Path, log: &Path) -> Vec<String> {
    let mut options = vec![
        format!("-Xmx{heap}"),
        "-XX:MaxMetaspaceSize=256m".to_owned(),
        // Java runs with the serial collector, which has one thread, and with a small heap, because the
        // machine does other work as well.
        "-XX:+UseSerialGC".to_owned(),
        format!("-Dlog.file={}", log.display()),
        format!("-Dlog4j.configurationFile=file:{}", configuration.join("log4j.properties").display()),
    ];
    options.extend(OPENED.iter().map(|package| format!("--add-opens={package}=ALL-UNNAMED")));
    options
}

/// Returns the directory of Flink's jars. If it is not in the cache, 330 MB are downloaded.
fn jars() -> Result<PathBuf> {
    fetch::directory(&format!("flink-{VERSION}"), |directory| {
        eprintln!("downloading Flink {VERSION}, 330 MB, into the cache");
        let place = directory.display().to_string();
        let wheel = directory.join(format!("apache_flink_libraries-{VERSION}-py2.py3-none-any.whl"));
        let package = format!("apache-flink-libraries=={VERSION}");
        let options = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", &place, &package];
        fetch::call("download Flink's jars from PyPI", "python3", &options)?;
        fetch::verify(&wheel, WHEEL_SHA256)?;
        let unpack = ["-m", "zipfile", "-e", &wheel.display().to_string(), &place];
        fetch::call("unpack Flink's jars", "python3", &unpack)?;
        fs::remove_file(&wheel)?;
        let lib = directory.join("pyflink/lib");
        for entry in fs::read_dir(&lib)? {
            let entry = entry?;
            fs::rename(entry.path(), directory.join(entry.file_name()))?;
        }
        fs::remove_dir_all(directory.join("pyflink"))?;
        let artifact = format!("-Dartifact=org.apache.flink:flink-sql-gateway:{VERSION}");
        let goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";
        let output = format!("-DoutputDirectory={place}");
        fetch::call(
            "download the SQL gateway from Maven Central",
            "mvn",
            &["-q", "-B", goal, &artifact, &output],
        )?;
        fetch::verify(&directory.join(format!("flink-sql-gateway-{VERSION}.jar")), GATEWAY_SHA256)
    })
}

/// Returns the directory of the files of a Flink that runs until [`down`].
fn stay() -> Result<PathBuf> {
    Ok(fetch::cache()?.join("run-flink"))
}

/// Starts a Flink that runs until [`down`], and prints its addresses.
///
/// # Errors
///
/// A Flink that runs already, or one that does not start.
pub(crate) fn up() -> Result<()> {
    let directory = stay()?;
    if let Some((ids, ports)) = written(&directory)?
        && ids.iter().any(|id| processes::is_ours(*id, &directory))
    {
        bail!("flink runs already at http://127.0.0.1:{}: cargo xtask services down flink", ports.gateway);
    }
    let flink = Flink::start(&directory, Lifetime::UntilDown)?;
    let Flink { processes, ports } = flink;
    let ids: Vec<String> = processes.into_iter().map(|process| process.detach().to_string()).collect();
    let text = format!("{} {} {}\n{}\n", ports.rpc, ports.rest, ports.gateway, ids.join(" "));
    fs::write(directory.join("running"), text).context("could not write which processes run")?;
    print_addresses(ports);
    Ok(())
}

/// Ends the Flink that [`up`] started, and removes its files.
///
/// # Errors
///
/// A process that does not end.
pub(crate) fn down() -> Result<()> {
    let directory = stay()?;
    match written(&directory)? {
        None => println!("flink: not running"),
        Some((ids, _)) => {
            for id in ids {
                processes::end(id, &directory)?;
            }
            fs::remove_dir_all(&directory)
                .with_context(|| format!("could not remove {}", directory.display()))?;
            println!("flink: ended");
        }
    }
    Ok(())
}

/// Prints whether a Flink that [`up`] started runs, and returns it.
///
/// # Errors
///
/// A file of processes that cannot be read.
pub(crate) fn status() -> Result<bool> {
    let directory = stay()?;
    let running =
        written(&directory)?.filter(|(ids, _)| ids.iter().all(|id| processes::is_ours(*id, &directory)));
    match &running {
        Some((_, ports)) => print_addresses(*ports),
        None => println!("flink: not running"),
    }
    Ok(running.is_some())
}

fn print_addresses(ports: Ports) {
    println!("flink: SQL gateway http://127.0.0.1:{}, jobs http://127.0.0.1:{}", ports.gateway, ports.rest);
}

/// Returns the process numbers and ports that [`up`] wrote into a file; `None` if there is no such file.
fn written(directory: &Path) -> Result<Option<(Vec<u32>, Ports)>> {
    let file = directory.join("running");
    match fs::read_to_string(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read {}", file.display())),
        Ok(text) => {
            parsed(&text).map(Some).ok_or_else(|| anyhow!("{} is not understood; remove it", file.display()))
        }
    }
}

fn parsed(text: &str) -> Option<(Vec<u32>, Ports)> {
    let (ports, ids) = text.trim().split_once('\n')?;
    let ports: Vec<u16> = ports.split(' ').map(|port| port.parse().ok()).collect::<Option<_>>()?;
    let [rpc, rest, gateway] = ports[..] else { return None };
    let ids = ids.split(' ').map(|id| id.parse().ok()).collect::<Option<_>>()?;
    Some((ids, Ports { rpc, rest, gateway }))
}

/// Returns the message of the deepest cause in an error of the gateway, which sends whole stack traces of Java.
pub(crate) fn root_cause(body: &Value) -> String {
    let errors = body["errors"].as_array().map_or(&[][..], Vec::as_slice);
    let trace = errors.iter().rev().find_map(Value::as_str).unwrap_or("no message");
    let is_frame = |line: &&str| {
        let line = line.trim_start();
        !line.is_empty()
            && !line.starts_with("at ")
            && !line.starts_with("... ")
            && !line.starts_with("End of")
    };
    let deepest = trace.lines().rfind(|line| line.starts_with("Caused by: "));
    let line = deepest.or_else(|| trace.lines().rfind(is_frame)).unwrap_or(trace);
    let line = line.trim_start_matches("Caused by: ").trim();
    line.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_read_as_it_was_written() {
        let ports = Ports { rpc: 1, rest: 2, gateway: 3 };
        assert_eq!(parsed("1 2 3\n10 11 12\n"), Some((vec![10, 11, 12], ports)));
        for text in ["", "1 2 3", "1 2\n10", "1 2 x\n10", "1 2 3\nx"] {
            assert_eq!(parsed(text), None, "{text:?}");
        }
    }

    #[test]
    fn all_listens_on_the_loopback_interface() {
        let text = Ports { rpc: 1, rest: 2, gateway: 3 }.configuration(Path::new("/run"));
        for line in text.lines().filter(|line| line.contains("address") || line.contains("host")) {
            assert!(line.ends_with(": 127.0.0.1"), "{line}");
        }
        assert!(text.contains("sql-gateway.endpoint.rest.port: 3\n"), "{text}");
    }

    #[test]
    fn the_deepest_cause_is_told() {
        let trace = "<Exception on server side:\na.B: outer\n\tat x.y(Z.java:1)\nCaused by: c.D: middle\n\tat x\n\
                     Caused by: e.F: inner: 1 / 0\n\tat y\n\t... 3 more\n\nEnd of exception on server side>";
        let body = serde_json::json!({ "errors": ["Internal server error.", trace] });
        assert_eq!(root_cause(&body), "e.F: inner: 1 / 0");
        let plain = serde_json::json!({ "errors": ["no such session"] });
        assert_eq!(root_cause(&plain), "no such session");
        assert_eq!(root_cause(&Value::Null), "no message");
    }
}
