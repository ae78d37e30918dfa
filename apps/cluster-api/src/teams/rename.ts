import { readsAsForeignSlug, type TeamPut } from '@corral/contracts';
import { recordAudit } from '../audit/record-audit.js';
import type { PersonCaller } from '../changes/caller.js';
import { checkPreconditions, type Preconditions } from '../changes/entity-tag.js';
import type { ChangeTeam } from '../changes/team-changes.js';
import { invalidField } from '../problem.js';
import { refuseReadOnlyChanges, requireAdmin } from './rules.js';
import { readTeam, type TeamRecord, writeName } from './store.js';
import { type DashboardUrlOf, teamBody, teamTagOf } from './view.js';

/**
 * Renames the team.
 *
 * @throws Problem `precondition_failed`, `validation_failed` for a name that reads as the slug of another team, `immutable_field`
 *   for any other changed field
 */
export const renameTeam = (
  changeTeam: ChangeTeam,
  caller: PersonCaller,
  put: TeamPut,
  preconditions: Preconditions,
  urlOf: DashboardUrlOf,
): Promise<TeamRecord> =>
  changeTeam(caller, async (tx, now) => {
    const present = await readTeam(tx, caller.team.id, now);
    requireAdmin(present.members, caller.userId);
    const { slug, name } = present;
    if (put.slug !== undefined && put.slug !== slug) {
      const message = `is ${slug} and cannot change. It is part of the team’s names in the zone`;
      throw invalidField('immutable_field', '/slug', message);
    }
    checkPreconditions(preconditions, teamTagOf(present, { isAdmin: true, urlOf }));
    refuseReadOnlyChanges(put, teamBody(present, { isAdmin: true, urlOf }), ['name', 'slug']);
    if (put.name === name) return present;
    if (readsAsForeignSlug(put.name, slug)) {
      const message = `must not look like the slug of another team. Use a capital letter or a second word, or your own slug ${slug}`;
      throw invalidField('validation_failed', '/name', message);
    }
    await writeName(tx, present.id, put.name);
    await recordAudit(tx, caller, {
      action: 'team.rename',
      target: { kind: 'Team', id: present.id, name: slug },
      changes: [{ pointer: '/name', from: name, to: put.name }],
    });
    return { ...present, name: put.name };
  });
