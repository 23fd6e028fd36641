//! Makes a failing story smaller: by operations first, then by messages, then by single calls.

use super::story::{CheckpointChoice, Story, StoryOperation};

/// The smallest story found that `still_fails`, in at most `runs` runs.
pub fn shrink(
    story: &Story,
    mut runs: usize,
    mut still_fails: impl FnMut(&Story) -> bool,
) -> Story {
    let mut smallest = story.clone();
    let mut index = 0;
    let mut has_shrunk = false;
    loop {
        match smaller(&smallest).into_iter().nth(index) {
            Some(_) if runs == 0 => return smallest,
            Some(candidate) => {
                runs -= 1;
                // The next part then has the same index.
                if still_fails(&candidate) {
                    smallest = candidate;
                    has_shrunk = true;
                } else {
                    index += 1;
                }
            }
            None if has_shrunk => {
                has_shrunk = false;
                index = 0;
            }
            None => return smallest,
        }
    }
}

/// The stories with one part less, those with the larger part first.
fn smaller(story: &Story) -> Vec<Story> {
    let operations = 0..story.operations.len();
    let fewer = operations.clone().filter_map(|index| without_operation(story, index));
    let mut stories: Vec<Story> = fewer.collect();
    for index in operations {
        let operation = &story.operations[index];
        let Some(steps) = operation.steps() else { continue };
        let with = |steps| {
            let mut story = story.clone();
            story.operations[index] = operation.with_steps(steps);
            story
        };
        for (at, step) in steps.iter().enumerate() {
            let mut fewer = steps.clone();
            fewer.remove(at);
            stories.push(with(fewer));
            for call in 0..step.len() {
                let mut fewer = steps.clone();
                fewer[at].remove(call);
                if step.len() > 1 {
                    stories.push(with(fewer));
                }
            }
        }
    }
    let named = story.named_files();
    let mut unnamed = story.clone();
    unnamed.files.retain(|path, _| named.contains(path.as_str()));
    if unnamed != *story {
        stories.push(unnamed);
    }
    stories.retain(Story::is_possible);
    stories
}

/// The story without an operation; `None` if a later operation needs it.
fn without_operation(story: &Story, index: usize) -> Option<Story> {
    let mut story = story.clone();
    let turn = story.operations[..=index].iter().filter(|operation| operation.is_turn()).count();
    let removed = story.operations.remove(index);
    if !removed.is_turn() {
        return Some(story);
    }
    for operation in &mut story.operations[index..] {
        let (StoryOperation::Preview(choice) | StoryOperation::Restore { to: choice, .. }) =
            operation
        else {
            continue;
        };
        match choice {
            CheckpointChoice::Turn(number) if *number == turn => return None,
            CheckpointChoice::Turn(number) if *number > turn => *number -= 1,
            _ => {}
        }
    }
    Some(story)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front_door::story::StoryCall;

    #[test]
    fn shrink_keeps_what_the_failure_needs_and_counts_turns_anew() {
        let write =
            |path: &str| StoryCall::Write { path: path.to_owned(), content: "x".to_owned() };
        let story = Story {
            files: [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())].into(),
            operations: vec![
                StoryOperation::TALK,
                StoryOperation::Say(vec![vec![write("a"), write("c")], vec![write("d")]]),
                StoryOperation::Resume,
                StoryOperation::restore(CheckpointChoice::Turn(2)),
                StoryOperation::TALK,
            ],
        };
        let writes_a = |story: &Story| {
            let has_restore = story.operations.iter().any(|operation| {
                matches!(operation, StoryOperation::Restore { to: CheckpointChoice::Turn(_), .. })
            });
            has_restore && story.to_yaml().contains("path: a")
        };
        let expected = Story {
            files: [("a".to_owned(), "1".to_owned())].into(),
            operations: vec![
                StoryOperation::Say(vec![vec![write("a")]]),
                StoryOperation::restore(CheckpointChoice::Turn(1)),
            ],
        };
        assert_eq!(shrink(&story, 100, writes_a), expected);
        assert_eq!(shrink(&story, 0, writes_a), story);
    }
}
