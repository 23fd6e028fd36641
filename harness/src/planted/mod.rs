//! Planted bugs: deliberately broken subjects, each a core that breaks one named rule. The suite
//! must find every one, name the rule and reach the shortest history.
//!
//! One file for each subject of the rule book holds its bugs; a bug is data: what it is called,
//! what it breaks, what it is and how it is made. This module only opens them; looking for them is
//! [`hunt`]'s.

mod after_restore;
mod capture;
mod faulty_disk;
pub mod hunt;
mod intercepted;
mod isolation;
mod layout;
mod limits;
mod listing;
mod maintenance;
mod migration;
pub mod page;
mod restore;
mod restore_path;
mod restore_protects;
mod restore_safety;
mod restore_target;
mod scope;
mod stored;
mod sweep;
mod turn;

use crate::sandbox::Sandbox;
use crate::subject::{CoreSubject, Identity, Subject};
use faulty_disk::{DiskFaults, FaultyDisk};
use herma_model::rules::RuleRef;
use herma_model::{Answer, Request, Settings};
use intercepted::Intercepted;
use std::sync::Arc;

/// One planted bug.
pub struct PlantedBug {
    /// What it is called.
    pub name: &'static str,
    /// The rule it breaks.
    pub rule: RuleRef,
    /// What is wrong, in a sentence.
    pub about: &'static str,
    /// As few operations show it, and every search must get there.
    pub operations_min: usize,
    /// How it is wrong.
    flaw: Flaw,
}

/// How a core is broken.
enum Flaw {
    /// It is asked something else, something is done around it, or its answer is another.
    Intercepted(fn(&mut Intercepted, &Request) -> Answer),
    /// Its disk does something wrong.
    Disk(DiskFaults),
    /// Its disk does something wrong while a checkpoint is asked for, and else nothing.
    DiskInCheckpoints(DiskFaults),
    /// It is configured otherwise than it was told.
    Configured(fn(&mut Settings)),
}

impl PlantedBug {
    /// What opens the broken subject in a sandbox.
    pub fn opener(&self) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
        |sandbox, settings, seconds| self.open(sandbox, settings, seconds)
    }

    fn open(&self, sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Box<dyn Subject> {
        match self.flaw {
            Flaw::Intercepted(ask) => Box::new(InterceptedSubject {
                host: Intercepted::new(sandbox, settings, seconds),
                ask,
            }),
            Flaw::Disk(bends) => {
                let disk = Arc::new(FaultyDisk::new(sandbox, bends));
                Box::new(on_disk(disk, sandbox, settings, seconds))
            }
            Flaw::DiskInCheckpoints(bends) => {
                let disk = Arc::new(FaultyDisk::new(sandbox, bends));
                let core = on_disk(disk.clone(), sandbox, settings, seconds);
                Box::new(FaultyInCheckpoints { disk, core })
            }
            Flaw::Configured(configure) => {
                let mut settings = settings.clone();
                configure(&mut settings);
                CoreSubject::boxed(sandbox, &settings, seconds)
            }
        }
    }
}

/// A core on a disk of the sandbox.
fn on_disk(
    disk: Arc<FaultyDisk>,
    sandbox: &Sandbox,
    settings: &Settings,
    seconds: i64,
) -> CoreSubject {
    let environment = CoreSubject::environment_in(sandbox);
    CoreSubject::in_environment(disk, environment, settings, seconds)
}

/// A core whose disk is only bent while it takes a checkpoint.
struct FaultyInCheckpoints {
    disk: Arc<FaultyDisk>,
    core: CoreSubject,
}

impl Subject for FaultyInCheckpoints {
    fn identity(&self) -> Identity {
        self.core.identity()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        self.disk.bend(intercepted::takes(request));
        self.core.ask(request)
    }
}

/// A core that somebody stands before.
struct InterceptedSubject {
    host: Intercepted,
    ask: fn(&mut Intercepted, &Request) -> Answer,
}

impl Subject for InterceptedSubject {
    fn identity(&self) -> Identity {
        self.host.core.identity()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        (self.ask)(&mut self.host, request)
    }
}

/// Every planted bug, in the order of the rule book.
pub fn catalogue() -> impl Iterator<Item = &'static PlantedBug> {
    [
        scope::BUGS,
        turn::BUGS,
        capture::BUGS,
        listing::BUGS,
        restore_target::BUGS,
        restore_path::BUGS,
        restore_safety::BUGS,
        restore::BUGS,
        restore_protects::BUGS,
        isolation::BUGS,
        layout::BUGS,
        limits::BUGS,
        sweep::BUGS,
        maintenance::BUGS,
        migration::BUGS,
    ]
    .into_iter()
    .flatten()
}

/// The planted bug of that name.
pub fn find(name: &str) -> Option<&'static PlantedBug> {
    catalogue().find(|bug| bug.name == name)
}
