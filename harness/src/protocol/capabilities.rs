//! The capabilities of an implementation, and what they mean for judging it.
//!
//! What it is not capable of is not asked ([`super::asked`]), settings it lacks are without bounds,
//! and missing parts of an answer are not compared. Rules that could only be tested that way are
//! shown as *not applicable*, never as held.

use super::known::{
    COMPLETE, INJECTION, MAX_FILE_BYTES, MAX_TOTAL_BYTES, MEASUREMENT, OWN_WAYS, SIZES,
    WHOLE_AGENT, find, known, unknown,
};
use super::message::Hello;
use crate::history::{History, Operation};
use herma_model::rules::{self, RuleRef};
use herma_model::{Request, Settings};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Rules about a store that is not the project's own repository.
static OF_A_STORE_OF_ITS_OWN: &[RuleRef] = &[
    &rules::ISOLATION_USER_CONFIG,
    &rules::ISOLATION_USER_REPOSITORY,
    &rules::ISOLATION_NO_SIGNING,
];

/// What a subject may need of the sandbox.
const NEEDS: &[&str] = &["repository"];

/// The folder of a project that such a store lies in.
const REPOSITORY: &str = ".git";

/// More than any history holds, and within the integers of every language.
const UNBOUNDED: usize = 1_000_000_000;

/// The capabilities of an implementation. Their names are those of the
/// [protocol](crate::protocol::schema), which says what each means.
///
/// ```
/// use herma_harness::protocol::capabilities::Capabilities;
///
/// let all_but_one = Capabilities::all().without("restore.exact");
/// let few = Capabilities::none().with("checkpoint").with("diff");
/// assert!(few.has("diff") && !few.has("restore.exact"));
/// assert_eq!(few.in_common(&all_but_one), few);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Each with its unit; only a size can have another one than 1.
    claimed: BTreeMap<&'static str, u64>,
    /// Every project is a git repository, and the store lies in it.
    repository: bool,
    /// The folder of every project that the store lies in, by name.
    store_folder: Option<String>,
    /// Names of files and folders that no history uses.
    avoids: BTreeSet<String>,
    /// How many checkpoints of a project are kept, where that cannot be set.
    keeps: Option<usize>,
    /// What is claimed and cannot be judged here, each with the reason and what to do.
    withheld: BTreeMap<&'static str, &'static str>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities::all()
    }
}

impl Capabilities {
    /// All capabilities.
    pub fn all() -> Self {
        let claimed = known().map(|(name, _)| (name, 1)).collect();
        Capabilities { claimed, ..Capabilities::none() }
    }

    /// All that the rules ask for of who looks after files.
    pub fn complete() -> Self {
        let beyond = OWN_WAYS.iter().chain(WHOLE_AGENT);
        beyond.fold(Capabilities::all(), |all, one| all.without(one))
    }

    /// All that the rules ask for of who looks after a whole agent.
    pub fn whole_agent() -> Self {
        WHOLE_AGENT.iter().fold(Capabilities::complete(), |all, one| all.with(one))
    }

    /// All that the core of this project can do.
    pub fn of_the_core() -> Self {
        let own = ["capture.units", "restore.keeps_undo", INJECTION];
        own.into_iter().fold(Capabilities::whole_agent(), Capabilities::with)
    }

    /// None: only what every implementation does.
    pub fn none() -> Self {
        let (claimed, avoids) = (BTreeMap::new(), BTreeSet::new());
        let (repository, store_folder, keeps, withheld) = (false, None, None, BTreeMap::new());
        Capabilities { claimed, repository, store_folder, avoids, keeps, withheld }
    }

    /// These and one more.
    ///
    /// # Panics
    /// If there is no capability of that name; the message suggests the nearest one.
    pub fn with(mut self, name: &str) -> Self {
        match find(name) {
            Some(claim) => self.claimed.insert(claim, 1),
            None => panic!("{}", unknown(name)),
        };
        self
    }

