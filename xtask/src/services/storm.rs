//! Storm 2.8 and Storm 1.2: ZooKeeper, Nimbus and a supervisor, as Java processes with together about 450 MB, and for each
//! topology a worker, which the supervisor starts.
//!
//! The jars come from Maven Central, which has no scripts of Storm, so this module makes the command lines. Storm 1.2 is the
//! generation of the Lachesis paper: its executors have a thread that sends. It is older than Java 17, and runs on it without a
//! change of its own: [`hosts`] tells why it needs a file of hosts. Every worker reports its queues each second to
//! [`GRAPHITE_PORT`], where `thalweg steer storm` listens.
//!
//! Storm has no setting for the interface on which it listens. Nimbus, which starts programs for everyone who reaches it, and
//! the supervisor therefore run under [`POLICY`], a policy of Java's security manager that refuses connections from other
//! machines. Workers run as they are, since a check of each call would change what is measured. They take records from other
//! workers on their port, so run this where other machines cannot reach it.

mod workers;

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use super::fetch;
use super::processes::{self, Lifetime, Running};

/// Longest time that each process of Storm may take until it answers.
const READY_MAX: Duration = Duration::from_secs(120);
/// Longest time that one try to connect may take.
const CONNECT_MAX: Duration = Duration::from_millis(500);
/// Port of 127.0.0.1 to which workers report, which is Graphite's. Nobody needs to listen.
pub(crate) const GRAPHITE_PORT: u16 = 2003;
/// Number of workers that the supervisor can run at a time.
const SLOTS: usize = 2;
/// Number of ports of a Storm: those of [`Ports`].
const PORTS: usize = 3 + SLOTS;
/// Name of the file that names ports and processes of a Storm that runs.
const RUNNING: &str = "running";
/// Heap of a worker in MB. Under overload the queues between ten operators hold some 300,000 records.
const WORKER_HEAP_MB: u32 = 1024;

/// A release of Storm that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Storm 2.8: an executor is one thread, which writes into the queue of the next one.
    Two,
    /// Storm 1.2: an executor is two threads, of which one sends.
    One,
}

impl Release {
    fn version(self) -> &'static str {
        match self {
            Release::Two => "2.8.3",
            Release::One => "1.2.4",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Release::Two => "storm",
            Release::One => "storm1",
        }
    }

    /// Returns the artifact whose dependencies make up this release, and the package that is left out. In the first it is a
    /// store of metrics of 73 MB, which is switched off. In the second it is a part of the page for browsers, which is not on
    /// Maven Central.
    fn artifacts(self) -> (&'static str, [&'static str; 2]) {
        match self {
            Release::Two => ("storm-server", ["org.rocksdb", "rocksdbjni"]),
            Release::One => ("storm-core", ["ring-cors", "ring-cors"]),
        }
    }

    /// Returns the SHA-256 of the list of all jars with their own SHA-256, as `sha256sum` prints it.
    fn sha256(self) -> &'static str {
        match self {
            Release::Two => "8213a23ad15d2a575cfdec54cca03d757ea43bc44f2161d3f6194284fb64ba7a",
            Release::One => "7d49701859f638808bfacfc8623672983a3d563d22fb5a567d0d065330196d43",
        }
    }

    fn megabytes(self) -> u32 {
        match self {
            Release::Two => 63,
            Release::One => 30,
        }
    }

    fn nimbus(self) -> &'static str {
        match self {
            Release::Two => "org.apache.storm.daemon.nimbus.Nimbus",
            Release::One => "org.apache.storm.daemon.nimbus",
        }
    }

    /// Returns options that every Java process of this release needs, the client included.
    fn java_options(self, directory: &Path) -> Vec<String> {
        match self {
            Release::Two => Vec::new(),
            Release::One => {
                let packages = ["java.lang", "java.net", "java.nio", "java.util", "sun.nio.ch"];
                let opened = packages.map(|package| format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
                let mut options = vec![
                    format!("-Djdk.net.hosts.file={}", directory.join("hosts").display()),
                    // Without this, the client of ZooKeeper resolves a name for a login that nobody asked for.
                    "-Dzookeeper.sasl.client=false".to_owned(),
                    // ZooKeeper looks for classes of a logging library that is not there.
                    "-Dzookeeper.jmx.log4j.disable=true".to_owned(),
                ];
                options.extend(opened);
                options
            }
        }
    }

    /// Returns the directory of the files of a Storm that runs until [`down`].
    fn stay(self) -> Result<PathBuf> {
        Ok(fetch::cache()?.join(format!("run-storm-{}", self.version())))
    }

    /// Returns the directory of this release's jars, and downloads them if they are not in the cache.
    fn jars(self) -> Result<PathBuf> {
        fetch::directory(&format!("storm-{}", self.version()), |directory| {
            let (version, megabytes) = (self.version(), self.megabytes());
            eprintln!("downloading Storm {version}, {megabytes} MB, into the cache");
            let project = directory.join("pom.xml");
            fs::write(&project, self.project())?;
            let (file, output) =
                (project.display().to_string(), format!("-DoutputDirectory={}", directory.display()));
            let goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";
            let options = ["-q", "-B", "-f", &file, goal, "-DincludeScope=runtime", &output];
            fetch::call("download Storm from Maven Central", "mvn", &options)?;
            fs::remove_file(&project)?;
            let script = "cd \"$0\" && LC_ALL=C sha256sum *.jar > sums";
            let place = directory.display().to_string();
            fetch::call("list the jars of Storm", "sh", &["-c", script, &place])?;
            fetch::verify(&directory.join("sums"), self.sha256())
        })
    }

    /// Returns a Maven project that has this release as its one dependency.
    fn project(self) -> String {
        let (artifact, [group, left_out]) = self.artifacts();
        let version = self.version();
        format!(
            "<project><modelVersion>4.0.0</modelVersion><groupId>thalweg</groupId><artifactId>storm</artifactId>\
             <version>1</version><packaging>pom</packaging><dependencies><dependency><groupId>org.apache.storm</groupId>\
             <artifactId>{artifact}</artifactId><version>{version}</version><exclusions><exclusion><groupId>{group}</groupId>\
             <artifactId>{left_out}</artifactId></exclusion></exclusions></dependency></dependencies></project>\n"
        )
    }
}

