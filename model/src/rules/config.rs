//! The settings in the configuration file.

super::rules! {
    CONFIG_KEYS {
        id: "config/keys",
        statement: "The `checkpoints` section of the configuration file has the documented keys \
            and defaults.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Base and configuration; seed 000",
        needs: ["config"],
        hint: "A key is not read, or has another default than the documents say: compare each with \
            their table.",
    }
}
