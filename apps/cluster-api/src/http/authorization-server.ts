import { tokenGrants } from '@corral/contracts';
import { page } from '@corral/http-api';
import { Router } from 'express';

const PATH = '/.well-known/oauth-authorization-server';

export interface AuthorizationServer {
  /** Base URL of this service, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Whether machines without a browser can sign in. */
  readonly hasDevicePage: () => boolean;
}

/** What OAuth clients find out by themselves (RFC 8414). */
export function authorizationServer({ publicUrl, hasDevicePage }: AuthorizationServer): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    PATH,
    page((_req, res) => {
      const issuer = publicUrl();
      res.set('Cache-Control', 'public, max-age=3600').json({
        issuer,
        authorization_endpoint: `${issuer}/auth/authorize/`,
        token_endpoint: `${issuer}/auth/token/`,
        ...(hasDevicePage() ? { device_authorization_endpoint: `${issuer}/auth/device/` } : {}),
        response_types_supported: ['code'],
        grant_types_supported: tokenGrants,
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      });
    }),
  );
  return router;
}