    /// All that a hello says of what an implementation can do.
    ///
    /// # Errors
    /// As [`Capabilities::read`].
    pub fn of(hello: &Hello) -> Result<Self, String> {
        let mut read = Capabilities::read(&hello.capabilities, &hello.needs)?;
        if !read.repository {
            read.store_folder.clone_from(&hello.store_folder);
        }
        // It stands in every project, whatever a history does.
        if hello.avoids.iter().any(|name| name == REPOSITORY) {
            return Err("`avoids` names `.git`, which is in every project: claim \
                        `capture.no_repositories` where it is left out"
                .into());
        }
        if hello.keeps == Some(0) {
            return Err("`keeps` is 0: at least one checkpoint is kept".into());
        }
        read.avoids.extend(hello.avoids.iter().cloned());
        read.keeps = hello.keeps;
        Ok(read)
    }

    /// Reads the capabilities of a hello; one that is omitted is false.
    ///
    /// # Errors
    /// A capability that does not exist, with the nearest one that does, or a value that is neither
    /// a boolean nor, for a size, its unit.
    pub fn read(capabilities: &BTreeMap<String, Value>, needs: &[String]) -> Result<Self, String> {
        if let Some(unknown) = needs.iter().find(|need| !NEEDS.contains(&need.as_str())) {
            let offered = NEEDS.join("`, `");
            return Err(format!("no sandbox offers `{unknown}`; there is `{offered}`"));
        }
        let mut read = Capabilities::none();
        if !needs.is_empty() {
            read.repository = true;
            read.store_folder = Some(REPOSITORY.to_owned());
        }
        for (name, value) in capabilities {
            match (find(name), value) {
                // The suite finds out by itself.
                (Some(INJECTION | MEASUREMENT), _) => {}
                (Some(claim), Value::Bool(true)) => {
                    read.claimed.insert(claim, 1);
                }
                (Some(_), Value::Bool(false) | Value::Null) => {}
                (None, Value::Bool(true)) if name == COMPLETE => {
                    read.claimed = Capabilities::complete().claimed;
                }
                (None, _) if name == COMPLETE => {}
                (Some(claim), value) => {
                    read.claimed.insert(claim, unit(claim, value)?);
                }
                (None, _) => {
                    return Err(unknown(name));
                }
            }
        }
        Ok(read)
    }

    /// Whether this capability is there.
    pub fn has(&self, claim: &str) -> bool {
        debug_assert!(find(claim).is_some(), "{claim}");
        self.claimed.contains_key(claim)
    }

