//! Finding the checkpoint that a target names.

use crate::allowed::Allowed;
use crate::answer::Code;
use crate::excuse::Excuse;
use crate::place::{Location, PathKind};
use crate::refusal::Refusal;
use crate::rules;
use crate::target::{self, ParsedTarget};
use crate::world::{Checkpoint, World};

/// The refusal of a project whose path is not a directory any more.
pub(super) const NOT_A_DIRECTORY: Refusal =
    Refusal { codes: &[Code::NotADirectory], rule: &rules::SCOPE_NO_DIRECTORY };

/// The refusal of a missing directory without checkpoints.
pub(super) const NO_SUCH_PROJECT: Refusal = Refusal {
    codes: &[Code::MissingDirectory, Code::UnknownCheckpoint, Code::NotADirectory],
    rule: &rules::SCOPE_NO_DIRECTORY,
};

/// The refusal of a target that names several checkpoints.
const AMBIGUOUS: Refusal =
    Refusal { codes: &[Code::AmbiguousCheckpoint], rule: &rules::RESTORE_TARGET };

/// The refusal of a label that several checkpoints have.
const AMBIGUOUS_LABEL: Refusal =
    Refusal { codes: &[Code::AmbiguousCheckpoint], rule: &rules::AGENT_ALL_OR_NONE };

/// The index of a checkpoint that is not in the list.
pub(super) const UNLISTED: usize = usize::MAX;

/// The checkpoint with this label, if there is any.
///
/// Implements [`rules::AGENT_ALL_OR_NONE`].
fn labelled<'a>(
    listed: &'a [Checkpoint],
    text: &[u8],
) -> Option<Result<(usize, &'a Checkpoint), Refusal>> {
    let has_label = |checkpoint: &Checkpoint| {
        checkpoint.carried.label.as_ref().is_some_and(|label| label.as_bytes() == text)
    };
    let mut found = listed.iter().enumerate().filter(|(_, checkpoint)| has_label(checkpoint));
    let first = found.next()?;
    Some(found.next().map_or(Ok(first), |_| Err(AMBIGUOUS_LABEL)))
}

impl World {
    /// Why it is unknown what `text` names: the implementation chose which pre-restore checkpoint to evict
    /// or to keep, or one is damaged. `None` where it is known.
    pub(crate) fn doubt(&self, location: &Location, text: &[u8]) -> Option<Excuse> {
        let Location::Inside(project, _) = location else { return None };
        let listed = self.listed(project).iter();
        let ids: Vec<&str> = listed.map(|checkpoint| checkpoint.id.as_str()).collect();
        if self.is_newest_unnamed(project) {
            return Some(Excuse::Damage);
        }
        let numbered = self.numbered(self.listed(project));
        let target = target::parse(text, &ids, self.has("target.number").then_some(numbered.len()));
        let by_damage = match target {
            ParsedTarget::Malformed => false,
            ParsedTarget::Number(_) => {
                self.is_renumbered(project)
                    || self.listed(project).iter().any(|found| self.has_number(found).is_none())
            }
            // An unlisted checkpoint may be listed again.
            ParsedTarget::Id(_) => {
                self.is_partially_corrupted(project) && self.find(location, text).is_err()
            }
        };
        let by_limit =
            matches!(&target, ParsedTarget::Id(digits) if self.may_name_unlisted(project, digits));
        if by_damage {
            return Some(Excuse::Damage);
        }
        let is_doubtful = by_limit
            || self.is_eviction_undecided(project)
                && match target {
                    ParsedTarget::Malformed if !self.has("label") => false,
                    ParsedTarget::Number(_) => true,
                    ParsedTarget::Malformed | ParsedTarget::Id(_) => {
                        let may_be_evicted = |found: &Checkpoint| {
                            found.safety || self.may_be_evicted(project, &found.id)
                        };
                        self.find(location, text).map_or(true, |(_, found)| may_be_evicted(found))
                    }
                };
        is_doubtful.then_some(Excuse::Eviction)
    }

    /// Whether a checkpoint has a number in the list; `None` where damage may hide that a restore took it.
    pub(super) fn has_number(&self, checkpoint: &Checkpoint) -> Option<bool> {
        let is_before_restore = checkpoint.safety && self.has("target.stable_number");
        (!is_before_restore || !self.is_damaged(checkpoint)).then_some(!is_before_restore)
    }

