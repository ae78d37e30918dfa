import { clusterLimits } from '@corral/contracts';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Claims } from '../accounts/claim-conditions.js';
import { type KeysOf, KeysUnavailable } from './issuer-keys.js';

/**
 * Why the exchange of a pipeline's token is refused, in the order of the checks: for the metric and for the audit log of the team, never for the
 * caller.
 */
export const exchangeRefusals = [
  'too_long',
  'malformed',
  'algorithm',
  'unknown_target',
  'unknown_issuer',
  'keys_unavailable',
  'signature',
  'expired',
  'not_yet_valid',
  'lifetime',
  'audience',
  'claims',
] as const;
export type ExchangeRefusal = (typeof exchangeRefusals)[number];

export class SubjectTokenRefused extends Error {
  override readonly name = 'SubjectTokenRefused';
  constructor(
    readonly reason: ExchangeRefusal,
    options?: ErrorOptions,
  ) {
    super(reason, options);
  }
}

/** Signatures with a private key of the issuer. Never `none`, and never HMAC, whose key would be the public one. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** What a token says about itself before anything was checked. */
export interface UnverifiedToken {
  readonly issuer: string;
  /** Null when it has no text as subject. */
  readonly subject: string | null;
}

/** @throws SubjectTokenRefused `too_long`, `malformed`, `algorithm` */
export function readUnverified(token: string): UnverifiedToken {
  if (token.length > clusterLimits.subjectTokenCharacters) throw new SubjectTokenRefused('too_long');
  const { alg, iss, sub } = decoded(token);
  if (typeof iss !== 'string' || !isStorable(iss)) throw new SubjectTokenRefused('malformed');
  if (typeof alg !== 'string' || !algorithms.includes(alg)) throw new SubjectTokenRefused('algorithm');
  return { issuer: iss, subject: typeof sub === 'string' ? sub : null };
}

/** Postgres stores no NUL and no half of a surrogate pair. */
const isStorable = (text: string): boolean => !/[\p{Cc}\p{Surrogate}]/u.test(text);

function decoded(token: string): { alg?: unknown; iss?: unknown; sub?: unknown } {
  try {
    const { alg } = decodeProtectedHeader(token);
    const { iss, sub } = decodeJwt(token);
    return { alg, iss, sub };
  } catch (cause) {
    throw new SubjectTokenRefused('malformed', { cause });
  }
}

/** Claims that every accepted token has. */
export interface VerifiedToken {
  readonly subject: string;
  readonly audiences: readonly string[];
  readonly claims: Claims;
}

/**
 * Checks the signature and the times of a token.
 *
 * @param now Unix time in ms
 * @throws SubjectTokenRefused
 */
export async function verifySubjectToken(
  token: string,
  issuer: string,
  keysOf: KeysOf,
  now: number,
): Promise<VerifiedToken> {
  const payload = await verified(token, issuer, keysOf, now);
  const { sub, iat, exp, aud = [] } = payload;
  if (typeof sub !== 'string' || iat === undefined || exp === undefined) throw new SubjectTokenRefused('malformed');
  if (!isStorable(sub)) throw new SubjectTokenRefused('malformed');
  if (iat > now / 1_000 + clusterLimits.subjectTokenLeewaySeconds) throw new SubjectTokenRefused('not_yet_valid');
  if (exp - iat > clusterLimits.subjectTokenHoursMax * 3_600) throw new SubjectTokenRefused('lifetime');
  return { subject: sub, audiences: [aud].flat(), claims: payload };
}

async function verified(token: string, issuer: string, keysOf: KeysOf, now: number): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, await keysOf(issuer), {
      issuer,
      algorithms,
      requiredClaims: ['sub', 'iat', 'exp'],
      clockTolerance: clusterLimits.subjectTokenLeewaySeconds,
      currentDate: new Date(now),
    });
    return payload;
  } catch (cause) {
    throw new SubjectTokenRefused(reasonOf(cause), { cause });
  }
}

function reasonOf(error: unknown): ExchangeRefusal {
  if (error instanceof KeysUnavailable) return 'keys_unavailable';
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === 'nbf' && error.reason === 'check_failed' ? 'not_yet_valid' : 'malformed';
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'algorithm';
  // What the issuer answered to a read of its keys.
  if (error instanceof errors.JWKSInvalid || error instanceof errors.JWKSTimeout) return 'keys_unavailable';
  return 'signature';
}
