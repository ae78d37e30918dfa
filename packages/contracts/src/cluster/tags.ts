import { pathParametersOf, type Tag } from '../openapi/document.js';

const teams: Tag = { name: 'Teams', description: 'Teams, their members and invitations.' };
const sessions: Tag = { name: 'Sign-in', description: 'Sign-in and sessions.' };
const billing: Tag = { name: 'Billing', description: 'Subscriptions of teams, as reported by the billing system.' };
const adoptedServers: Tag = { name: 'Adopted servers', description: 'Servers of a team that node pools can use.' };
const accounts: Tag = { name: 'Service accounts', description: 'Access of programs, and their tokens.' };
const dns: Tag = { name: 'DNS', description: 'DNS tokens and DNS usage of a team.' };

/** Tags by path word. */
const tagOfWord: Readonly<Record<string, Tag>> = {
  clusters: { name: 'Clusters', description: 'Declarative clusters, and kubeconfigs to access them.' },
  'node-pools': { name: 'Node pools', description: 'Node pools of a cluster.' },
  names: {
    name: 'Names on clusters',
    description: 'Names of the team with DNS records and certificates from a cluster.',
  },
  operations: { name: 'Operations', description: 'State and outcome of accepted changes.' },
  connections: { name: 'Connections', description: 'Cloud projects in which clusters are created.' },
  'project-servers': adoptedServers,
  'adopted-servers': adoptedServers,
  catalogue: { name: 'Catalogue', description: 'What a team may declare.' },
  'dns-tokens': dns,
  'dns-session': dns,
  'dns-usage': dns,
  'record-set-changes': dns,
  usage: { name: 'Usage', description: 'Usage of a team over time.' },
  'service-accounts': accounts,
  'trusted-issuers': accounts,
  webhooks: { name: 'Webhooks', description: 'Events of a team, posted to addresses that it names.' },
  audit: { name: 'Audit', description: 'Audit log of both APIs.' },
  events: { name: 'Events', description: 'Live changes.' },
  billing,
  teams,
  members: teams,
  invitations: teams,
  me: sessions,
  auth: sessions,
};

/** All tags in the order of the documentation. */
export const clusterTags: readonly Tag[] = [...new Set(Object.values(tagOfWord))];

/** The tag of a path: that of the last word that has one. */
export function tagOf(path: string): string {
  const words = path.split('/').filter((word) => word !== '' && !pathParametersOf(word).length);
  const word = words.findLast((each) => each in tagOfWord);
  return word === undefined ? teams.name : (tagOfWord[word] as Tag).name;
}
