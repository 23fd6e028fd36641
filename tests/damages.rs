//! `herma-conform damage` with one kind of damage for each store file: the file exists and is damaged, and no
//! rule fails for the core.

use herma_harness::generate::damages;
use herma_harness::runner::{Event, RunOptions, Until, run};
use herma_harness::sandbox::Scratch;
use herma_harness::subject::CoreSubject;

#[test]
fn damages_finds_each_file_that_it_must_damage() {
    let removed = damages().into_iter().filter(|(name, _)| name.contains("is Removed, then take"));
    let mut count = 0;
    for (name, history) in removed {
        let mut is_damaged = false;
        let mut watch = |event: Event| {
            is_damaged |= matches!(event, Event::StoreEdited(_, Some(_)));
        };
        let scratch = Scratch::in_default_directory();
        let options =
            RunOptions { until: Until::End, watch: Some(&mut watch), ..RunOptions::default() };
        let run = run(&history, &CoreSubject::boxed, &scratch, options).unwrap();
        assert!(run.divergences.is_empty(), "{name}: {:?}", run.divergences);
        assert!(is_damaged, "{name}");
        count += 1;
    }
    assert_eq!(count * 8 * 4, damages().len());
}