    /// The names of these capabilities, sorted.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.claimed.keys().copied()
    }

    /// The capabilities that two implementations both have.
    pub fn in_common(&self, other: &Capabilities) -> Capabilities {
        let both = |(claim, unit): (&&'static str, &u64)| {
            Some((*claim, least_common_multiple(*unit, *other.claimed.get(claim)?)))
        };
        Capabilities {
            claimed: self.claimed.iter().filter_map(both).collect(),
            repository: self.repository || other.repository,
            store_folder: self.store_folder.clone().or_else(|| other.store_folder.clone()),
            avoids: self.avoids.union(&other.avoids).cloned().collect(),
            keeps: self.keeps.into_iter().chain(other.keeps).min(),
            withheld: self.withheld.iter().chain(&other.withheld).map(|(k, v)| (*k, *v)).collect(),
        }
    }

    /// These without one of them.
    pub fn without(&self, claim: &str) -> Capabilities {
        let mut capabilities = self.clone();
        capabilities.claimed.retain(|claimed, _| *claimed != claim);
        capabilities
    }

    /// These without one that is claimed and cannot be judged here, for that reason.
    pub fn withhold(&self, claim: &'static str, why: &'static str) -> Capabilities {
        let mut left = self.without(claim);
        if self.has(claim) {
            left.withheld.insert(claim, why);
        }
        left
    }

    /// Why the rule cannot be judged, if it cannot.
    pub fn why_not(&self, rule: RuleRef) -> Option<String> {
        let lacking = self.lacking(rule)?;
        let withheld = self.withheld.get(lacking).map(|why| (*why).to_owned());
        Some(withheld.unwrap_or_else(|| format!("lacks `{lacking}`")))
    }

    /// Whether it looks after anything of an agent beside files.
    pub fn keeps_agent(&self) -> bool {
        WHOLE_AGENT.iter().any(|one| self.has(one))
    }

    /// Whether anything can be asked about the store as a whole, or done to it.
    pub fn keeps_store(&self) -> bool {
        ["sweep", "prune", "status", "clear", "test.store", MAX_TOTAL_BYTES]
            .iter()
            .any(|claim| self.has(claim))
    }

    /// Whether every project must be a git repository, in which the subject keeps its store.
    pub fn needs_repository(&self) -> bool {
        self.repository
    }

    /// The folder of every project that the store lies in, by name, if it does.
    pub fn store_folder(&self) -> Option<&str> {
        self.store_folder.as_deref()
    }

    /// Whether no history uses files or folders of this name.
    pub fn avoids(&self, name: &[u8]) -> bool {
        let is_store = self.store_folder().is_some_and(|folder| folder.as_bytes() == name);
        is_store || self.avoids.iter().any(|avoided| avoided.as_bytes() == name)
    }

    /// A missing capability without which the rule cannot be judged, if there is one.
    pub fn lacking(&self, rule: RuleRef) -> Option<&'static str> {
        if self.repository && OF_A_STORE_OF_ITS_OWN.contains(&rule) {
            return Some("a store outside the project");
        }
        rule.needs.iter().copied().find(|claim| !self.claimed.contains_key(claim))
    }

    /// The settings without those that the implementation lacks, so that it is not held to them.
    pub fn restrict_settings(&self, settings: &Settings) -> Settings {
        let mut kept = settings.clone();
        if !self.has("settings.enabled") {
            kept.enabled = true;
        }
        if !self.has("settings.max_snapshots") {
            kept.max_snapshots = self.keeps.unwrap_or(UNBOUNDED);
        }
        if !self.has("settings.max_files") {
            kept.max_files = UNBOUNDED;
        }
        kept.max_file_bytes = self.settable(MAX_FILE_BYTES, kept.max_file_bytes);
        kept.max_total_bytes = self.settable(MAX_TOTAL_BYTES, kept.max_total_bytes);
        kept
    }

    /// How many bytes make one step of the sizes that files and the whole store are bounded to.
    pub fn units(&self) -> Units {
        let unit = |claim| self.claimed.get(claim).copied().unwrap_or(1);
        Units { file: unit(MAX_FILE_BYTES), total: unit(MAX_TOTAL_BYTES) }
    }

    /// The bound on the size of the whole store that is really set: the one asked for, or none where
    /// it cannot be set to that.
    pub fn max_total_bytes(&self, bytes: u64) -> u64 {
        self.settable(MAX_TOTAL_BYTES, bytes)
    }

    /// Whether a history means what it says: each of its bounds is one that can be set, or that the
    /// implementation lacks anyway.
    pub fn can_set(&self, history: &History) -> bool {
        let can = |claim, bytes| !self.has(claim) || self.settable(claim, bytes) == bytes;
        let prunes = history.operations.iter().filter_map(|operation| match operation {
            Operation::Ask(Request::Prune { max_total_bytes, .. }) => Some(*max_total_bytes),
            _ => None,
        });
        let settings = &history.settings;
        let mut totals = prunes.chain([settings.max_total_bytes]);
        totals.all(|bytes| can(MAX_TOTAL_BYTES, bytes))
            && can(MAX_FILE_BYTES, settings.max_file_bytes)
    }

    fn settable(&self, claim: &str, bytes: u64) -> u64 {
        let unit = self.claimed.get(claim).copied();
        unit.filter(|unit| bytes.is_multiple_of(*unit)).map_or(0, |_| bytes)
    }
}

/// In which steps the sizes that are settings can be set, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// That of the largest file.
    pub file: u64,
    /// That of the whole store.
    pub total: u64,
}

impl Default for Units {
    fn default() -> Self {
        Units { file: 1, total: 1 }
    }
}

/// The unit of a size, as a hello has it.
fn unit(claim: &str, value: &Value) -> Result<u64, String> {
    if !SIZES.contains(&claim) {
        return Err(format!("`{claim}` is true or false, not {value}"));
    }
    let unit = value.as_u64().filter(|unit| *unit > 0);
    unit.ok_or_else(|| format!("`{claim}` is true, false or the bytes of its unit, not {value}"))
}

