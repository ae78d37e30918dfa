import type { RequestScope } from '@corral/admission';
import { conditionsHold } from '../accounts/claim-conditions.js';
import type { RequestContext } from '../changes/caller.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import { Problem } from '../problem.js';
import type { refusalLog } from './refusal-log.js';
import { type CandidateIssuer, findTarget, issueExchanged } from './store.js';
import { type ExchangeRefusal, readUnverified, SubjectTokenRefused, type VerifiedToken } from './subject-token.js';

export interface ExchangeServices {
  readonly prisma: Transaction;
  readonly changeTeam: ChangeTeam;
  /** Verifies a token with the keys of its issuer. @throws SubjectTokenRefused */
  readonly verify: (scope: RequestScope, token: string, issuer: string) => Promise<VerifiedToken>;
  /** Takes one of the exchanges of an account. @returns seconds until there is one again; 0 when it was taken */
  readonly take: (accountId: string) => Promise<number>;
  readonly refusals: ReturnType<typeof refusalLog>;
  readonly count: (outcome: 'issued' | ExchangeRefusal) => void;
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

/**
 * Exchanges a token of a trusted issuer for one of a service account (RFC 8693). Up to the refusal the work is the same whether or not the
 * named team and account exist, so that its duration does not tell which do.
 *
 * @returns the token, valid for 15 minutes
 * @throws Problem `invalid_grant`, `rate_limit_exceeded`
 */
export async function exchangeToken(
  { prisma, changeTeam, verify, take, refusals, count }: ExchangeServices,
  { audience, subjectToken }: ExchangeRequest,
  context: RequestContext,
): Promise<string> {
  const [, team = '', account = ''] = NAMES.exec(audience) ?? [];
  const said = await outcomeOf(() => readUnverified(subjectToken));
  const { issuer, subject } = said instanceof SubjectTokenRefused ? { issuer: null, subject: null } : said;
  const { target, isTrustedByAny } = await findTarget(prisma, { team, account, issuer: issuer ?? '' });
  const verified = await outcomeOf(() => {
    if (said instanceof SubjectTokenRefused) throw said;
    // Nobody but an issuer that a team chose is called.
    if (!isTrustedByAny) throw new SubjectTokenRefused('unknown_issuer');
    return verify(context.scope, subjectToken, said.issuer);
  });
  try {
    if (said instanceof SubjectTokenRefused) throw said;
    if (target === null || target.account === null) throw new SubjectTokenRefused('unknown_target');
    if (target.issuers.length === 0) throw new SubjectTokenRefused('unknown_issuer');
    if (verified instanceof SubjectTokenRefused) throw verified;
    const trusted = fitting(target.issuers, verified);
    // Only what fits is charged to the account: a limit that strangers can use up would lock its pipelines out.
    const waitSeconds = await take(target.account.id);
    if (waitSeconds > 0) throw tooMany(waitSeconds);
    const issued = await issueExchanged(changeTeam, target, trusted, verified.subject, context);
    if (issued === null) throw new SubjectTokenRefused('claims');
    count('issued');
    return issued;
  } catch (error) {
    if (!(error instanceof SubjectTokenRefused)) throw error;
    const { reason } = error;
    count(reason);
    if (target !== null) refusals.note(target, { account, reason, issuer, subject, requestId: context.requestId });
    throw refused(error);
  }
}

const tooMany = (retryAfterSeconds: number): Problem =>
  new Problem(
    'rate_limit_exceeded',
    'Too many token requests for this service account. Try again after the time in Retry-After.',
    { retryAfterSeconds },
  );

/** A refusal as a value, because the work goes on after it. */
async function outcomeOf<T>(work: () => T | Promise<T>): Promise<T | SubjectTokenRefused> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SubjectTokenRefused) return error;
    throw error;
  }
}

/** @throws SubjectTokenRefused `audience`, `claims` */
function fitting(candidates: readonly CandidateIssuer[], { audiences, claims }: VerifiedToken): CandidateIssuer {
  const forUs = candidates.filter(({ audience }) => audiences.includes(audience));
  if (forUs.length === 0) throw new SubjectTokenRefused('audience');
  const found = forUs.find((candidate) => conditionsHold(candidate.claims, claims));
  if (found === undefined) throw new SubjectTokenRefused('claims');
  return found;
}
