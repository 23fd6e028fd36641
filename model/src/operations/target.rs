//! Finding the checkpoint that a target names.

use crate::allowed::Allowed;
use crate::answer::Code;
use crate::place::{Place, Standing};
use crate::refusal::Refusal;
use crate::rules;
use crate::target::{self, Target};
use crate::world::{Checkpoint, World};

/// The refusal of a project whose path holds something else now.
pub(super) const NOT_A_DIRECTORY: Refusal =
    Refusal { codes: &[Code::NotADirectory], rule: &rules::SCOPE_NO_DIRECTORY };

/// The refusal of a directory that is not there and of which nothing is kept.
pub(super) const NO_SUCH_PROJECT: Refusal = Refusal {
    codes: &[Code::MissingDirectory, Code::UnknownCheckpoint, Code::NotADirectory],
    rule: &rules::SCOPE_NO_DIRECTORY,
};

/// The refusal of what names several checkpoints.
const AMBIGUOUS: Refusal =
    Refusal { codes: &[Code::AmbiguousCheckpoint], rule: &rules::RESTORE_TARGET };

/// The refusal of a label that several checkpoints have.
const AMBIGUOUS_LABEL: Refusal =
    Refusal { codes: &[Code::AmbiguousCheckpoint], rule: &rules::AGENT_ALL_OR_NONE };

/// The index of a checkpoint that is not in the list.
pub(super) const UNLISTED: usize = usize::MAX;

/// The checkpoint of that label, if there is any.
///
/// Implements [`rules::AGENT_ALL_OR_NONE`].
fn labelled<'a>(
    listed: &'a [Checkpoint],
    text: &[u8],
) -> Option<Result<(usize, &'a Checkpoint), Refusal>> {
    let has_it =
        |one: &Checkpoint| one.carried.label.as_ref().is_some_and(|label| label.as_bytes() == text);
    let mut found = listed.iter().enumerate().filter(|(_, one)| has_it(one));
    let first = found.next()?;
    Some(found.next().map_or(Ok(first), |_| Err(AMBIGUOUS_LABEL)))
}

impl World {
    /// Whether it is not known what `text` names, since some pre-rollback checkpoint made room and
    /// which one was for the implementation to choose, or since one is damaged.
    pub(crate) fn is_doubtful(&self, place: &Place, text: &[u8]) -> bool {
        let Place::Inside(project, _) = place else { return false };
        let ids: Vec<&str> = self.listed(project).iter().map(|one| one.id.as_str()).collect();
        if self.is_adrift(project) {
            return true;
        }
        let target = target::parse(text, &ids, self.has("target.number"));
        let by_damage = match target {
            Target::Malformed => false,
            Target::Number(_) => self.is_renumbered(project),
            // One that is out of sight may be seen again.
            Target::Id(_) => self.is_disturbed(project) && self.find(place, text).is_err(),
        };
        let by_limit = matches!(&target, Target::Id(digits) if self.may_name_undo(project, digits));
        if by_damage || by_limit || !self.is_open(project) {
            return by_damage || by_limit;
        }
        match target {
            Target::Malformed if !self.has("label") => false,
            Target::Number(_) => true,
            Target::Malformed | Target::Id(_) => {
                let may_be_gone =
                    |found: &Checkpoint| found.safety || self.may_be_gone(project, &found.id);
                self.find(place, text).map_or(true, |(_, found)| may_be_gone(found))
            }
        }
    }

    /// Whether a checkpoint of that index in the list is only there since a restore pushes nothing
    /// out, and was before it.
    pub(super) fn is_spared(&self, project: &[u8], index: usize) -> bool {
        let listed = self.listed(project).len();
        self.was_whole(project)
            && !self.has_pins(project)
            && index < listed.saturating_sub(self.settings.max_snapshots)
    }

    /// The refusal of a place that no checkpoint can be taken of: as good a reason as that the target
    /// names no checkpoint of it. A deleted project may still have some.
    pub(super) fn refuses_place(&self, place: &Place) -> Option<Refusal> {
        let is_kept = |project| !self.listed(project).is_empty();
        match place {
            Place::Inside(project, Standing::Nothing) if is_kept(project) => None,
            place => self.out_of_scope(place),
        }
    }

    /// The refusal of a target, or of its place.
    pub(super) fn refuses_target(&self, place: &Place, refusal: Refusal) -> Allowed {
        Allowed::Refused([Some(refusal), self.refuses_place(place)].into_iter().flatten().collect())
    }

    /// The checkpoint that `text` names among those listed for the project, with its index; where its
    /// id names one that is not listed, that is [`UNLISTED`].
    ///
    /// Implements [`rules::RESTORE_TARGET`], [`rules::RESTORE_OWN_CHECKPOINT`],
    /// [`rules::RESTORE_BAD_TARGET`] and [`rules::RESTORE_KEEPS_UNDO`].
    pub(crate) fn find(&self, place: &Place, text: &[u8]) -> Result<(usize, &Checkpoint), Refusal> {
        let listed = match place {
            Place::Inside(project, _) => self.listed(project),
            Place::FileSystemRoot | Place::Elsewhere(_) => &[],
        };
        // Whoever has ids of another form may say that of what has the form of ours.
        let codes: &[Code] = match self.has("target.short") {
            true => &[Code::UnknownCheckpoint],
            false => &[Code::UnknownCheckpoint, Code::BadTarget],
        };
        let unknown = Refusal { codes, rule: &rules::RESTORE_OWN_CHECKPOINT };
        // What is no id names no checkpoint either: saying that is as good a reason.
        let malformed = Refusal {
            codes: &[Code::UnknownCheckpoint, Code::BadTarget],
            rule: &rules::RESTORE_BAD_TARGET,
        };
        let ids: Vec<&str> = listed.iter().map(|one| one.id.as_str()).collect();
        let parsed = target::parse(text, &ids, self.has("target.number"));
        if !matches!(parsed, Target::Number(_))
            && let Some(found) = labelled(listed, text)
        {
            return found;
        }
        match parsed {
            Target::Malformed => Err(malformed),
            Target::Number(number) => {
                let index = listed.len().checked_sub(number).filter(|_| number > 0);
                index.map(|index| (index, &listed[index])).ok_or(malformed)
            }
            Target::Id(digits) => {
                // A whole id may be the beginning of another one.
                let whole = listed.iter().enumerate().find(|(_, one)| one.id == digits);
                if let Some(whole) = whole {
                    return Ok(whole);
                }
                let named = |one: &Checkpoint| target::begins_with(&one.id, &digits);
                let mut found = listed.iter().enumerate().filter(|(_, one)| named(one));
                let kept = || match place {
                    Place::Inside(project, _) => self.kept_undo(project, &digits),
                    Place::FileSystemRoot | Place::Elsewhere(_) => None,
                };
                match (found.next(), found.next()) {
                    (Some(only), None) => Ok(only),
                    // Its index is that of none in the list.
                    (None, _) => kept().map(|kept| (UNLISTED, kept)).ok_or(unknown),
                    (Some(_), Some(_)) => Err(AMBIGUOUS),
                }
            }
        }
    }
}
