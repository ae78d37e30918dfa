import { type CallDeps, perform } from './calls/call.js';
import { objectIn, objectsIn, textsIn } from './calls/json.js';
import { createCall } from './calls/requests.js';

/** A rule of a ClusterRole. A subresource is written `shoots/adminkubeconfig`. */
export interface GardenRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const core = 'core.gardener.cloud';

/** What the account of the reconciler needs: the rules of `infra/garden/reconciler.yaml`. */
export const reconcilerRights: readonly GardenRule[] = [
  { apiGroups: [core], resources: ['cloudprofiles'], verbs: ['get'] },
  { apiGroups: [core], resources: ['projects'], verbs: ['get', 'create', 'patch'] },
  { apiGroups: [core], resources: ['shoots'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: [core], resources: ['shoots/adminkubeconfig'], verbs: ['create'] },
  { apiGroups: [core], resources: ['shoots/viewerkubeconfig'], verbs: ['create'] },
  {
    apiGroups: ['security.gardener.cloud'],
    resources: ['credentialsbindings'],
    verbs: ['get', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['patch'] },
];

const ANY = '*';
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
/** Rights of a ClusterRole are the same in all namespaces. */
const NAMESPACE = 'default';

/**
 * Asks which of the rights our account lacks. Any authenticated user may ask that (kubernetes: `system:basic-user`).
 *
 * @returns such as `patch shoots.core.gardener.cloud`
 * @throws GardenError
 */
export async function missingRights(
  deps: CallDeps,
  needed: readonly GardenRule[],
  signal?: AbortSignal,
): Promise<string[]> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace: NAMESPACE },
  };
  const { body } = await perform(deps, createCall('selfsubjectrulesreviews', REVIEWS, review), signal);
  const granted = objectsIn(objectIn(body, 'status'), 'resourceRules').map((rule) => ({
    apiGroups: textsIn(rule, 'apiGroups'),
    resources: textsIn(rule, 'resources'),
    verbs: textsIn(rule, 'verbs'),
    names: textsIn(rule, 'resourceNames'),
  }));
  const has = (texts: readonly string[], text: string) => texts.includes(ANY) || texts.includes(text);
  return needed.flatMap(({ apiGroups: [group = ''], resources: [resource = ''], verbs }) =>
    verbs
      .filter(
        (verb) =>
          !granted.some(
            (rule) =>
              rule.names.length === 0 &&
              has(rule.apiGroups, group) &&
              has(rule.resources, resource) &&
              has(rule.verbs, verb),
          ),
      )
      .map((verb) => `${verb} ${resource}${group === '' ? '' : `.${group}`}`),
  );
}
