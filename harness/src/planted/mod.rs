//! Planted bugs: deliberately broken subjects, each a core that breaks one named rule. The suite must find
//! every one, name the rule and reach the shortest history.
//!
//! A bug is a row: a name, the rule, one sentence about the bug, the fewest operations that show it, and
//! the flaw. Every rule that is judged has one bug. A few rules have more, for mistakes that the suite once
//! missed or that a written case shows.
//!
//! For each subject of the rule book, such as `restore`, one or a few files contain the rows. This module
//! only opens bugs as subjects; [`hunt`] searches for them.

mod after_restore;
mod agent;
mod attribution;
mod capture;
mod configured;
mod cost;
mod damaged;
mod faulty_disk;
pub mod hunt;
mod injected;
mod intercepted;
mod isolation;
mod layout;
mod left_out;
mod limits;
mod listing;
mod maintenance;
mod migration;
mod restore;
mod restore_files;
mod restore_target;
mod restore_writes;
mod scope;
mod stored;
mod sweep;
mod turn;
mod units;
mod values;

use crate::inject::{Injected, Point};
use crate::protocol::capabilities::Capabilities;
use crate::sandbox::Sandbox;
use crate::subject::{CoreSubject, Identity, Measurable, Subject};
use faulty_disk::{DiskFault, FaultyDisk};
use herma_model::rules::RuleRef;
use herma_model::{Answer, Request, Settings};
use intercepted::Intercepted;
use std::io;
use std::sync::Arc;

/// One planted bug.
pub struct PlantedBug {
    /// Its name.
    pub name: &'static str,
    /// The rule it breaks.
    pub rule: RuleRef,
    /// What is wrong, in a sentence.
    pub about: &'static str,
    /// The fewest operations that show it; shrinking must reach this number.
    pub operations_min: usize,
    /// The flaw of the core.
    flaw: Flaw,
}

/// How a core is broken.
enum Flaw {
    /// Code around the core changes its requests, its answers, or the files and the store after a request.
    Intercepted(fn(&mut Intercepted, &Request) -> Answer),
    /// Its disk has a fault.
    Disk(DiskFault),
    /// It runs with other settings than it was given.
    Configured(fn(&mut Settings)),
}

impl PlantedBug {
    /// Returns a function that opens the broken subject in a sandbox.
    pub fn opener(&self) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
        |sandbox, settings, seconds| self.open(sandbox, settings, seconds)
    }

    fn open(&self, sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Box<dyn Subject> {
        let subject: Box<dyn Subject> = match self.flaw {
            Flaw::Intercepted(ask) => Box::new(InterceptedSubject {
                subject: Intercepted::new(sandbox, settings, seconds),
                ask,
            }),
            Flaw::Disk(fault) => {
                let disk = Arc::new(FaultyDisk::new(sandbox, fault));
                let injector = disk.injector();
                let environment = CoreSubject::environment_in(sandbox);
                let core = CoreSubject::in_environment(disk, environment, settings, seconds);
                Box::new(core.with_injector(injector))
            }
            Flaw::Configured(configure) => {
                let mut settings = settings.clone();
                configure(&mut settings);
                Box::new(CoreSubject::new(sandbox, &settings, seconds))
            }
        };
        let sandbox = sandbox.shared();
        let settings = settings.clone();
        Measurable { subject, bug: Some(self.name), sandbox, settings, seconds }.boxed()
    }
}

/// A core with code around it.
struct InterceptedSubject {
    subject: Intercepted,
    ask: fn(&mut Intercepted, &Request) -> Answer,
}

impl Subject for InterceptedSubject {
    fn identity(&self) -> Identity {
        self.subject.core.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.subject.core.capabilities()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        (self.ask)(&mut self.subject, request)
    }

    fn ask_injected(&mut self, request: &Request, point: &Point) -> io::Result<Option<Injected>> {
        let ask = self.ask;
        self.subject.ask_injected(request, point, ask)
    }
}

/// Every planted bug, in the order of the rule book.
pub fn catalogue() -> impl Iterator<Item = &'static PlantedBug> {
    [
        scope::BUGS,
        turn::BUGS,
        capture::BUGS,
        values::BUGS,
        listing::BUGS,
        restore_target::BUGS,
        restore::BUGS,
        restore_writes::BUGS,
        left_out::BUGS,
        restore_files::BUGS,
        units::BUGS,
        attribution::BUGS,
        isolation::BUGS,
        layout::BUGS,
        limits::BUGS,
        sweep::BUGS,
        maintenance::BUGS,
        damaged::BUGS,
        migration::BUGS,
        configured::BUGS,
        injected::BUGS,
        cost::BUGS,
        agent::BUGS,
    ]
    .into_iter()
    .flatten()
}

/// The planted bug of that name.
pub fn find(name: &str) -> Option<&'static PlantedBug> {
    catalogue().find(|bug| bug.name == name)
}
