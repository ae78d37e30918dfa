import { rolesNeeded } from '@corral/client';
import { type Role, roleCovers, roles } from '@corral/contracts';
import type { TeamOperation } from '../shell/use-team.js';
import { Section } from '../ui/page.js';
import { Table } from '../ui/table.js';

/** Ends a sentence about a person. */
export const roleMeanings: Readonly<Record<Role, string>> = {
  admin:
    'can do everything in the team: also invite people, change roles, connect cloud projects and read the audit log',
  member: 'can change record sets and clusters, and make DNS tokens and kubeconfigs',
  viewer: 'can read everything of the team and change nothing',
};

/** The roles from least to most rights. */
export const shownRoles: readonly Role[] = [...roles].reverse();

const abilities: readonly { readonly what: string; readonly operation: TeamOperation }[] = [
  { what: 'Read record sets, clusters, usage and members', operation: 'listRrsets' },
  { what: 'Get kubeconfigs that only read', operation: 'listKubeconfigIssues' },
  { what: 'Change record sets and demos', operation: 'createRrset' },
  { what: 'Create DNS tokens', operation: 'createDnsToken' },
  { what: 'Create, change and delete clusters', operation: 'putCluster' },
  { what: 'Get kubeconfigs with full access', operation: 'issueKubeconfig' },
  { what: 'Invite and remove people, change roles', operation: 'putMember' },
  { what: 'Manage robots and trusted issuers', operation: 'putServiceAccount' },
  { what: 'Connect cloud projects, adopt servers', operation: 'putConnection' },
  { what: 'Read the audit log', operation: 'listAudit' },
];

/** What each role may do, from the table of access that the API checks. */
export const RolesMatrix = () => (
  <Section title="Who may do what">
    <Table
      caption="Rights of the roles"
      isNarrow
      rows={abilities}
      rowKey={({ what }) => what}
      columns={{
        What: { isLong: true, cell: ({ what }) => what },
        ...Object.fromEntries(
          shownRoles.map((role) => [
            role,
            ({ operation }: { readonly operation: TeamOperation }) =>
              roleCovers(role, rolesNeeded[operation]) ? 'yes' : <span className="faint">no</span>,
          ]),
        ),
      }}
    />
  </Section>
);
