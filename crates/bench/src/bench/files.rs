//! Files of a run: reading one that may be compressed, and checks that none is used for two purposes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{self, Path, PathBuf};

use anyhow::Result;
use flate2::read::MultiGzDecoder;
use thalweg_cli::failure::WrongOption;

use super::args::BenchArgs;

/// Opens a file for reading. One whose name ends in `.gz` is decompressed.
///
/// # Errors
/// If the file cannot be opened.
pub fn opened(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = File::open(path)?;
    let is_gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    Ok(if is_gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// Refuses result files that would replace a file that is read, or that the file of bad lines would replace.
/// `results` are file names in the folder of results. Also refuses a file of bad lines that would replace the
/// file of historical tolls (`--tolls`), of word scores (`--lexicon`) or of sensors (`--registry`). The input file is checked by
/// the source itself.
pub fn refuse_one_for_two(args: &BenchArgs, results: &[String], diverted: Option<&Path>) -> Result<()> {
    let refuse = |problem: String| Err(WrongOption(problem).into());
    let beside = [("--tolls", &args.tolls), ("--lexicon", &args.lexicon), ("--registry", &args.registry)];
    let beside = || beside.into_iter().filter_map(|(option, file)| Some((option, file.as_ref()?)));
    if let Some(diverted) = diverted
        && let Some((option, _)) = beside().find(|(_, file)| replaces(diverted, file))
    {
        let path = diverted.display();
        return refuse(format!("--on-bad: {path} is the file of {option}; take another file"));
    }
    for name in results {
        let Some(result) = args.results_file(name)? else { continue };
        let path = result.display();
        if args.input.as_ref().is_some_and(|input| replaces(&result, input)) {
            return refuse(format!("--results: {path} is the input; take another folder"));
        }
        if let Some((option, _)) = beside().find(|(_, file)| replaces(&result, file)) {
            return refuse(format!("--results: {path} is the file of {option}; take another folder"));
        }
        if diverted.is_some_and(|diverted| replaces(&result, diverted) || replaces(diverted, &result)) {
            let path = diverted.map_or(result.display(), Path::display);
            return refuse(format!("--on-bad: the results go to {path}; take another file"));
        }
    }
    Ok(())
}

/// Returns whether a file written to `path` replaces `other`: under its final name, or under the name that
/// it has until it is complete.
pub fn replaces(path: &Path, other: &Path) -> bool {
    let unfinished = PathBuf::from(format!("{}.inprogress", path.display()));
    is_same(path, other) || is_same(&unfinished, other)
}

/// Returns whether two paths lead to the same file, which need not exist yet.
fn is_same(a: &Path, b: &Path) -> bool {
    matches!((place(a), place(b)), (Ok(a), Ok(b)) if a == b)
}

fn place(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|_| {
        let path = path::absolute(path)?;
        let folder = path.parent().unwrap_or(&path).canonicalize()?;
        Ok(folder.join(path.file_name().unwrap_or_default()))
    })
}
