import { type ClusterOperationId, clusterLimits, parseBillingEvent } from '@corral/contracts';
import { bytesOf } from '@corral/http-api';
import type { RequestHandler } from 'express';
import { bodyOf } from '../http/body.js';
import { requestContextOf } from '../http/caller.js';
import { notFound, Problem } from '../problem.js';
import type { BillingService } from './billing.js';
import { isSignedBody } from './signature.js';

export interface BillingRoutesDeps {
  readonly billing: BillingService;
  /** Empty without a billing system. The path is then not found. */
  readonly secrets: readonly string[];
}

export function billingRoutes({ billing, secrets }: BillingRoutesDeps) {
  return {
    async takeBillingEvent(req, res) {
      if (secrets.length === 0) throw notFound();
      const rules = { secrets, now: new Date(), toleranceSeconds: clusterLimits.billingSignatureSeconds };
      // Must come before the body is parsed.
      if (!isSignedBody(req.get('corral-signature'), bytesOf(req), rules)) {
        throw new Problem(
          'invalid_signature',
          'The signature is missing or not valid. Sign the exact bytes of the body, together with the current time.',
        );
      }
      const outcome = await billing.take(parseBillingEvent(bodyOf(req)), requestContextOf(res));
      res.json({ outcome });
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
