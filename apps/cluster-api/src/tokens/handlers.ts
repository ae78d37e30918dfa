import { type Buckets, outside, perMinute, secondsOf, type Taken } from '@corral/admission';
import type { SignInCodeStore } from '@corral/auth';
import { clusterLimits } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import type { Metrics } from '@corral/service';
import type { Response } from 'express';
import type { ChangeTeam } from '../changes/team-changes.js';
import { type Refusals, tokenExchange } from './exchange.js';
import { exchangeStore } from './exchange-store.js';
import type { KeysOf } from './issuer-keys.js';
import { tokenRoutes } from './routes.js';
import { verifySubjectToken } from './subject-token.js';

export interface TokenHandlerDeps {
  readonly codes: SignInCodeStore;
  readonly prisma: Prisma;
  readonly changeTeam: ChangeTeam;
  readonly issuerKeys: KeysOf;
  readonly buckets: Buckets;
  /** Gives back what a token request was charged to its address. */
  readonly forgiveSender: (res: Response) => void;
  readonly refusals: Refusals;
  readonly metrics: Metrics;
  /** Unix time in ms. */
  readonly now: () => number;
}

const rule = perMinute(clusterLimits.exchangesPerAccountPerMinute);

/** Builds the handler of the token endpoint. */
export function buildTokenHandlers(deps: TokenHandlerDeps) {
  const { codes, prisma, changeTeam, issuerKeys, buckets, refusals, forgiveSender, metrics, now } = deps;
  const exchanges = metrics.counter({
    name: 'corral_token_exchanges_total',
    help: 'Exchanges of tokens of trusted issuers: issued, or why they were refused',
    labelNames: ['outcome'],
  });
  const exchange = tokenExchange({
    store: exchangeStore(prisma, changeTeam),
    verify: (scope, token, issuer) => outside(scope, () => verifySubjectToken(token, issuer, issuerKeys, now())),
    async take(accountId) {
      const [taken] = await buckets.take([{ key: `cluster-api/exchange:${accountId}`, rule }]);
      const { allowed, retryInMs } = taken as Taken;
      return allowed ? 0 : secondsOf(retryInMs);
    },
    refusals,
    count: (outcome) => exchanges.inc({ outcome }),
  });
  return tokenRoutes({ codes, exchange, forgiveSender });
}
