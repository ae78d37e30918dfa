import type { Hold } from '@corral/database';
import { type Finding, findingOf } from '../loop/hold.js';
import { newestRebuildSince } from './decide/rebuild.js';
import type { Seen, Step, WantedServer } from './model.js';

/** Steps that change nothing outside the database. They run during a hold, because they settle what the row does not know. */
const reading: ReadonlySet<Step['do']> = new Set([
  'readServer',
  'readActions',
  'readAction',
  'findImage',
  'recordAction',
  'readNode',
]);

export const isReading = (step: Step): boolean => reading.has(step.do);

/** What a held pass still has to read before it says what it found; null when it has seen enough. */
export function readStepWhileHeld(seen: Seen, isAtProvider: boolean): Step | null {
  if (isAtProvider && seen.server === null) return { do: 'readServer' };
  // The actions tell whether the server was rebuilt after the backup.
  if (isAtProvider && seen.server !== 'absent' && seen.actions === null) return { do: 'readActions' };
  return null;
}

/** Differences of clocks between Postgres and the provider that are tolerated, in milliseconds. */
const CLOCKS_MS = 60_000;

/** What a held pass found out about an adopted server. Pure and total. */
export function findingAboutServer(wanted: WantedServer, seen: Seen, step: Step['do'], hold: Hold): Finding {
  if (seen.server === 'absent') {
    return findingOf('server_absent', 'The cloud project no longer has the server.');
  }
  if (hold.backupTakenAt !== null && seen.actions !== null) {
    const since = new Date(hold.backupTakenAt.getTime() - CLOCKS_MS);
    const rebuild = newestRebuildSince(seen.actions.list, since);
    if (rebuild !== null && rebuild.id !== wanted.rebuildActionId) {
      return findingOf(
        'rebuilt_since',
        'The provider rebuilt the server after the backup. It is set to Failed when the hold ends, and is not rebuilt until the team acknowledges it again.',
      );
    }
  }
  if (step === 'finish') return findingOf('as_recorded', 'The server is as the database says.');
  return findingOf('to_be_changed', `Work on the server continues after the hold. The next step is ${step}.`);
}
