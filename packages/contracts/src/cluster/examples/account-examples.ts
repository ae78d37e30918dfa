import type { Examples } from '../../openapi-parts.js';
import { apiVersion } from '../states.js';

const at = '2026-11-21T12:00:00.000Z';
const expiresAt = '2027-02-19T12:00:00.000Z';
const id = '0197b2f0-0000-7000-8000-00000000acc0';
const tokenId = '0197b2f0-0000-7000-8000-00000000acc1';
const issuerId = '0197b2f0-0000-7000-8000-00000000acc2';
const one = (summary: string, value: unknown): Examples => ({ example: { summary, value } });
const narrowing = { clusters: ['ci-*'], actions: ['read', 'change'] };

const serviceAccount = {
  apiVersion,
  kind: 'ServiceAccount',
  metadata: { name: 'ci', id, team: 'acme', createdAt: at, updatedAt: at },
  spec: { role: 'member', narrowing },
};

const trust = {
  issuer: 'https://token.actions.githubusercontent.com',
  audience: 'https://clusters.example.org',
  claims: { sub: 'repo:acme/infra:*', ref: 'refs/heads/main' },
  serviceAccount: 'ci',
};
const trustedIssuer = {
  apiVersion,
  kind: 'TrustedIssuer',
  metadata: { name: 'github', id: issuerId, team: 'acme', createdAt: at, updatedAt: at },
  spec: trust,
};

/** Examples of service accounts, their tokens and trusted issuers. */
export const accountAnswerExamples: Readonly<Record<string, Examples>> = {
  serviceAccount: one('An account for test clusters', serviceAccount),
  serviceAccountList: one('The accounts', { items: [serviceAccount] }),
  accountTokenList: one('One active token', {
    items: [
      {
        id: tokenId,
        createdAt: at,
        createdBy: { id: 7, email: 'ada@acme.test', displayName: 'Ada' },
        expiresAt,
        lastUsedAt: at,
        revokedAt: null,
      },
    ],
  }),
  trustedIssuer: one('The main branch of a repository', trustedIssuer),
  trustedIssuerList: one('The issuers', { items: [trustedIssuer] }),
  createdAccountToken: one('A token, shown only once', {
    id: tokenId,
    token: 'corral_Zm9yLXRoZS1kb2N1bWVudGF0aW9uLW9ubHktLS0tLS0',
    expiresAt,
  }),
};

/** Examples of request bodies, by operation. */
export const accountRequestExamples: Readonly<Record<string, Examples>> = {
  putServiceAccount: {
    narrow: { summary: 'Declares test clusters', value: { spec: { role: 'member', narrowing } } },
    plain: { summary: 'Reads everything of the team', value: { spec: { role: 'viewer' } } },
  },
  createAccountToken: one('For 90 days', { expiresInDays: 90 }),
  putTrustedIssuer: one('The main branch of a repository on GitHub', { spec: trust }),
};
