import { expect, it } from '@jest/globals';
import { clusterAnswerSchemas } from './cluster/answers.js';
import { type ClusterRoute, clusterRoutes } from './cluster/routes.js';
import { dnsAnswerSchemas } from './dns/answers.js';
import { dnsRoutes } from './dns/routes.js';

/** Names of members that indicate a secret if they are text. */
const secret = /^(token|access_token|kubeconfig|join_?command|secret|password|private_?key)$/i;
const isText = ({ type }: { type?: string | readonly string[] }): boolean => [type].flat().includes('string');

function holdsSecret(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { properties = {} } = schema as { properties?: Record<string, Parameters<typeof isText>[0]> };
  return (
    Object.entries(properties).some(([name, member]) => secret.test(name) && isText(member)) ||
    Object.values(schema).some(holdsSecret)
  );
}

/* The tests of these routes check that the answer is not cached. A new route needs such a test too. */
it('lists all routes whose answers contain a secret', () => {
  const routes: readonly ClusterRoute[] = clusterRoutes;
  const ofClusters = routes.filter(({ answers }) =>
    Object.values(answers).some((answer) => answer !== null && holdsSecret(clusterAnswerSchemas[answer])),
  );
  const ofDns = dnsRoutes.filter(({ answer }) => answer !== null && holdsSecret(dnsAnswerSchemas[answer]));

  expect([...ofDns, ...ofClusters].map(({ operationId }) => operationId as string).sort()).toEqual([
    'createAccountToken',
    'createDemo',
    'createDnsToken',
    'exchangeToken',
    'issueJoinCommand',
    'issueKubeconfig',
    'startDnsSession',
  ]);
});
