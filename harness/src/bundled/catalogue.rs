//! The list of bundled subjects.

use super::{Bundled, Packages};

/// What the versions of hermes-agent share.
const HERMES: Bundled = Bundled {
    name: "hermes-agent",
    version: "",
    what: "the checkpoint manager of hermes-agent, driven in-process",
    adapter: ("adapter.py", include_str!("../../adapters/hermes-agent/adapter.py")),
    expectations: include_str!("../../expectations/hermes-agent.toml"),
    packages: Packages::Python(&[]),
    sources: &["tools/checkpoint_manager.py"],
};

impl Bundled {
    /// The text of the expectations file for runs with injections, if the subject has one.
    pub fn injected(&self) -> Option<&'static str> {
        match self.name {
            "hermes-agent" => Some(include_str!("../../expectations/injected/hermes-agent.toml")),
            "microclaw-engine" => {
                Some(include_str!("../../expectations/injected/microclaw-engine.toml"))
            }
            _ => None,
        }
    }
}

/// Every bundled subject; versions of the same package are in ascending order.
pub static CATALOGUE: &[Bundled] = &[
    Bundled {
        version: "0.13.0",
        packages: Packages::Python(&[(
            "hermes-agent==0.13.0",
            Some("e11a8c57c1f57d9a1319ada006889ecde8ed8179c4f8f57af79c65de0033be11"),
        )]),
        ..HERMES
    },
    Bundled {
        version: "0.16.0",
        packages: Packages::Python(&[(
            "hermes-agent==0.16.0",
            Some("accb5a4a4827b41b3d162d2eb0b5f6db585d942ee23a3678ef21fc94d21c34a2"),
        )]),
        ..HERMES
    },
    Bundled {
        version: "0.19.0",
        packages: Packages::Python(&[
            (
                "hermes-agent==0.19.0",
                Some("bd0bac012aee38a60894781f4597dc29ee7bedb3448540249921f10d3bef327f"),
            ),
            // The files differ between machines, so no single hash matches.
            ("PyYAML==6.0.3", None),
        ]),
        ..HERMES
    },
    Bundled {
        name: "gemini-cli-core",
        version: "0.61.0",
        what: "the GitService of gemini-cli, driven in-process",
        adapter: ("adapter.mjs", include_str!("../../adapters/gemini-cli-core/adapter.mjs")),
        expectations: include_str!("../../expectations/gemini-cli-core.toml"),
        packages: Packages::Node("@google/gemini-cli-core@0.61.0"),
        sources: &["node_modules/@google/gemini-cli-core/dist/src/services/gitService.js"],
    },
    Bundled {
        name: "rewind-ai",
        version: "1.1.0",
        what: "snapshots in the project's own repository, driven by its command",
        adapter: ("adapter.py", include_str!("../../adapters/rewind-ai/adapter.py")),
        expectations: include_str!("../../expectations/rewind-ai.toml"),
        packages: Packages::Python(&[
            (
                "rewind-ai==1.1.0",
                Some("eebf6ceb89aea8f2f0fed4c17ee64642b36b205866b458fa4df057cd4ced5939"),
            ),
            ("click==8.5.1", None),
            ("GitPython==3.2.1", None),
            ("gitdb==4.0.12", None),
            ("smmap==5.0.3", None),
            ("rich==15.0.0", None),
            ("markdown-it-py==4.3.0", None),
            ("mdurl==0.1.2", None),
            ("Pygments==2.21.0", None),
            ("watchdog==7.1.0", None),
            ("psutil==7.2.2", None),
            ("platformdirs==4.14.7", None),
        ]),
        sources: &["rewind/checkpoint.py", "rewind/cli.py"],
    },
    Bundled {
        name: "restic",
        version: "0.14.0",
        what: "a general snapshot store, the yardstick that is byte-exact",
        adapter: ("adapter.py", include_str!("../../adapters/restic/adapter.py")),
        expectations: include_str!("../../expectations/restic.toml"),
        packages: Packages::Debian(&["restic=0.14.0-1+b5"]),
        sources: &[],
    },
    Bundled {
        name: "borg",
        version: "1.2.4",
        what: "a general archiver, which extracts over what is there",
        adapter: ("adapter.py", include_str!("../../adapters/borg/adapter.py")),
        expectations: include_str!("../../expectations/borg.toml"),
        packages: Packages::Debian(&[
            "borgbackup=1.2.4-1",
            "python3-msgpack=1.0.3-2+b1",
            "python3-packaging=23.0-1",
        ]),
        sources: &[],
    },
    Bundled {
        name: "undo-core",
        version: "0.2.0",
        what: "a journal of copies in a folder of the project, driven in-process",
        adapter: ("adapter.rs", include_str!("../../adapters/undo-core/adapter.rs")),
        expectations: include_str!("../../expectations/undo-core.toml"),
        packages: Packages::Crate {
            manifest: include_str!("../../adapters/undo-core/Cargo.toml"),
            lock: include_str!("../../adapters/undo-core/Cargo.lock"),
        },
        sources: &[],
    },
    Bundled {
        name: "microclaw-engine",
        version: "0.11.1",
        what: "the port of hermes-agent's first checkpoints to Rust, driven in-process",
        adapter: ("adapter.rs", include_str!("../../adapters/microclaw-engine/adapter.rs")),
        expectations: include_str!("../../expectations/microclaw-engine.toml"),
        packages: Packages::Crate {
            manifest: include_str!("../../adapters/microclaw-engine/Cargo.toml"),
            lock: include_str!("../../adapters/microclaw-engine/Cargo.lock"),
        },
        sources: &[],
    },
    Bundled {
        name: "stepback",
        version: "0.2.0",
        what: "snapshots under refs of the project's own repository, driven in-process",
        adapter: ("adapter.py", include_str!("../../adapters/stepback/adapter.py")),
        expectations: include_str!("../../expectations/stepback.toml"),
        packages: Packages::Python(&[(
            "stepback==0.2.0",
            Some("2bb896126aded68bf9295ef7440dc2724eda9562006251323306acfe2f0f89e3"),
        )]),
        sources: &[],
    },
    Bundled {
        name: "stillworks",
        version: "0.7.1",
        what: "its command unedit: contents by hash in a folder of the project",
        adapter: ("adapter.py", include_str!("../../adapters/stillworks/adapter.py")),
        expectations: include_str!("../../expectations/stillworks.toml"),
        packages: Packages::Python(&[(
            "stillworks==0.7.1",
            Some("c69aedbad754879f121f78cbcf7c1fadc5cd7fb0346c92a49a4e1a7875f645b6"),
        )]),
        sources: &[],
    },
    Bundled {
        name: "awrecover",
        version: "0.3.1",
        what: "labelled snapshots; a restore makes the folder anew and swaps the two",
        adapter: ("adapter.py", include_str!("../../adapters/awrecover/adapter.py")),
        expectations: include_str!("../../expectations/awrecover.toml"),
        packages: Packages::Python(&[
            (
                "awrecover==0.3.1",
                Some("2a99a13da2a8fc60ea880496811fafe806dd23b52161da10bee393542c441740"),
            ),
            (
                "awshare==0.2.3",
                Some("df1eb160be6c52b039917d53f5c123c76c9c8d24cffeafec21425f52b57441ff"),
            ),
        ]),
        sources: &[],
    },
    Bundled {
        name: "opendot",
        version: "0.4.3",
        what: "contents by hash with a manifest for each action, driven in-process",
        adapter: ("adapter.py", include_str!("../../adapters/opendot/adapter.py")),
        expectations: include_str!("../../expectations/opendot.toml"),
        packages: Packages::Python(&[(
            "opendot==0.4.3",
            Some("8406871edf93354ab336bf1c05b92b332524e9f05289131ac50bfe6d97bd4621"),
        )]),
        sources: &[],
    },
    Bundled {
        name: "lcode-cli",
        version: "0.51.0",
        what: "a private git repository for each folder, driven in-process",
        adapter: ("adapter.py", include_str!("../../adapters/lcode-cli/adapter.py")),
        expectations: include_str!("../../expectations/lcode-cli.toml"),
        packages: Packages::Python(&[
            (
                "lcode-cli==0.51.0",
                Some("6ef2221e6cc947a65462c362665f396204937d35cca7cb08b91115bedab68803"),
            ),
            ("rich==15.0.0", None),
        ]),
        sources: &[],
    },
];
