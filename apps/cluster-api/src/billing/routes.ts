import { type ClusterOperationId, clusterLimits, parseBillingEvent } from '@corral/contracts';
import { bytesOf } from '@corral/http-api';
import type { RequestHandler } from 'express';
import { requestContextOf } from '../http/caller.js';
import { bodyOf } from '../http/request.js';
import { notFound, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { isSignedBody } from './signature.js';
import { takeBillingEvent } from './take-event.js';

/** The handler for events of the billing system. */
export function billingRoutes(services: Services) {
  const { billingSecrets: secrets } = services.config;
  return {
    async takeBillingEvent(req, res) {
      // Without a billing system there is no such path.
      if (secrets.length === 0) throw notFound();
      const rules = { secrets, now: new Date(), toleranceSeconds: clusterLimits.billingSignatureSeconds };
      // Must come before the body is parsed.
      if (!isSignedBody(req.get('corral-signature'), bytesOf(req), rules)) {
        throw new Problem(
          'invalid_signature',
          'The signature is missing or not valid. Sign the exact bytes of the body, together with the current time.',
        );
      }
      const outcome = await takeBillingEvent(services, parseBillingEvent(bodyOf(req)), requestContextOf(res));
      res.json({ outcome });
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
