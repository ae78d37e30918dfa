import { hashSessionSecret, mintSessionSecret, SESSION_COOKIE } from '@corral/auth';
import type { Pool } from '@corral/database';
import { emailOf, type Size } from './sizes.js';

/** Starts a session of each team's administrator, instead of earlier ones. @returns their cookies by team */
export async function signInAll(pool: Pool, { teams }: Size): Promise<string[]> {
  const secrets = Array.from({ length: teams }, mintSessionSecret);
  await pool.query('DELETE FROM session');
  await pool.query(
    `INSERT INTO session (user_id, hash, idle_expires_at, expires_at)
     SELECT id, hash, now() + interval '12 h', now() + interval '1 day'
     FROM unnest($1::text[], $2::bytea[]) AS made (email, hash) JOIN app_user USING (email)`,
    [secrets.map((_, team) => emailOf(team)), secrets.map(hashSessionSecret)],
  );
  return secrets.map((secret) => `${SESSION_COOKIE}=${secret}`);
}