    /// The checkpoints with a number among those `listed`, each with its index, oldest first.
    fn numbered<'a>(&self, listed: &'a [Checkpoint]) -> Vec<(usize, &'a Checkpoint)> {
        let listed = listed.iter().enumerate();
        listed.filter(|(_, checkpoint)| self.has_number(checkpoint) != Some(false)).collect()
    }

    /// Whether the checkpoint of that index in the list, which existed before, is listed beyond the limit,
    /// since a restore evicts nothing.
    pub(super) fn is_over_limit(&self, project: &[u8], index: usize) -> bool {
        let listed = self.listed(project).len();
        self.was_complete(project)
            && !self.has_pins(project)
            && index < listed.saturating_sub(self.settings.max_snapshots)
    }

    /// The refusal of a location that cannot have checkpoints: allowed instead of the refusal of the
    /// target. A deleted project may still have checkpoints.
    pub(super) fn refuses_location(&self, location: &Location) -> Option<Refusal> {
        let has_checkpoints = |project| !self.listed(project).is_empty();
        match location {
            Location::Inside(project, PathKind::Missing) if has_checkpoints(project) => None,
            location => self.out_of_scope(location),
        }
    }

    /// The refusal of a target, or of its location.
    pub(super) fn refuses_target(&self, location: &Location, refusal: Refusal) -> Allowed {
        let refusals = [Some(refusal), self.refuses_location(location)];
        Allowed::Refused(refusals.into_iter().flatten().collect())
    }

    /// The checkpoint that `text` names among those listed for the project, with its index; the index of
    /// an unlisted checkpoint is [`UNLISTED`].
    ///
    /// Implements [`rules::RESTORE_TARGET`] (decides), [`rules::RESTORE_OWN_CHECKPOINT`],
    /// [`rules::RESTORE_BAD_TARGET`] and [`rules::RESTORE_KEEPS_UNDO`].
    pub(crate) fn find(
        &self,
        location: &Location,
        text: &[u8],
    ) -> Result<(usize, &Checkpoint), Refusal> {
        let listed = match location {
            Location::Inside(project, _) => self.listed(project),
            Location::FileSystemRoot | Location::Elsewhere(_) => &[],
        };
        // An implementation with ids of another form may refuse a well-formed short id as malformed.
        let codes: &[Code] = match self.has("target.short") {
            true => &[Code::UnknownCheckpoint],
            false => &[Code::UnknownCheckpoint, Code::BadTarget],
        };
        let unknown = Refusal { codes, rule: &rules::RESTORE_OWN_CHECKPOINT };
        // A malformed target is also unknown: either code is correct.
        let malformed = Refusal {
            codes: &[Code::UnknownCheckpoint, Code::BadTarget],
            rule: &rules::RESTORE_BAD_TARGET,
        };
        let ids: Vec<&str> = listed.iter().map(|checkpoint| checkpoint.id.as_str()).collect();
        let numbered = self.numbered(listed);
        let parsed = target::parse(text, &ids, self.has("target.number").then_some(numbered.len()));
        if !matches!(parsed, ParsedTarget::Number(_))
            && let Some(found) = labelled(listed, text)
        {
            return found;
        }
        match parsed {
            ParsedTarget::Malformed => Err(malformed),
            ParsedTarget::Number(number) => {
                let index = numbered.len().checked_sub(number).filter(|_| number > 0);
                index.map(|index| numbered[index]).ok_or(malformed)
            }
            ParsedTarget::Id(digits) => {
                // A complete id may be the beginning of another id.
                let exact =
                    listed.iter().enumerate().find(|(_, checkpoint)| checkpoint.id == digits);
                if let Some(exact) = exact {
                    return Ok(exact);
                }
                let is_named =
                    |checkpoint: &Checkpoint| target::begins_with(&checkpoint.id, &digits);
                let mut found =
                    listed.iter().enumerate().filter(|(_, checkpoint)| is_named(checkpoint));
                let kept = || match location {
                    Location::Inside(project, _) => self.kept_unlisted(project, &digits),
                    Location::FileSystemRoot | Location::Elsewhere(_) => None,
                };
                match (found.next(), found.next()) {
                    (Some(only), None) => Ok(only),
                    // It has no index in the list.
                    (None, _) => kept().map(|kept| (UNLISTED, kept)).ok_or(unknown),
                    (Some(_), Some(_)) => Err(AMBIGUOUS),
                }
            }
        }
    }
}
