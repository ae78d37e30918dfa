import { type ClaimConditions, clusterLimits, type TeamId } from '@corral/contracts';
import { conditionsHold } from '../accounts/claim-conditions.js';
import { type RequestContext, whileSetAside } from '../changes/caller.js';
import { Problem } from '../problem.js';
import type { KeysOf } from './issuer-keys.js';
import {
  type ExchangeRefusal,
  readUnverified,
  SubjectTokenRefused,
  type UnverifiedToken,
  type VerifiedToken,
  verifySubjectToken,
} from './subject-token.js';

/** The service account that a caller names, and the issuers that it trusts. */
export interface ExchangeTarget {
  readonly team: { readonly id: TeamId; readonly slug: string };
  /** Null when the team has no such account. */
  readonly account: { readonly id: string; readonly name: string } | null;
  readonly issuers: readonly CandidateIssuer[];
}

export interface CandidateIssuer {
  readonly id: string;
  readonly issuer: string;
  readonly audience: string;
  readonly claims: ClaimConditions;
  readonly updatedAt: Date;
}

export interface ExchangeStore {
  /** @returns null when there is no such team */
  findTarget(team: string, account: string): Promise<ExchangeTarget | null>;
  /**
   * Issues a token for 15 minutes, with an audit entry.
   *
   * @returns null when account or issuer have changed meanwhile
   */
  issue(
    target: ExchangeTarget,
    issuer: CandidateIssuer,
    subject: string,
    context: RequestContext,
  ): Promise<string | null>;
  /** Writes an audit entry. */
  recordRefusal(target: ExchangeTarget, refusal: LoggedRefusal, context: RequestContext): Promise<void>;
}

export interface LoggedRefusal {
  readonly account: string;
  readonly reason: ExchangeRefusal;
  /** As the token says, which may be wrong. */
  readonly issuer: string | null;
  readonly subject: string | null;
}

export interface ExchangeDeps {
  readonly store: ExchangeStore;
  readonly keysOf: KeysOf;
  /** Takes one of `perMinute` that a key has. @returns seconds until there is one again; 0 when it was taken */
  readonly take: (key: string, perMinute: number) => Promise<number>;
  /** Counts an exchange. */
  readonly count: (outcome: 'issued' | ExchangeRefusal) => void;
  /** Unix time in ms. */
  readonly now: () => number;
}

export interface ExchangeRequest {
  /** `{team}/{service account}`. */
  readonly audience: string;
  readonly subjectToken: string;
}

/** The same for every refusal, so that it tells nothing about teams. */
const refused = (refusal: SubjectTokenRefused): Problem =>
  new Problem(
    'invalid_grant',
    'The token is not valid, or no trusted issuer fits it. The audit log of the team has the reason, if the team exists.',
    // Operators can do something about this one only.
    refusal.reason === 'keys_unavailable' ? { cause: refusal } : {},
  );

const NAMES = /^([a-z0-9-]{1,63})\/([a-z0-9-]{1,63})$/;

export type Exchange = (request: ExchangeRequest, context: RequestContext) => Promise<string>;

/**
 * Exchanges a token of a trusted issuer for one of a service account (RFC 8693).
 *
 * @returns the token, valid for 15 minutes
 * @throws Problem `invalid_grant`, `rate_limit_exceeded`
 */
export const tokenExchange =
  ({ store, keysOf, take, count, now }: ExchangeDeps): Exchange =>
  async ({ audience, subjectToken }, context) => {
    const [, team = '', account = ''] = NAMES.exec(audience) ?? [];
    // By what the caller names, whether or not it exists, and before anything that costs.
    const waitSeconds = await take(`account ${team}/${account}`, clusterLimits.exchangesPerAccountPerMinute);
    if (waitSeconds > 0) {
      const detail = 'Too many token requests for this service account. Try again after the time in Retry-After.';
      throw new Problem('rate_limit_exceeded', detail, { retryAfterSeconds: waitSeconds });
    }
    const target = team === '' ? null : await store.findTarget(team, account);
    let unverified: UnverifiedToken | null = null;
    try {
      unverified = readUnverified(subjectToken);
      if (target === null || target.account === null) throw new SubjectTokenRefused('unknown_target');
      const { issuer } = unverified;
      const candidates = target.issuers.filter((trusted) => trusted.issuer === issuer);
      if (candidates.length === 0) throw new SubjectTokenRefused('unknown_issuer');
      const token = await whileSetAside(context, () => verifySubjectToken(subjectToken, issuer, keysOf, now()));
      const issued = await store.issue(target, fitting(candidates, token), token.subject, context);
      if (issued === null) throw new SubjectTokenRefused('claims');
      count('issued');
      return issued;
    } catch (error) {
      if (!(error instanceof SubjectTokenRefused)) throw error;
      const { reason } = error;
      count(reason);
      const isLogged =
        target !== null && (await take(`log ${target.team.id}`, clusterLimits.exchangeRefusalsLoggedPerMinute)) === 0;
      if (isLogged) {
        const { issuer, subject } = unverified ?? { issuer: null, subject: null };
        await store.recordRefusal(target, { account, reason, issuer, subject }, context);
      }
      throw refused(error);
    }
  };

/** @throws SubjectTokenRefused `audience`, `claims` */
function fitting(candidates: readonly CandidateIssuer[], { audiences, claims }: VerifiedToken): CandidateIssuer {
  const forUs = candidates.filter(({ audience }) => audiences.includes(audience));
  if (forUs.length === 0) throw new SubjectTokenRefused('audience');
  const found = forUs.find((candidate) => conditionsHold(candidate.claims, claims));
  if (found === undefined) throw new SubjectTokenRefused('claims');
  return found;
}
