import { hash } from 'node:crypto';
import { outside, perMinute, secondsOf, type Taken } from '@corral/admission';
import type { PollRefusal, RedeemedCode } from '@corral/auth';
import {
  accessTokenType,
  type ClusterOperationId,
  clusterLimits,
  commandLineClient,
  deviceCodeGrant,
  type IssuedTokenBody,
  type ProblemCode,
  parseTokenPost,
  subjectTokenTypes,
  type TokenError,
  type TokenGrant,
  type TokenPost,
  tokenExchangeGrant,
  tokenGrants,
} from '@corral/contracts';
import type { Request, RequestHandler, Response } from 'express';
import { requestContextOf } from '../http/caller.js';
import { oauthFormOf } from '../http/form.js';
import { Problem } from '../problem.js';
import type { Services } from '../services.js';
import { type ExchangeServices, exchangeToken } from './exchange.js';
import { verifySubjectToken } from './subject-token.js';

type Grant = (form: TokenPost, req: Request, res: Response) => Promise<IssuedTokenBody>;

const exchangeRule = perMinute(clusterLimits.exchangesPerAccountPerMinute);

/**
 * The token endpoint of OAuth 2.0: exchanges what the caller has for a credential of this API.
 *
 * @param forgiveSender gives back what the request was charged to its address
 */
export function tokenRoutes(services: Services, forgiveSender: (res: Response) => void) {
  const { codes, devices, prisma, changeTeam, issuerKeys, buckets, refusals, metrics, now } = services;
  const exchanges = metrics.counter({
    name: 'corral_token_exchanges_total',
    help: 'Exchanges of tokens of trusted issuers: issued, or why they were refused',
    labelNames: ['outcome'],
  });
  const exchange: ExchangeServices = {
    prisma,
    changeTeam,
    refusals,
    verify: (scope, token, issuer) => outside(scope, () => verifySubjectToken(token, issuer, issuerKeys, now())),
    async take(accountId) {
      const [taken] = await buckets.take([{ key: `cluster-api/exchange:${accountId}`, rule: exchangeRule }]);
      const { allowed, retryInMs } = taken as Taken;
      return allowed ? 0 : secondsOf(retryInMs);
    },
    count: (outcome) => exchanges.inc({ outcome }),
  };
  const grants: Readonly<Record<TokenGrant, Grant>> = {
    async authorization_code(form, req) {
      const { client_id: client, code, redirect_uri: redirectUri, code_verifier: verifier } = form;
      if (client !== commandLineClient) throw invalidRequest(`client_id must be ${commandLineClient}.`);
      if (code === undefined || redirectUri === undefined || verifier === undefined) {
        throw invalidRequest('code, redirect_uri and code_verifier are required.');
      }
      const codeChallenge = hash('sha256', verifier, 'base64url');
      const session = await codes.redeem(code, { codeChallenge, redirectUri }, req.headers['user-agent'] ?? '');
      if (session === null) {
        const detail = 'The code is wrong, was used before, has expired, or belongs to another request. Sign in again.';
        throw new Problem('invalid_grant', detail);
      }
      return sessionToken(session);
    },

    async [deviceCodeGrant](form, req, res) {
      const { client_id: client, device_code: deviceCode } = form;
      if (client !== commandLineClient) throw invalidRequest(`client_id must be ${commandLineClient}.`);
      if (deviceCode === undefined) throw invalidRequest('device_code is required.');
      const polled = await devices.poll(deviceCode, req.headers['user-agent'] ?? '');
      if (typeof polled === 'object') return sessionToken(polled);
      // Whoever waits as told does not keep others of the address from signing in.
      if (polled === 'authorization_pending') forgiveSender(res);
      throw pollRefusals[polled]();
    },

    async [tokenExchangeGrant](form, _req, res) {
      checkExchange(form);
      const { audience, subject_token: subjectToken } = form;
      if (audience === undefined || subjectToken === undefined) {
        throw invalidRequest('audience, subject_token and subject_token_type are required.');
      }
      const token = await exchangeToken(exchange, { audience, subjectToken }, requestContextOf(res));
      return {
        access_token: token,
        issued_token_type: accessTokenType,
        token_type: 'Bearer',
        expires_in: clusterLimits.exchangedTokenSeconds,
      };
    },
  };

  return {
    async exchangeToken(req, res) {
      const form = oauthFormOf(req, parseTokenPost);
      const grant = tokenGrants.find((known) => known === form.grant_type);
      if (grant === undefined) {
        const detail = `grant_type must be one of ${tokenGrants.join(', ')}.`;
        throw invalidRequest(detail, 'unsupported_grant_type');
      }
      const issued = await grants[grant](form, req, res);
      forgiveSender(res);
      res.json(issued);
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

const sessionToken = ({ secret, expiresInSeconds }: RedeemedCode): IssuedTokenBody => ({
  access_token: secret,
  token_type: 'Cookie',
  expires_in: expiresInSeconds,
});

const pollRefusal = (code: ProblemCode, detail: string, tokenError: PollRefusal) => () =>
  new Problem(code, detail, { tokenError });
const { devicePollSeconds } = clusterLimits;

const pollRefusals: Readonly<Record<PollRefusal, () => Problem>> = {
  authorization_pending: pollRefusal(
    'authorization_pending',
    'Nobody has decided yet. Ask again after the interval.',
    'authorization_pending',
  ),
  slow_down: pollRefusal(
    'authorization_pending',
    `Nobody has decided yet, and this was too early. Wait ${devicePollSeconds} s longer between requests.`,
    'slow_down',
  ),
  access_denied: pollRefusal('invalid_grant', 'The person did not allow the sign-in.', 'access_denied'),
  expired_token: pollRefusal(
    'invalid_grant',
    'The code has expired, or the session that allowed it has ended. Sign in again.',
    'expired_token',
  ),
  invalid_grant: pollRefusal('invalid_grant', 'The code is wrong, or was used before. Sign in again.', 'invalid_grant'),
};

/** What a token could not have must not be asked for: the caller would rely on it. */
function checkExchange(form: TokenPost): void {
  const { subject_token_type: type, requested_token_type: wanted, scope, resource, actor_token: actor } = form;
  if (!subjectTokenTypes.some((known) => known === type)) {
    throw invalidRequest(`subject_token_type must be one of ${subjectTokenTypes.join(', ')}.`);
  }
  if (wanted !== undefined && wanted !== accessTokenType) {
    throw invalidRequest(`requested_token_type must be ${accessTokenType}.`);
  }
  if (scope !== undefined) throw invalidRequest('scope is not supported: leave it out.', 'invalid_scope');
  if (resource !== undefined) throw invalidRequest('resource is not supported: use audience.', 'invalid_target');
  if (actor !== undefined) throw invalidRequest('actor_token is not supported: leave it out.');
}

const invalidRequest = (detail: string, tokenError: TokenError = 'invalid_request'): Problem =>
  new Problem('invalid_token_request', detail, { tokenError });