/// TCP ports on which Storm listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ports {
    /// Port of ZooKeeper.
    zookeeper: u16,
    /// Port of Nimbus, to which topologies are submitted.
    nimbus: u16,
    /// Port of the supervisor, to which Nimbus and workers connect.
    supervisor: u16,
    /// Port of each worker.
    slots: [u16; SLOTS],
}

impl Ports {
    /// Asks the operating system for free ports. If another process takes one of them before Storm does, Storm reports it and
    /// does not start.
    fn free() -> Result<Self> {
        let listeners: Vec<TcpListener> =
            (0..PORTS).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        let ports: Vec<u16> = listeners
            .iter()
            .map(|listener| listener.local_addr().map(|address| address.port()))
            .collect::<Result<_, _>>()?;
        Self::of(&ports)
            .ok_or_else(|| anyhow!("{PORTS} ports are needed, and the system gave {}", ports.len()))
    }

    fn of(ports: &[u16]) -> Option<Self> {
        let [zookeeper, nimbus, supervisor, ref slots @ ..] = *ports else { return None };
        Some(Self { zookeeper, nimbus, supervisor, slots: slots.try_into().ok()? })
    }

    fn all(self) -> [u16; PORTS] {
        let [first, second] = self.slots;
        [self.zookeeper, self.nimbus, self.supervisor, first, second]
    }

    fn zookeeper_configuration(self, directory: &Path) -> String {
        format!(
            "tickTime=2000\ndataDir={}\nclientPort={}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n",
            directory.join("zookeeper").display(),
            self.zookeeper
        )
    }

