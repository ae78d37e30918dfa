import { pathParametersOf } from '../openapi-parts.js';

interface Tag {
  readonly name: string;
  readonly description: string;
}

const teams: Tag = { name: 'Teams', description: 'Teams, their people and invitations.' };
const sessions: Tag = { name: 'Sign-in', description: 'Who is signed in, how, and since when.' };
const billing: Tag = { name: 'Billing', description: 'What a team pays for, as the billing system says.' };
const dns: Tag = { name: 'DNS', description: 'What a team has of the DNS record API.' };

/** By the word in a path that says most of what it is about. */
const tagOfWord: Readonly<Record<string, Tag>> = {
  clusters: { name: 'Clusters', description: 'Clusters by declared intent, and kubeconfigs to use them.' },
  'node-pools': { name: 'Node pools', description: 'The machines of a cluster.' },
  operations: { name: 'Operations', description: 'What became of accepted changes.' },
  connections: { name: 'Connections', description: 'Cloud projects that clusters are made in.' },
  'adopted-servers': { name: 'Adopted servers', description: 'Servers of a team that node pools can draw on.' },
  'dns-tokens': dns,
  'dns-usage': dns,
  audit: { name: 'Audit', description: 'What was done, by whom, over both APIs.' },
  events: { name: 'Events', description: 'What changes, as it changes.' },
  ...{ billing, teams, members: teams, invitations: teams, me: sessions, auth: sessions },
};

/** All of them, in the order in which the documentation shows them. */
export const clusterTags: readonly Tag[] = [...new Set(Object.values(tagOfWord))];

/** The tag of a path: that of its last word that has one. */
export function tagOf(path: string): string {
  const words = path.split('/').filter((word) => word !== '' && !pathParametersOf(word).length);
  const word = words.findLast((each) => each in tagOfWord);
  return word === undefined ? teams.name : (tagOfWord[word] as Tag).name;
}
