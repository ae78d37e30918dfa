import { personOf } from '@corral/auth';
import { apiVersion, type ServiceAccountBody, type TrustedIssuerBody, type WritableType } from '@corral/contracts';
import type { AccountRecord, AccountTokenRecord, TrustedIssuerRecord } from './store.js';

const metadataOf = ({ name, id, createdAt, updatedAt }: AccountRecord | TrustedIssuerRecord, team: string) => ({
  name,
  id,
  team,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

/** @param team its slug */
export const accountBody = (account: AccountRecord, team: string): ServiceAccountBody => {
  const { role, narrowing } = account.spec;
  const { withinName, withinTypes } = narrowing.dns;
  return {
    apiVersion,
    kind: 'ServiceAccount',
    metadata: metadataOf(account, team),
    spec: {
      role,
      narrowing: {
        clusters: [...narrowing.clusters],
        actions: [...narrowing.actions],
        dns: { withinName, withinTypes: [...withinTypes] as WritableType[] },
      },
    },
  };
};

export const accountTokenBody = (of: AccountTokenRecord) => ({
  id: of.id,
  createdAt: of.createdAt.toISOString(),
  createdBy: of.createdBy && personOf(of.createdBy),
  expiresAt: of.expiresAt.toISOString(),
  lastUsedAt: of.lastUsedAt?.toISOString() ?? null,
  revokedAt: of.revokedAt?.toISOString() ?? null,
});

/** @param team its slug */
export const issuerBody = (issuer: TrustedIssuerRecord, team: string): TrustedIssuerBody => ({
  apiVersion,
  kind: 'TrustedIssuer',
  metadata: metadataOf(issuer, team),
  spec: { ...issuer.spec, claims: { ...issuer.spec.claims } },
});
