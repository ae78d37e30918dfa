import type { Express } from 'express';
import { type AccountName, accountNames } from '../garden-accounts.js';
import { discoveryOf } from '../kube/discovery.js';
import { unauthorized } from '../kube/errors.js';
import { gardenKinds, shoots } from '../kube/kinds.js';
import { buildKubeApi, type OwnRequest } from '../kube/serve-kube.js';
import { GARDEN, inGarden } from '../kube/store.js';
import type { GardenParts } from './parts.js';

const documents: Readonly<Record<string, unknown>> = {
  ...discoveryOf(gardenKinds),
  '/version': { major: '1', minor: '34', gitVersion: 'v1.34.1' },
  '/readyz': 'ok',
};

/** The Kubernetes API of the garden cluster. @param tokens bearer tokens of the accounts */
export function buildGardenApi(parts: GardenParts, tokens: Readonly<Record<AccountName, string>>): Express {
  const { accounts, store, authorities } = parts;
  const issue =
    (role: 'admin' | 'viewer') =>
    (request: OwnRequest): unknown => {
      const held = store.get(inGarden(shoots, request.namespace, request.name));
      return authorities.issueKubeconfig(held, role, request);
    };
  return buildKubeApi({
    ...parts,
    name: 'garden',
    enter(req) {
      const credentials = req.get('Authorization');
      // A request without credentials may do nothing.
      if (credentials === undefined) return { cluster: GARDEN, user: 'system:anonymous', rules: [] };
      const token = /^Bearer +(\S+)$/i.exec(credentials)?.[1];
      const name = accountNames.find((each) => tokens[each] === token);
      if (name === undefined) throw unauthorized();
      return { cluster: GARDEN, user: accounts[name].userName, rules: accounts[name].rules };
    },
    kindOf: (_cluster, path) => gardenKinds.find(({ group, plural }) => group === path.group && plural === path.plural),
    documentAt: (path) => documents[path],
    creations: {
      'shoots/adminkubeconfig': issue('admin'),
      'shoots/viewerkubeconfig': issue('viewer'),
      selfsubjectrulesreviews: ({ visitor }) => {
        const status = { resourceRules: visitor.rules, nonResourceRules: [], incomplete: false };
        return { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', status };
      },
    },
  });
}
