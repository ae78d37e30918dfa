import { clusterLimits, cutText } from '@corral/contracts';
import { readClock, type Transaction } from '@corral/database';
import type { NamedTeam } from '../people/team-store.js';
import { nobody, recordTokenAudit, revokeDnsToken } from './token-store.js';
import { DNS_SCOPE, hashDnsToken, mintDnsToken } from './token-verifier.js';

/** A name on a cluster that needs a token. */
export interface NameWithToken {
  readonly id: string;
  readonly team: NamedTeam;
  readonly name: string;
  /** Name of the cluster. */
  readonly cluster: string;
  /** The token to replace; null for none. */
  readonly dnsTokenId: string | null;
}

/**
 * Replaces the token of a name on a cluster within the caller's transaction, which has locked the row of the name. The old token is
 * revoked. The new one covers the name and those below it, belongs to the team and does not count among its tokens; a trigger of the
 * database revokes it when the row of the name goes.
 *
 * @returns the text, which is nowhere else
 */
export async function replaceTokenOfName(
  tx: Transaction,
  { id, team, name, cluster, dnsTokenId }: NameWithToken,
): Promise<{ id: string; text: string }> {
  if (dnsTokenId !== null) await revokeDnsToken(tx, team, dnsTokenId, nobody);
  const text = mintDnsToken();
  const narrowing = { scopes: [DNS_SCOPE], withinName: name, withinTypes: [] };
  const token = await tx.dnsToken.create({
    data: {
      teamId: team.id,
      name: cutText(`${name} on ${cluster}`, clusterLimits.dnsTokenNameCharacters),
      hash: new Uint8Array(hashDnsToken(text)),
      createdAt: await readClock(tx),
      ...narrowing,
    },
    select: { id: true, name: true },
  });
  await tx.hostedName.update({ where: { id }, data: { dnsTokenId: token.id }, select: { id: true } });
  const detail = { ...narrowing, expiresAt: null };
  await recordTokenAudit(tx, team.id, nobody, { action: 'dns_token.create', token, detail });
  return { id: token.id, text };
}
