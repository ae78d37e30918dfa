import { type ClusterOperationId, clusterLimits, parseBillingEvent } from '@corral/contracts';
import { bytesOf } from '@corral/service';
import type { RequestHandler } from 'express';
import type { BillingService } from '../domain/billing.js';
import { isSignedBody } from '../domain/billing-signature.js';
import { bodyOf } from '../http/body.js';
import { askingOf } from '../http/caller.js';
import { notFound, Problem } from '../problem.js';

export interface BillingRoutesDeps {
  readonly billing: BillingService;
  /** Without any there is no billing system, and the path leads nowhere. */
  readonly secrets: readonly string[];
}

export function billingRoutes({ billing, secrets }: BillingRoutesDeps) {
  return {
    async takeBillingEvent(req, res) {
      if (secrets.length === 0) throw notFound();
      const rules = { secrets, now: new Date(), toleranceSeconds: clusterLimits.billingSignatureSeconds };
      // Before a single byte of the body is looked at.
      if (!isSignedBody(req.get('corral-signature'), bytesOf(req), rules)) {
        throw new Problem(
          'invalid_signature',
          'The signature is missing or not valid. Sign the exact bytes of the body, together with the current time.',
        );
      }
      const outcome = await billing.take(parseBillingEvent(bodyOf(req)), askingOf(res));
      res.json({ outcome });
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
