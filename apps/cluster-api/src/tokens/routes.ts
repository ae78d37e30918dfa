import { hash } from 'node:crypto';
import type { SignInCodeStore } from '@corral/auth';
import {
  type ClusterOperationId,
  commandLineClient,
  InvalidBody,
  type IssuedTokenBody,
  parseTokenPost,
  type TokenGrant,
  type TokenPost,
  tokenGrants,
} from '@corral/contracts';
import type { Request, RequestHandler } from 'express';
import { formOf } from '../http/form.js';
import { Problem } from '../problem.js';

export interface TokenRoutesDeps {
  readonly codes: Pick<SignInCodeStore, 'redeem'>;
}

/** The token endpoint of OAuth 2.0: exchanges what the caller has for a credential of this API. */
export function tokenRoutes({ codes }: TokenRoutesDeps) {
  const grants: Readonly<Record<TokenGrant, (form: TokenPost, req: Request) => Promise<IssuedTokenBody>>> = {
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
      return { access_token: session.secret, token_type: 'Cookie', expires_in: session.expiresInSeconds };
    },
  };

  return {
    async exchangeToken(req, res) {
      const form = parsedForm(req);
      const grant = tokenGrants.find((known) => known === form.grant_type);
      if (grant === undefined) {
        const detail = `grant_type must be one of ${tokenGrants.join(', ')}.`;
        throw new Problem('invalid_token_request', detail, { tokenError: 'unsupported_grant_type' });
      }
      res.json(await grants[grant](form, req));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** OAuth clients expect 400 for a wrong parameter, too. */
function parsedForm(req: Request): TokenPost {
  try {
    return parseTokenPost(formOf(req));
  } catch (error) {
    if (error instanceof InvalidBody) throw invalidRequest(`${error.message}.`);
    throw error;
  }
}

const invalidRequest = (detail: string): Problem =>
  new Problem('invalid_token_request', detail, { tokenError: 'invalid_request' });
