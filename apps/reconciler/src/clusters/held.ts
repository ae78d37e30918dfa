import { type Finding, findingOf } from '../loop/hold.js';
import type { Desired, Observed, Step } from './model.js';
import { factsOf } from './observe.js';

const asRecorded = findingOf('as_recorded', 'The Shoot is as the database says.');

/**
 * What a held pass found out about a cluster. Pure and total.
 *
 * @param step what the pass would do without the hold
 */
export function findingAboutCluster(wanted: Desired, seen: Observed, step: Step['do']): Finding {
  switch (seen.kind) {
    case 'foreign':
      return findingOf('foreign_shoot', 'A Shoot of that name exists, but it is another one. It stays.');
    case 'absent':
      return findingAboutAbsent(wanted, step);
    case 'present': {
      const { applied } = factsOf(seen.shoot);
      if (wanted.isDeleting) {
        return findingOf('to_be_deleted', 'Its deletion was requested before the hold, and continues after it.');
      }
      if (applied !== null && isAhead(wanted, applied)) {
        return findingOf(
          'shoot_ahead',
          `The Shoot carries generation ${applied.generation}, which is another declaration than generation ${wanted.generation} in the database. It stays as it is until the team declares again.`,
        );
      }
      if (step === 'finish') return asRecorded;
      return findingOf('to_be_changed', `The declaration is not in the Shoot yet. The next step is ${step}.`);
    }
  }
}

/** Generations only grow, so the Shoot carries a declaration that the database has lost. */
const isAhead = (
  { generation, desiredHash }: Desired,
  applied: { readonly generation: number; readonly hash: string },
): boolean => applied.generation > generation || (applied.generation === generation && applied.hash !== desiredHash);

function findingAboutAbsent({ known, isDeleting }: Desired, step: Step['do']): Finding {
  if (isDeleting) {
    return findingOf('shoot_deleted', 'Its deletion was requested, and the Shoot is gone. Its row is removed.');
  }
  if (known.shootUid !== null) {
    return findingOf(
      'shoot_absent',
      'The Shoot is gone. It is not created again. The team can delete the cluster and declare a new one.',
    );
  }
  if (step === 'finish') return findingOf('as_recorded', 'It has no Shoot yet.');
  return findingOf(
    'to_be_created',
    'It had no Shoot yet. It may have been created and deleted since, so it is not created until the team declares again.',
  );
}
