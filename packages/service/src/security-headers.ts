import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** Browsers meet these services, some with a session: their pages run their own scripts only, and stand in no foreign frame. */
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
