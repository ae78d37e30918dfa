import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** Browsers meet this service with a session: its pages run their own scripts only, and stand in no foreign frame. */
export function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      directives: {
        frameAncestors: ["'none'"],
        // A laptop serves this over plain HTTP; where there is HTTPS, HSTS says the same for good.
        upgradeInsecureRequests: null,
      },
    },
  });
}
