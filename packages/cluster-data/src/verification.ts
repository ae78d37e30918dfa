import type { ConnectionId, TeamId } from '@corral/contracts';
import type { Queryable } from '@corral/database';

/**
 * Who said that the provider refuses a token, and the seconds for which a verification that succeeded outweighs that.
 *
 * A token that was verified just now is not shown to the provider again at once: each pass that meets the refusal asks.
 */
const settledSeconds = {
  /** The state of a Shoot may tell of a call that the garden made minutes ago, before the token was verified. */
  garden: 300,
  /** Our own call is of this moment. The time only bounds how often the provider is asked. */
  provider: 60,
  /** Prices are read once in hours, so there is nothing to bound. */
  'price list': 0,
} as const;

/**
 * Makes the verification of a connection due, because its token was refused: no refusal counts until the provider has
 * refused the token in a verification. Only a connection that is `Ready` is concerned: the others are verified anyway.
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
