import { joinsByCommand, serverLabels } from '@corral/contracts';
import { DAY_MS, failed, finish, progressAt, resting, TOKEN_MS, waiting } from '../judge.js';
import type { Seen, ServerTimes, Step, WantedServer } from '../model.js';
import { decideByCommand } from './by-command.js';
import { decideFailed, decideJoined, decideMissing, decideReady } from './check.js';
import { decideJoining, decideLeaving } from './join.js';
import { decideRebuild, decideRequest } from './rebuild.js';

/** How long to wait for a provider that does not allow the detachment. After that the label stays. */
const DEREGISTER_MS_MAX = DAY_MS;

/**
 * Chooses the next step. Pure and total: it depends only on the row and on what this pass has observed, so it is the same
 * after a crash.
 *
 * @param now the database's clock
 */
export function decide(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  if (wanted.deregisterRequestedAt !== null)
    return decideDeregistration(wanted, seen, now, wanted.deregisterRequestedAt);
  if (joinsByCommand(wanted.kind)) return decideByCommand(wanted, seen, now, times);
  switch (wanted.phase) {
    case 'Adopting':
    case 'Rebuilding':
      return decideAdoption(wanted, seen, now, times);
    case 'Ready':
      return decideReady(wanted, seen, now);
    case 'Joining':
      return decideJoining(wanted, seen, now, times);
    case 'Joined':
      return decideJoined(wanted, seen, now);
    case 'Leaving':
      return decideLeaving(wanted, seen, now, times);
    case 'Missing':
      return decideMissing(wanted, seen);
    case 'Failed':
      return decideFailed(wanted, seen, now, times);
    case 'Deregistering':
      return finish(resting(wanted.phase, '', { to: 'stay' }, null));
  }
}

function decideAdoption(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  if (wanted.connection.phase === 'Rejected') {
    const message = 'The provider rejects the token of the connection.';
    if (wanted.rebuildAskedAt === null) return finish(failed(wanted, 'server_token_rejected', message));
    const wait = { message, reason: 'ProviderTokenRejected', code: 'server_token_rejected' } as const;
    return finish(waiting(wanted, now, times, { ...wait, inMs: TOKEN_MS, progress: progressAt.requested }));
  }
  if (wanted.rebuildAskedAt === null) return decideRequest(wanted, seen, now, times);
  const step = decideRebuild(wanted, seen, now, times);
  // A server that is still a node must leave its cluster first.
  return step ?? finish(resting('Ready', '', { to: 'succeeded' }, wanted.nodeName === null ? DAY_MS : 0));
}

function decideDeregistration(wanted: WantedServer, seen: Seen, now: Date, requestedAt: Date): Step {
  // The provider stores nothing about such a machine.
  if (joinsByCommand(wanted.kind) || wanted.connection.phase === 'Rejected') return { do: 'forget' };
  if (now.getTime() - requestedAt.getTime() > DEREGISTER_MS_MAX) return { do: 'forget' };
  if (seen.server === null) return { do: 'readServer' };
  if (seen.server === 'absent') return { do: 'forget' };
  const { [serverLabels.claim]: claim, ...labels } = seen.server.labels;
  return claim === wanted.claimToken ? { do: 'removeLabel', labels } : { do: 'forget' };
}
