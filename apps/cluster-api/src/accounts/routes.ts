import {
  type AccountTokenListBody,
  type ClusterOperationId,
  type CreatedAccountTokenBody,
  isClusterName,
  parseAccountTokenPost,
  parseServiceAccountPut,
  parseTrustedIssuerPut,
  textRules,
} from '@corral/contracts';
import type { RequestHandler } from 'express';
import { personCallerOf } from '../http/caller.js';
import { bodyOf, checkNamed } from '../http/request.js';
import { requiredId } from '../paging.js';
import { badNameInPath, found, notFound } from '../problem.js';
import type { Services } from '../services.js';
import { issueAccountToken, putAccount, removeAccount, revokeToken } from './accounts.js';
import { putIssuer, removeIssuer } from './issuers.js';
import { findAccount, findIssuer, listAccounts, listAccountTokens, listIssuers } from './store.js';
import { accountBody, accountTokenBody, issuerBody } from './view.js';

/** The handlers of service accounts, their tokens and the issuers that they trust. */
export function accountRoutes({ prisma, changeTeam, issuerCalls }: Services) {
  return {
    async listServiceAccounts(_req, res) {
      const { team } = personCallerOf(res);
      const accounts = await listAccounts(prisma, team.id);
      res.json({ items: accounts.map((account) => accountBody(account, team.slug)) });
    },

    async getServiceAccount(req, res) {
      const { team } = personCallerOf(res);
      res.json(accountBody(found(await findAccount(prisma, team.id, nameIn(req.params.account))), team.slug));
    },

    async putServiceAccount(req, res) {
      const caller = personCallerOf(res);
      const { slug } = caller.team;
      const name = req.params.account as string;
      const { spec, metadata } = parseServiceAccountPut(bodyOf(req));
      if (!isClusterName(name)) throw badNameInPath('service account', textRules.name);
      checkNamed('name', metadata?.name, name);
      const { account, isNew } = await putAccount(changeTeam, caller, name, spec);
      if (isNew) res.location(`/api/v1/teams/${slug}/service-accounts/${name}/`);
      res.status(isNew ? 201 : 200).json(accountBody(account, slug));
    },

    async deleteServiceAccount(req, res) {
      await removeAccount(changeTeam, personCallerOf(res), nameIn(req.params.account));
      res.status(204).end();
    },

    async listAccountTokens(req, res) {
      const { team } = personCallerOf(res);
      const account = found(await findAccount(prisma, team.id, nameIn(req.params.account)));
      const items = (await listAccountTokens(prisma, team.id, account.id)).map(accountTokenBody);
      res.json({ items } satisfies AccountTokenListBody);
    },

    async createAccountToken(req, res) {
      const caller = personCallerOf(res);
      const { expiresInDays } = parseAccountTokenPost(bodyOf(req));
      const name = nameIn(req.params.account);
      const { id, token, expiresAt } = await issueAccountToken(changeTeam, caller, name, expiresInDays);
      res.status(201).json({ id, token, expiresAt: expiresAt.toISOString() } satisfies CreatedAccountTokenBody);
    },

    async revokeAccountToken(req, res) {
      const id = requiredId(req.params.id);
      await revokeToken(changeTeam, personCallerOf(res), nameIn(req.params.account), id);
      res.status(204).end();
    },

    async listTrustedIssuers(_req, res) {
      const { team } = personCallerOf(res);
      const issuers = await listIssuers(prisma, team.id);
      res.json({ items: issuers.map((issuer) => issuerBody(issuer, team.slug)) });
    },

    async getTrustedIssuer(req, res) {
      const { team } = personCallerOf(res);
      res.json(issuerBody(found(await findIssuer(prisma, team.id, nameIn(req.params.issuer))), team.slug));
    },

    async putTrustedIssuer(req, res) {
      const caller = personCallerOf(res);
      const { slug } = caller.team;
      const name = req.params.issuer as string;
      const { spec, metadata } = parseTrustedIssuerPut(bodyOf(req));
      if (!isClusterName(name)) throw badNameInPath('trusted issuer', textRules.name);
      checkNamed('name', metadata?.name, name);
      const { issuer, isNew } = await putIssuer(changeTeam, issuerCalls, caller, name, spec);
      if (isNew) res.location(`/api/v1/teams/${slug}/trusted-issuers/${name}/`);
      res.status(isNew ? 201 : 200).json(issuerBody(issuer, slug));
    },

    async deleteTrustedIssuer(req, res) {
      await removeIssuer(changeTeam, personCallerOf(res), nameIn(req.params.issuer));
      res.status(204).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** @throws Problem `not_found` for an invalid name: nothing can have it */
function nameIn(text: unknown): string {
  if (typeof text !== 'string' || !isClusterName(text)) throw notFound();
  return text;
}
