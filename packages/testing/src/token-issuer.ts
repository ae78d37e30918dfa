import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

export interface TokenIssuer {
  readonly url: string;
  /** Requested paths, oldest first. */
  readonly asked: string[];
  /** Replaces its answers, such as to stall or to lie. */
  answer: ((path: string, res: ServerResponse) => boolean) | null;
  /** The public key that it shows first. */
  publicKey(): JWK;
  /** A token of ten minutes, with the newest key. Claims replace the usual ones; null leaves one out. */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  /** Signs with a new key from now on, and shows only that one. */
  rotate(): Promise<void>;
  close(): Promise<void>;
}

/** A real issuer with discovery and keys on a free port of 127.0.0.1, such as the one of a CI system. */
export async function startTokenIssuer(): Promise<TokenIssuer> {
  let kid = 0;
  let privateKey: CryptoKey;
  let jwk: JWK = {};
  const asked: string[] = [];
  const server = createServer((req, res) => {
    const path = req.url as string;
    asked.push(path);
    if (issuer.answer?.(path, res)) return;
    res.setHeader('Content-Type', 'application/json');
    if (path === '/.well-known/openid-configuration') {
      res.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }));
    } else if (path === '/keys') res.end(JSON.stringify({ keys: [jwk] }));
    else res.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  const issuer: TokenIssuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer: null,
    publicKey: () => jwk,
    async sign(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const all = { iss: issuer.url, sub: 'repo:acme/infra:ref:refs/heads/main', iat: now, exp: now + 600, ...claims };
      const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
      return new SignJWT(present as JWTPayload)
        .setProtectedHeader({ alg: 'ES256', kid: String(kid), ...header })
        .sign(privateKey);
    },
    async rotate() {
      kid += 1;
      const pair = await generateKeyPair('ES256', { extractable: true });
      privateKey = pair.privateKey;
      jwk = { ...(await exportJWK(pair.publicKey)), kid: String(kid), alg: 'ES256', use: 'sig' };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  await issuer.rotate();
  return issuer;
}
