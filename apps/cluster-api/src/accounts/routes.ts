import { personOf } from '@corral/auth';
import {
  type AccountTokenListBody,
  apiVersion,
  type ClusterOperationId,
  type CreatedAccountTokenBody,
  isClusterName,
  parseAccountTokenPost,
  parseServiceAccountPut,
  type ServiceAccountBody,
  textRules,
} from '@corral/contracts';
import type { Request, RequestHandler } from 'express';
import type { Caller } from '../changes/caller.js';
import { bodyOf, checkNamed } from '../http/body.js';
import { personCallerOf } from '../http/caller.js';
import { parseId } from '../paging.js';
import { badNameInPath, notFound } from '../problem.js';
import type { AccountRecord, AccountService, AccountStore, AccountTokenRecord } from './accounts.js';
import { found } from './accounts.js';

export interface AccountRoutesDeps {
  readonly accounts: AccountService;
  readonly store: Pick<AccountStore, 'list' | 'find' | 'listTokens'>;
}

export function accountRoutes({ accounts, store }: AccountRoutesDeps) {
  return {
    async listServiceAccounts(_req, res) {
      const { team } = personCallerOf(res);
      res.json({ items: (await store.list(team)).map((account) => accountBody(account, team)) });
    },

    async getServiceAccount(req, res) {
      const { team } = personCallerOf(res);
      res.json(accountBody(found(await store.find(team, accountNameOf(req))), team));
    },

    async putServiceAccount(req, res) {
      const caller = personCallerOf(res);
      const name = req.params.account as string;
      const { spec, metadata } = parseServiceAccountPut(bodyOf(req));
      if (!isClusterName(name)) throw badNameInPath('service account', textRules.name);
      checkNamed('name', metadata?.name, name);
      const { account, isNew } = await accounts.put(caller, name, spec);
      if (isNew) res.location(`/api/v1/teams/${caller.team.slug}/service-accounts/${name}/`);
      res.status(isNew ? 201 : 200).json(accountBody(account, caller.team));
    },

    async deleteServiceAccount(req, res) {
      await accounts.remove(personCallerOf(res), accountNameOf(req));
      res.status(204).end();
    },

    async listAccountTokens(req, res) {
      const account = found(await store.find(personCallerOf(res).team, accountNameOf(req)));
      const items = (await store.listTokens(account)).map(tokenBody);
      res.json({ items } satisfies AccountTokenListBody);
    },

    async createAccountToken(req, res) {
      const caller = personCallerOf(res);
      const { expiresInDays } = parseAccountTokenPost(bodyOf(req));
      const { id, token, expiresAt } = await accounts.issueToken(caller, accountNameOf(req), expiresInDays);
      res.status(201).json({ id, token, expiresAt: expiresAt.toISOString() } satisfies CreatedAccountTokenBody);
    },

    async revokeAccountToken(req, res) {
      const id = parseId(req.params.id as string);
      if (id === null) throw notFound();
      await accounts.revokeToken(personCallerOf(res), accountNameOf(req), id);
      res.status(204).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** @throws Problem `not_found` for an invalid name: no account can have it */
function accountNameOf(req: Request): string {
  const name = req.params.account as string;
  if (!isClusterName(name)) throw notFound();
  return name;
}

const accountBody = (
  { id, name, spec, createdAt, updatedAt }: AccountRecord,
  team: Caller['team'],
): ServiceAccountBody => ({
  apiVersion,
  kind: 'ServiceAccount',
  metadata: { name, id, team: team.slug, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() },
  spec: {
    role: spec.role,
    narrowing: { clusters: [...spec.narrowing.clusters], actions: [...spec.narrowing.actions] },
  },
});

const tokenBody = ({ id, createdAt, createdBy, expiresAt, lastUsedAt, revokedAt }: AccountTokenRecord) => ({
  id,
  createdAt: createdAt.toISOString(),
  createdBy: createdBy && personOf(createdBy),
  expiresAt: expiresAt.toISOString(),
  lastUsedAt: lastUsedAt?.toISOString() ?? null,
  revokedAt: revokedAt?.toISOString() ?? null,
});