    /// Returns Storm's configuration. Workers have the serial collector, which has one thread, because the machine does other
    /// work as well.
    fn storm_configuration(self, release: Release, directory: &Path) -> String {
        let Ports { zookeeper, nimbus, supervisor, slots } = self;
        let slots = slots.map(|port| port.to_string()).join(", ");
        let options = release.java_options(directory).join(" ");
        let store = match release {
            Release::Two => "storm.metricstore.class: org.apache.storm.metricstore.NoOpMetricStore\n",
            Release::One => "",
        };
        let (local, logs) = (directory.join("local"), directory.join("logs"));
        format!(
            "storm.zookeeper.servers: [\"127.0.0.1\"]
storm.zookeeper.port: {zookeeper}
nimbus.seeds: [\"127.0.0.1\"]
nimbus.thrift.port: {nimbus}
supervisor.thrift.port: {supervisor}
supervisor.slots.ports: [{slots}]
storm.local.hostname: 127.0.0.1
storm.local.dir: {local}
storm.log.dir: {logs}
{store}worker.heap.memory.mb: {WORKER_HEAP_MB}
worker.childopts: \"-Xmx{WORKER_HEAP_MB}m -XX:+UseSerialGC {options}\"
storm.metrics.reporters:
  - class: org.apache.storm.metrics2.reporters.GraphiteStormReporter
    daemons: [worker]
    report.period: 1
    report.period.units: SECONDS
    graphite.host: 127.0.0.1
    graphite.port: {GRAPHITE_PORT}
    graphite.transport: tcp
",
            local = local.display(),
            logs = logs.display(),
        )
    }
}

/// Permissions of Nimbus and the supervisor: everything but connections with other machines.
const POLICY: &str = "grant {
  permission java.io.FilePermission \"<<ALL FILES>>\", \"read,write,execute,delete,readlink\";
  permission java.io.SerializablePermission \"*\";
  permission java.lang.RuntimePermission \"*\";
  permission java.lang.management.ManagementPermission \"control\";
  permission java.lang.management.ManagementPermission \"monitor\";
  permission java.lang.reflect.ReflectPermission \"*\";
  permission java.net.NetPermission \"*\";
  permission java.net.SocketPermission \"127.0.0.1:0-\", \"accept,connect,listen,resolve\";
  permission java.net.SocketPermission \"localhost:0-\", \"accept,connect,listen,resolve\";
  permission java.nio.file.LinkPermission \"hard\";
  permission java.nio.file.LinkPermission \"symbolic\";
  permission java.security.SecurityPermission \"*\";
  permission java.util.PropertyPermission \"*\", \"read,write\";
  permission java.util.logging.LoggingPermission \"control\";
  permission javax.management.MBeanPermission \"*\", \"*\";
  permission javax.management.MBeanServerPermission \"*\";
  permission javax.management.MBeanTrustPermission \"*\";
  permission javax.net.ssl.SSLPermission \"*\";
  permission javax.security.auth.AuthPermission \"*\";
};
";

/// Configuration of the logging of a process whose file is named by `name`.
fn logging(name: &str) -> String {
    format!(
        "<configuration><appenders><File name=\"F\" fileName=\"${{sys:storm.log.dir}}/{name}\">\
         <PatternLayout pattern=\"%d %c{{1.}} %t [%p] %m%n\"/></File></appenders>\
         <loggers><root level=\"info\"><appender-ref ref=\"F\"/></root></loggers></configuration>\n"
    )
}

/// Returns the file of hosts for Storm 1.2.
///
/// Its client of ZooKeeper takes the host from the text of an address. Since Java 14 that text is `HOST/<unresolved>:PORT`, and
/// the client asks for the address of `HOST/<unresolved>`. The file has this name. Java asks no other place for names then, so
/// the machine's own name is in it as well.
fn hosts() -> String {
    let own = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("127.0.0.1 localhost localhost/<unresolved> 127.0.0.1/<unresolved> {}\n", own.trim())
}

/// Starts Storm with its files in `directory`, and waits until it takes topologies. Returns its ports, and its processes in the
/// order in which they are to end.
fn start(release: Release, directory: &Path) -> Result<(Ports, Vec<Running>)> {
    let jars = release.jars()?;
    let ports = Ports::free()?;
    let (configuration, logs) = (directory.join("conf"), directory.join("logs"));
    for made in [&configuration, &logs, &directory.join("log4j2"), &directory.join("zookeeper")] {
        fs::create_dir_all(made).with_context(|| format!("could not make {}", made.display()))?;
    }
    // Storm gives workers the jars that it finds in directories of these names below its home.
    for name in ["lib", "lib-worker"] {
        symlink(&jars, directory.join(name)).with_context(|| format!("could not link {}", jars.display()))?;
    }
    let (zookeeper, policy) = (directory.join("zookeeper.cfg"), directory.join("loopback.policy"));
    fs::write(configuration.join("storm.yaml"), ports.storm_configuration(release, directory))?;
    fs::write(&zookeeper, ports.zookeeper_configuration(directory))?;
    fs::write(&policy, POLICY)?;
    fs::write(directory.join("hosts"), hosts())?;
    fs::write(directory.join("log4j2/worker.xml"), logging("worker-${sys:worker.port}.log"))?;
    fs::write(directory.join("log4j2/daemon.xml"), logging("${sys:logfile.name}"))?;

    let mut processes = Vec::new();
    let mut add = |name: &'static str, heap: &str, options: &[String], class: &[String]| -> Result<()> {
        let mut arguments = vec![
            format!("-Xmx{heap}"),
            "-XX:+UseSerialGC".to_owned(),
            format!("-Dstorm.home={}", directory.display()),
            format!("-Dstorm.log.dir={}", logs.display()),
            format!("-Dlogfile.name={name}.log"),
            format!("-Dlog4j.configurationFile={}", directory.join("log4j2/daemon.xml").display()),
            // Storm reads both without asking whether they are there.
            "-Dstorm.options=".to_owned(),
            "-Dstorm.conf.file=".to_owned(),
        ];
        arguments.extend(release.java_options(directory));
        arguments.extend_from_slice(options);
        arguments.extend(["-cp".to_owned(), class_path(directory)]);
        arguments.extend_from_slice(class);
        let output = logs.join(format!("{name}.out"));
        processes.push(Running::start(name, Lifetime::UntilDown, "java", &arguments, &[], &output)?);
        Ok(())
    };
    let confined =
        ["-Djava.security.manager".to_owned(), format!("-Djava.security.policy=={}", policy.display())];
    let server = "org.apache.storm.shade.org.apache.zookeeper.server.ZooKeeperServerMain".to_owned();
    let supervisor = "org.apache.storm.daemon.supervisor.Supervisor".to_owned();
    add("zookeeper", "96m", &[], &[server, zookeeper.display().to_string()])?;
    add("nimbus", "256m", &confined, &[release.nimbus().to_owned()])?;
    add("supervisor", "128m", &confined, &[supervisor])?;
    wait(ports, &logs, &mut processes)
        .with_context(|| format!("storm did not start; its logs are in {}", logs.display()))?;
    processes.reverse();
    Ok((ports, processes))
}

