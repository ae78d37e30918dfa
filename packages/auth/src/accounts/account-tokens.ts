import { hash, randomBytes } from 'node:crypto';
import type { AccountAction, AccountRights, TeamId } from '@corral/contracts';
import { isHeldNow, type Pool, rowClock } from '@corral/database';

/** Lets scanners of repositories recognise a token. */
const PREFIX = 'corral_';
const SECRET_BYTES = 32;
const wellFormed = /^corral_[\w-]{43}$/;

/** Creates the text of a service account's token: 256 random bits after a fixed prefix. */
export const mintAccountToken = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64url');

/** The stored form. A fast hash is enough because the text is random. */
export const hashAccountToken = (token: string): Buffer => hash('sha256', token, 'buffer');

/** Rejects other texts without a look-up. */
const isWellFormedAccountToken = (text: string): boolean => wellFormed.test(text);

/** A service account that makes a request, read for every request. */
export interface CallingAccount extends AccountRights {
  readonly id: string;
  readonly name: string;
  readonly tokenId: string;
  /** Issuer of the token that was exchanged; null for a token that a person created. */
  readonly issuer: string | null;
  readonly subject: string | null;
  /** The team's own limit of requests per minute for each of its accounts. Null for the default. */
  readonly requestsMax: number | null;
  /** Whether a hold is in force. Read with the token, because every change needs both. */
  readonly isHeld: boolean;
  /** `number`: the id of the team in some paths. */
  readonly team: { readonly id: TeamId; readonly slug: string; readonly number: number; readonly isSuspended: boolean };
}

type Row = Omit<CallingAccount, 'team' | 'actions'> & {
  readonly actions: readonly AccountAction[];
  readonly teamId: TeamId;
  readonly slug: string;
  readonly teamNumber: number;
  readonly isSuspended: boolean;
};

/** One indexed look-up per request without a cache, so a revocation or another role applies immediately everywhere. */
const findAccount = {
  name: 'account-by-token',
  text: `SELECT account.id, account.name, account.role::text AS role, account.clusters, account.actions,
                json_build_object('withinName', account.dns_within_name, 'withinTypes', account.dns_within_types) AS dns,
                token.id AS "tokenId", trusted.issuer, token.subject, team.id AS "teamId", team.slug,
                team.number AS "teamNumber", team.suspended_at IS NOT NULL AS "isSuspended", team.account_requests_max AS "requestsMax",
                ${isHeldNow} AS "isHeld"
         FROM service_account_token token
         JOIN service_account account ON account.id = token.account_id
         JOIN team ON team.id = account.team_id
         LEFT JOIN trusted_issuer trusted ON trusted.id = token.issuer_id
         WHERE token.hash = $1 AND token.revoked_at IS NULL AND token.expires_at > ${rowClock}`,
};

export type AccountVerifier = ReturnType<typeof accountVerifier>;

/** Tokens of service accounts in Postgres. Only Postgres' clock is used. */
export const accountVerifier = (pool: Pool) => ({
  /** @returns null for a token that is malformed, unknown, revoked or expired */
  async find(token: string): Promise<CallingAccount | null> {
    if (!isWellFormedAccountToken(token)) return null;
    const { rows } = await pool.query<Row>({ ...findAccount, values: [hashAccountToken(token)] });
    if (rows[0] === undefined) return null;
    const { teamId, slug, teamNumber, isSuspended, ...account } = rows[0];
    return { ...account, team: { id: teamId, slug, number: teamNumber, isSuspended } };
  },
});
