import type { Examples } from '../../openapi-parts.js';
import { accountRequestExamples } from './account-examples.js';
import { peopleRequestExamples } from './people-examples.js';

const one = (summary: string, value: unknown): Examples => ({ example: { summary, value } });
const pool = { name: 'general', machineType: 'cpx31', minimum: 1, maximum: 3 };
const cluster = { connectionRef: 'main', region: 'hel1', kubernetesVersion: '1.33' };
const project = { name: 'Production', provider: 'hcloud', token: 'the-token-of-a-cloud-project', providerConfig: {} };

/** Examples of request bodies, by operation. */
export const clusterRequestExamples: Readonly<Record<string, Examples>> = {
  ...peopleRequestExamples,
  ...accountRequestExamples,
  putCluster: {
    small: { summary: 'One pool, everything else by default', value: { spec: { ...cluster, nodePools: [pool] } } },
    draft: { summary: 'Without pools: a draft, which starts with its first one', value: { spec: cluster } },
    complete: {
      summary: 'All fields',
      value: {
        spec: {
          ...cluster,
          hibernated: false,
          controlPlaneHA: true,
          plan: 'monthly',
          network: { nodeCIDR: '172.18.0.0/16', podCIDR: '10.96.0.0/14', serviceCIDR: '10.112.0.0/16' },
          nodePools: [
            { ...pool, source: 'managed', image: {}, publicIP: true },
            { name: 'batch', machineType: 'ccx33', minimum: 0, maximum: 10 },
          ],
        },
      },
    },
  },
  putNodePool: {
    managed: { summary: 'A pool that grows to ten nodes', value: { spec: { ...pool, maximum: 10 } } },
    adopted: {
      summary: 'A pool of three adopted servers',
      value: { spec: { name: 'own', source: 'pooled', machineType: 'cx22', minimum: 2, maximum: 3 } },
    },
  },
  issueKubeconfig: {
    short: { summary: 'For ten minutes', value: { ttlSeconds: 600 } },
    viewer: { summary: 'For reading', value: { scope: 'viewer' } },
  },
  createConnection: one('A project', { spec: project }),
  putConnection: {
    create: { summary: 'A project, at a ref of the team’s choice', value: { spec: project } },
    rename: { summary: 'Another name; the token stays', value: { spec: { name: 'Live', provider: 'hcloud' } } },
  },
  adoptServer: {
    cloud: {
      summary: 'A cloud server, which is wiped',
      value: {
        spec: { serverID: 42_017, serverType: 'cx22', location: 'hel1', architecture: 'amd64', serverKind: 'cloud' },
        acknowledge: { confirm: 'WIPE' },
      },
    },
    dedicated: {
      summary: 'A machine to be joined by command',
      value: {
        spec: {
          serverID: 321,
          serverType: 'ax42',
          location: 'fsn1-dc14',
          architecture: 'amd64',
          serverKind: 'dedicated',
        },
        acknowledge: { confirm: 'WIPE' },
      },
    },
  },
  createDnsToken: {
    plain: { summary: 'All of the team’s names, until it is revoked', value: { name: 'external-dns' } },
    narrow: {
      summary: 'Only ACME challenges of one name, until a date',
      value: {
        name: 'cert-manager',
        withinName: '_acme-challenge.www.acme',
        withinTypes: ['TXT'],
        expiresAt: '2036-11-21T00:00:00Z',
      },
    },
  },
};