/// Waits until ZooKeeper and Nimbus take connections, Nimbus leads, and the supervisor has its slots.
fn wait(ports: Ports, logs: &Path, processes: &mut [Running]) -> Result<()> {
    let connects = |port: u16| {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        TcpStream::connect_timeout(&address, CONNECT_MAX).is_ok()
    };
    // Storm tells these two by its logs only.
    let says =
        |file: &str, words: &str| fs::read_to_string(logs.join(file)).is_ok_and(|text| text.contains(words));
    processes::wait_until("zookeeper", READY_MAX, processes, || Ok(connects(ports.zookeeper)))?;
    processes::wait_until("nimbus", READY_MAX, processes, || {
        Ok(connects(ports.nimbus) && says("nimbus.log", "Accepting leadership"))
    })?;
    processes::wait_until("the supervisor", READY_MAX, processes, || {
        Ok(says("supervisor.log", "Starting supervisor with id"))
    })
}

fn class_path(directory: &Path) -> String {
    let directory = directory.display();
    format!("{directory}/lib/*:{directory}/conf")
}

/// A Storm for one command, which is ended when this value is dropped. Its files stay.
///
/// It is the one that [`up`] starts, so [`down`] ends it if the command is killed.
pub(crate) struct Storm {
    release: Release,
    directory: PathBuf,
}

impl Storm {
    /// Starts a Storm.
    ///
    /// # Errors
    ///
    /// As for [`up`].
    pub(crate) fn start(release: Release) -> Result<Self> {
        let (directory, _) = begin(release)?;
        Ok(Self { release, directory })
    }

    /// Returns the directory of all files of this Storm.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the arguments of Java for a client whose classes are in `jar`, without a main class.
    pub(crate) fn client(&self, jar: &Path) -> Vec<String> {
        let mut arguments = client_options(self.release, &self.directory);
        arguments.extend(["-cp".to_owned(), format!("{}:{}", class_path(&self.directory), jar.display())]);
        arguments
    }

    /// Returns the number of a worker's process; `None` if no worker runs.
    pub(crate) fn worker(&self) -> Option<u32> {
        workers::first(&self.directory)
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        if let Err(error) = end(self.release) {
            eprintln!("{} is not ended: {error:#}", self.release.name());
        }
    }
}

/// Starts a Storm that runs until [`down`], and prints how to use it.
///
/// # Errors
///
/// A Storm of this release that runs already, or one that does not start.
pub(crate) fn up(release: Release) -> Result<()> {
    let (directory, ports) = begin(release)?;
    print_use(release, &directory, ports);
    Ok(())
}