fn least_common_multiple(one: u64, other: u64) -> u64 {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one / divisor).saturating_mul(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_of_every_name_is_everything() {
        let all = Capabilities::all();
        assert_eq!(all.names().fold(Capabilities::none(), Capabilities::with), all);
    }

    #[test]
    fn a_size_that_is_no_multiple_of_its_unit_is_not_set() {
        let read = |value: Value| {
            Capabilities::read(&BTreeMap::from([(MAX_TOTAL_BYTES.to_owned(), value)]), &[])
        };
        let (by_one, by_ten) = (read(true.into()).unwrap(), read(10.into()).unwrap());
        for (capabilities, asked, set) in [
            (&by_one, 25, 25),
            (&by_ten, 30, 30),
            (&by_ten, 25, 0),
            (&by_ten, 0, 0),
            (&Capabilities::none(), 30, 0),
        ] {
            let settings = Settings { max_total_bytes: asked, ..Settings::default() };
            assert_eq!(capabilities.restrict_settings(&settings).max_total_bytes, set);
            assert_eq!(capabilities.max_total_bytes(asked), set);
        }
        assert_eq!(by_ten.units(), Units { file: 1, total: 10 });
        let by_four = read(4.into()).unwrap();
        assert_eq!(by_ten.in_common(&by_four).units().total, 20);
        assert_eq!(by_ten.in_common(&by_one), by_ten);
        assert_eq!(by_ten.in_common(&Capabilities::none()), Capabilities::none());
        for wrong in [Value::from(0), Value::from(-1), Value::from("1 MiB")] {
            assert!(read(wrong).unwrap_err().contains("the bytes of its unit"));
        }
        let number = BTreeMap::from([("diff".to_owned(), Value::from(2))]);
        assert!(Capabilities::read(&number, &[]).unwrap_err().contains("is true or false"));
    }

    #[test]
    fn what_is_fixed_is_not_set_and_what_is_in_every_project_is_not_avoided() {
        let hello = |field: &str| {
            let text =
                format!(r#"{{"protocol": 1, "impl": {{"name": "x", "version": "1"}}, {field}}}"#);
            Capabilities::of(&serde_json::from_str(&text).unwrap())
        };
        let kept = |claimed: &Capabilities| {
            claimed.restrict_settings(&Settings { max_snapshots: 3, ..Settings::default() })
        };
        let fixed = hello(r#""keeps": 15"#).unwrap();
        assert_eq!(kept(&fixed).max_snapshots, 15);
        assert_eq!(kept(&fixed.clone().with("settings.max_snapshots")).max_snapshots, 3);
        assert_eq!(kept(&fixed.in_common(&Capabilities::none())).max_snapshots, 15);
        assert!(hello(r#""keeps": 0"#).unwrap_err().contains("at least one"));
        assert!(hello(r#""avoids": [".git"]"#).unwrap_err().contains("capture.no_repositories"));
    }

    #[test]
    fn a_history_with_a_bound_that_cannot_be_set_says_something_else() {
        let by_ten = BTreeMap::from([
            (MAX_TOTAL_BYTES.to_owned(), Value::from(10)),
            (MAX_FILE_BYTES.to_owned(), Value::from(10)),
        ]);
        let by_ten = Capabilities::read(&by_ten, &[]).unwrap();
        let history = |max_file_bytes, max_total_bytes, pruned| {
            let prune =
                Request::Prune { retention_days: 0, max_total_bytes: pruned, delete_orphans: true };
            let settings = Settings { max_file_bytes, max_total_bytes, ..Settings::default() };
            History { settings, operations: vec![prune.into()], ..History::default() }
        };
        assert!(by_ten.can_set(&history(0, 10, 500)));
        for one in [history(1, 10, 10), history(10, 11, 10), history(10, 10, 9)] {
            assert!(!by_ten.can_set(&one));
            assert!(Capabilities::all().can_set(&one) && Capabilities::none().can_set(&one));
        }
    }

    #[test]
    #[should_panic(
        expected = "there is no capability `restore.exac`; did you mean `restore.exact`?"
    )]
    fn a_name_that_is_none_is_refused_with_the_nearest() {
        let _ = Capabilities::none().with("restore.exac");
    }
}
