import type { ConnectionId, TeamId } from '@corral/contracts';
import type { Queryable } from '@corral/database';

/**
 * Sources of a token refusal, and the time in seconds for which a successful verification outweighs each.
 *
 * A token that was just verified is not verified again immediately, because each pass that meets the refusal requests it.
 */
const settledSeconds = {
  /** The state of a Shoot may be about a call that the garden made minutes ago, before the verification. */
  garden: 300,
  /** Our own call is current. The time only limits how often the provider is called. */
  provider: 60,
  /** Prices are read every few hours, so no limit is needed. */
  'price list': 0,
} as const;

/**
 * Requests a verification of a connection whose token was refused. The refusal counts only after the provider has refused the
 * token in a verification. Only `Ready` connections are affected: the others are verified anyway.
 */
export async function requestVerification(
  db: Queryable,
  { teamId, connectionId }: { readonly teamId: TeamId; readonly connectionId: ConnectionId },
  refusedBy: keyof typeof settledSeconds,
): Promise<void> {
  await db.query(
    `UPDATE connection SET verify_at = least(verify_at, clock_timestamp())
     WHERE team_id = $1 AND id = $2 AND phase = 'Ready'
       AND (verified_at IS NULL OR verified_at < clock_timestamp() - make_interval(secs => $3::float8))`,
    [teamId, connectionId, settledSeconds[refusedBy]],
  );
}
