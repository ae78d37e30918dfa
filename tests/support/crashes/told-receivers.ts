import { startWebhookReceiver, type WebhookReceiver, waitFor } from '@corral/testing';
import type { ClusterSystem, ClusterTeam } from '../clusters/start-cluster-system.js';
import type { Ends } from '../system/system-parts.js';

/** Covers the lease of a killed process, and the back-off after outages of the database. */
const TOLD_WITHIN_MS = 150_000;

/**
 * A program of each team is told of every change of its clusters.
 *
 * @param system without a cluster
 * @param ends what ends the programs
 * @returns a function that says which changes nobody was told of, and which in another order
 */
export async function toldReceivers(system: ClusterSystem, ends: Ends): Promise<() => Promise<string[]>> {
  const receivers = await Promise.all(
    system.teams.map(async (team) => {
      const receiver = await startWebhookReceiver();
      ends.push(receiver.close);
      const body = { spec: { url: receiver.url, kinds: ['Cluster'] } };
      const { status, text } = await team.admin.insist({ method: 'PUT', path: '/webhooks/told/', body });
      if (status !== 201) throw new Error(`${team.slug} got no webhook: ${text}`);
      return { team, receiver };
    }),
  );
  return async () => (await Promise.all(receivers.map((told) => findUntold(system, told)))).flat();
}

/** Each event at least once, in the order of the feed. */
async function findUntold(
  { pool }: ClusterSystem,
  { team, receiver }: { readonly team: ClusterTeam; readonly receiver: WebhookReceiver },
): Promise<string[]> {
  const { rows } = await pool.query(
    `SELECT xid || '.' || id AS place FROM team_event WHERE team_id = $1 AND kind = 'Cluster' ORDER BY xid, id`,
    [team.id],
  );
  const events = rows.map(({ place }) => place as string);
  const told = () => [...new Set(receiver.received.filter(({ body }) => body.data.id !== undefined).map(placeOf))];
  await waitFor(`the last event of ${team.slug}`, async () => told().length >= events.length, {
    timeoutMs: TOLD_WITHIN_MS,
  }).catch(() => undefined);
  const places = told();
  const at = events.findIndex((place, index) => places[index] !== place);
  if (at < 0) return [];
  return [
    `${team.slug} was told ${places.length} of ${events.length} events; place ${at}: ${places.slice(at, at + 3)}`,
  ];
}

/** Reads the place of its event in the feed. */
const placeOf = ({ id }: WebhookReceiver['received'][number]): string =>
  Buffer.from(id, 'base64url').toString().split('.').slice(0, 2).join('.');
