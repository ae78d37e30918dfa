import { removeConnection } from '@corral/cluster-data';
import { recordAudit } from '../audit/record-audit.js';
import type { Caller } from '../changes/caller.js';
import { checkPreconditions, type Preconditions } from '../changes/entity-tag.js';
import { found, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { lockConnectionOf, usersOf } from './store.js';
import { connectionTagOf } from './view.js';

/**
 * Deletes a connection and its token. The reconciler then removes the credentials from the garden.
 *
 * @throws Problem `not_found`, `precondition_failed`, `connection_in_use`
 */
export async function deleteConnection(
  { changeTeam }: Services,
  caller: Caller,
  ref: string,
  preconditions: Preconditions,
): Promise<void> {
  await changeTeam(caller, async (tx, now) => {
    const change = { tx, caller, now };
    const connection = found(await lockConnectionOf(change, ref));
    checkPreconditions(preconditions, connectionTagOf(connection));
    const { clusters, servers } = await usersOf(change, connection.id);
    const users = [...clusters.map((name) => `cluster ${name}`), ...servers.map((number) => `server ${number}`)];
    if (users.length > 0) {
      const detail = `The connection is used by ${users.join(', ')}. Delete or deregister them first.`;
      throw new Problem('connection_in_use', detail);
    }
    await removeConnection(tx, { teamId: caller.team.id, id: connection.id, now });
    const target = { kind: 'Connection', id: connection.id, name: ref };
    await recordAudit(tx, caller, { action: 'connection.delete', target });
  });
}
