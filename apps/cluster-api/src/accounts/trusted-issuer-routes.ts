import {
  apiVersion,
  type ClusterOperationId,
  isClusterName,
  parseTrustedIssuerPut,
  type TrustedIssuerBody,
  textRules,
} from '@corral/contracts';
import type { Request, RequestHandler } from 'express';
import type { Caller } from '../changes/caller.js';
import { bodyOf, checkNamed } from '../http/body.js';
import { personCallerOf } from '../http/caller.js';
import { badNameInPath, notFound } from '../problem.js';
import { found } from './accounts.js';
import type { IssuerService, IssuerStore, TrustedIssuerRecord } from './trusted-issuers.js';

export interface TrustedIssuerRoutesDeps {
  readonly issuers: IssuerService;
  readonly store: Pick<IssuerStore, 'list' | 'find'>;
}

export function trustedIssuerRoutes({ issuers, store }: TrustedIssuerRoutesDeps) {
  return {
    async listTrustedIssuers(_req, res) {
      const { team } = personCallerOf(res);
      res.json({ items: (await store.list(team)).map((issuer) => issuerBody(issuer, team)) });
    },

    async getTrustedIssuer(req, res) {
      const { team } = personCallerOf(res);
      res.json(issuerBody(found(await store.find(team, issuerNameOf(req))), team));
    },

    async putTrustedIssuer(req, res) {
      const caller = personCallerOf(res);
      const name = req.params.issuer as string;
      const { spec, metadata } = parseTrustedIssuerPut(bodyOf(req));
      if (!isClusterName(name)) throw badNameInPath('trusted issuer', textRules.name);
      checkNamed('name', metadata?.name, name);
      const { issuer, isNew } = await issuers.put(caller, name, spec);
      if (isNew) res.location(`/api/v1/teams/${caller.team.slug}/trusted-issuers/${name}/`);
      res.status(isNew ? 201 : 200).json(issuerBody(issuer, caller.team));
    },

    async deleteTrustedIssuer(req, res) {
      await issuers.remove(personCallerOf(res), issuerNameOf(req));
      res.status(204).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** @throws Problem `not_found` for an invalid name: no issuer can have it */
function issuerNameOf(req: Request): string {
  const name = req.params.issuer as string;
  if (!isClusterName(name)) throw notFound();
  return name;
}

const issuerBody = (
  { id, name, spec, createdAt, updatedAt }: TrustedIssuerRecord,
  team: Caller['team'],
): TrustedIssuerBody => ({
  apiVersion,
  kind: 'TrustedIssuer',
  metadata: { name, id, team: team.slug, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() },
  spec: { ...spec, claims: { ...spec.claims } },
});
