//! Checks of what the process is given: home directory, configuration and time.

use super::{Check, Finding, Surroundings};
use crate::agent::HookLog;
use crate::configuration::{self, Configured};
use crate::disk::{Disk, Kind, canonical, folder};
use crate::environment::{Config, Environment};
use crate::store::{metadata, refs};
use jiff::Timestamp;
use std::path::Path;

/// The first second of 2020: a clock before that was never set.
const CLOCK_LEAST: i64 = 1_577_836_800;
/// How many seconds the clocks of two machines that share a store may differ without harm.
const CLOCK_TOLERANCE: i64 = 60;

/// Checks the variables that name the home directory and the location of the store.
pub fn home(surroundings: &Surroundings<'_>) -> Finding {
    let usable = surroundings.home.as_ref().filter(|home| home.is_absolute());
    let Some(home) = usable else {
        let found = match &surroundings.home {
            Some(home) if !home.as_os_str().is_empty() => {
                format!("HOME is {home:?}, which is not an absolute path")
            }
            _ => "HOME is not set".to_owned(),
        };
        return Check::Home.trouble(found, "set HOME to your home directory");
    };
    if let Some(hermes) = surroundings.hermes_home.as_ref().filter(|_| surroundings.is_relative()) {
        let found = format!(
            "HERMES_HOME is the relative path {hermes:?}, so each directory you work in gets its own store"
        );
        let advice = "set HERMES_HOME to an absolute path";
        return if surroundings.current_directory.is_some() {
            Check::Home.notice(found, advice)
        } else {
            Check::Home.trouble(found + ", and the current directory no longer exists", advice)
        };
    }
    if let Some(hermes) = surroundings.hermes_home.as_ref().filter(|path| path.starts_with("~")) {
        let found = format!(
            "HERMES_HOME is {hermes:?}, in which no shell expanded the tilde: herma takes ~ for {home:?}, but other \
             programs may create a directory named ~"
        );
        return Check::Home.notice(found, "set HERMES_HOME to an absolute path");
    }
    match surroundings.disk.stat(&canonical(surroundings.disk, home)) {
        Ok(stat) if stat.kind == Kind::Directory => Check::Home.ok(format!("{home:?}")),
        // The store may be elsewhere; if it would be here, the finding about the base reports it.
        _ => Check::Home.notice(
            format!("HOME is {home:?}, which is not an accessible directory"),
            "set HOME to your home directory",
        ),
    }
}

/// Checks the configuration file, and returns the configuration if it is valid.
pub fn configuration(disk: &dyn Disk, environment: &Environment) -> (Finding, Option<Config>) {
    let file = environment.configuration_file();
    let Configured { config, warnings } = match configuration::read(disk, &file) {
        Ok(configured) => configured,
        Err(error) => {
            let advice = "fix the file: until then no checkpoint is taken by hand, and the defaults apply to the rest";
            return (Check::Configuration.refusal(&error, advice), None);
        }
    };
    let warned: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let finding = if !warned.is_empty() {
        Check::Configuration.notice(warned.join("; "), "correct or remove the ignored keys")
    } else if matches!(folder::stat(disk, &file), Ok(None)) {
        Check::Configuration.ok(format!("{file:?} does not exist: the defaults apply"))
    } else {
        Check::Configuration.ok(format!("{file:?} is valid"))
    };
    (finding, Some(config))
}

/// Checks whether checkpoints are taken automatically.
pub fn automatic(disk: &dyn Disk, config: &Config, environment: &Environment) -> Finding {
    if config.enabled {
        return Check::Automatic
            .ok("on: agents that use Herma take a checkpoint before their tools change files");
    }
    if !HookLog::new(disk, environment).agents().is_empty() {
        return Check::Automatic
            .ok("hooks of agents take a checkpoint before each turn's first change");
    }
    let file = environment.configuration_file();
    Check::Automatic.notice("off (`enabled` is false): checkpoints are only taken by `herma checkpoint` and by hooks",
        format!(
            "add a hook to your agent with `herma init`, or, for an agent that uses Herma, write \"enabled: true\" below \"checkpoints:\" in {file:?}"
        ),
    )
}

/// Checks the clock, also against the times recorded in the store, if there is one.
pub fn clock(disk: &dyn Disk, now: i64, base: Option<&Path>) -> Finding {
    let advice = "set the clock: its times are shown in lists, and decide which unused projects are \
                  removed";
    if now < CLOCK_LEAST {
        let found = format!("the clock shows {}", moment(now));
        return Check::Clock.notice(found, advice);
    }
    match base.and_then(|base| newest(disk, base)) {
        Some(newest) if newest > now.saturating_add(CLOCK_TOLERANCE) => {
            let now = moment(now);
            let newest = moment(newest);
            let found = format!("the clock shows {now}, but the store was last used at {newest}");
            Check::Clock.notice(found, advice)
        }
        _ => Check::Clock.ok(moment(now)),
    }
}

/// When a project of the store was used last. No lock is needed: each file is replaced atomically.
fn newest(disk: &dyn Disk, base: &Path) -> Option<i64> {
    let store = base.join("store");
    let names = folder::text_names(disk, &store.join("projects")).ok()?;
    let hashes = names.iter().filter_map(|name| name.strip_suffix(".json"));
    let hashes = hashes.filter(|hash| refs::is_hash(hash));
    hashes
        .filter_map(|hash| metadata::read(disk, &store, hash))
        .map(|metadata| metadata.last_touch as i64)
        .max()
}

fn moment(seconds: i64) -> String {
    match Timestamp::from_second(seconds) {
        Ok(moment) => moment.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        // The time is outside the calendar.
        Err(_) => format!("@{seconds}"),
    }
}