/// Starts a Storm that runs until [`end`], and returns the directory of its files and its ports.
fn begin(release: Release) -> Result<(PathBuf, Ports)> {
    let (directory, name) = (release.stay()?, release.name());
    if let Some((ids, _)) = written(&directory)?
        && ids.iter().any(|id| processes::is_ours(*id, &directory))
    {
        bail!("{name} runs already: cargo xtask services down {name}");
    }
    // A run that was not ended properly may have left workers and files.
    workers::end(&directory)?;
    if directory.exists() {
        fs::remove_dir_all(&directory)
            .with_context(|| format!("could not remove {}", directory.display()))?;
    }
    let (ports, processes) = start(release, &directory)?;
    let ids: Vec<String> = processes.into_iter().map(|process| process.detach().to_string()).collect();
    let ports_text = ports.all().map(|port| port.to_string()).join(" ");
    fs::write(directory.join(RUNNING), format!("{ports_text}\n{}\n", ids.join(" ")))
        .context("could not write which processes run")?;
    Ok((directory, ports))
}

/// Ends the Storm that [`up`] started with all its workers, and removes its files.
///
/// # Errors
///
/// A process that does not end.
pub(crate) fn down(release: Release) -> Result<()> {
    let name = release.name();
    match end(release)? {
        None => println!("{name}: not running"),
        Some(directory) => {
            fs::remove_dir_all(&directory)
                .with_context(|| format!("could not remove {}", directory.display()))?;
            println!("{name}: ended");
        }
    }
    Ok(())
}

/// Ends a Storm with all its workers. Returns the directory of its files; `None` if none was started.
fn end(release: Release) -> Result<Option<PathBuf>> {
    let directory = release.stay()?;
    let Some((ids, _)) = written(&directory)? else { return Ok(None) };
    // The supervisor is the first, since it would start workers again.
    for id in ids {
        processes::end(id, &directory)?;
    }
    workers::end(&directory)?;
    Ok(Some(directory))
}

/// Prints whether a Storm that [`up`] started runs, and returns it.
///
/// # Errors
///
/// A file of processes that cannot be read.
pub(crate) fn status(release: Release) -> Result<bool> {
    let directory = release.stay()?;
    let running =
        written(&directory)?.filter(|(ids, _)| ids.iter().all(|id| processes::is_ours(*id, &directory)));
    match &running {
        Some((_, ports)) => print_use(release, &directory, *ports),
        None => println!("{}: not running", release.name()),
    }
    Ok(running.is_some())
}

fn print_use(release: Release, directory: &Path, ports: Ports) {
    println!(
        "{}: Storm {}, Nimbus 127.0.0.1:{}, metrics to 127.0.0.1:{GRAPHITE_PORT} (Graphite), logs in {}/logs",
        release.name(),
        release.version(),
        ports.nimbus,
        directory.display()
    );
    println!(
        "submit by: java {} -cp '{}:JAR' CLASS",
        client_options(release, directory).join(" "),
        class_path(directory)
    );
}

fn client_options(release: Release, directory: &Path) -> Vec<String> {
    let mut options = vec![format!("-Dstorm.home={}", directory.display())];
    options.extend(release.java_options(directory));
    options
}

/// Returns the process numbers and ports that [`up`] wrote into a file; `None` if there is no such file.
fn written(directory: &Path) -> Result<Option<(Vec<u32>, Ports)>> {
    let file = directory.join(RUNNING);
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
    let ids = ids.split(' ').map(|id| id.parse().ok()).collect::<Option<_>>()?;
    Some((ids, Ports::of(&ports)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: Ports = Ports { zookeeper: 1, nimbus: 2, supervisor: 3, slots: [4, 5] };

    #[test]
    fn what_runs_is_read_as_it_was_written() {
        assert_eq!(parsed("1 2 3 4 5\n10 11 12\n"), Some((vec![10, 11, 12], PORTS)));
        assert_eq!(PORTS.all(), [1, 2, 3, 4, 5]);
        for text in ["", "1 2 3 4 5", "1 2 3 4\n10", "1 2 3 4 5 6\n10", "1 2 3 4 x\n10", "1 2 3 4 5\nx"] {
            assert_eq!(parsed(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_configuration_names_loopback_addresses_only() {
        for release in [Release::One, Release::Two] {
            let text = PORTS.storm_configuration(release, Path::new("/run"));
            for line in text.lines() {
                if ["servers", "seeds", "host"]
                    .iter()
                    .any(|word| line.split(':').next().unwrap().contains(word))
                {
                    assert!(line.contains("127.0.0.1"), "{line}");
                }
            }
            assert!(text.contains("supervisor.slots.ports: [4, 5]\n"), "{text}");
        }
        assert!(PORTS.zookeeper_configuration(Path::new("/run")).contains("clientPortAddress=127.0.0.1\n"));
        assert!(
            POLICY
                .lines()
                .filter(|line| line.contains("SocketPermission"))
                .all(|line| { line.contains("\"127.0.0.1:0-\"") || line.contains("\"localhost:0-\"") })
        );
    }
}
