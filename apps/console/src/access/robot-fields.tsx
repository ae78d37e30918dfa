import {
  type AccountAction,
  type AccountNarrowing,
  type AccountTokenListBody,
  accountActions,
  type Role,
  type ServiceAccountSpec,
} from '@corral/contracts';
import { Checkbox, Group, NativeSelect, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { shownRoles } from './roles.js';

/** What a form about a robot holds. */
export interface RobotDraft {
  readonly role: Role;
  /** Patterns with white space or commas between them; empty: all clusters. */
  readonly clusters: string;
  readonly actions: readonly AccountAction[];
}

export const emptyRobot: RobotDraft = { role: 'member', clusters: '', actions: accountActions };

const ALL = '*';

export const draftOf = ({ role, narrowing }: ServiceAccountSpec): RobotDraft => ({
  role,
  clusters: narrowing.clusters.includes(ALL) ? '' : narrowing.clusters.join(', '),
  actions: narrowing.actions,
});

export function specOf({ role, clusters, actions }: RobotDraft) {
  const patterns = [...new Set(clusters.split(/[\s,]+/).filter((pattern) => pattern !== ''))];
  return { role, narrowing: { clusters: patterns.length === 0 ? [ALL] : patterns, actions: [...actions] } };
}

/** Says what a robot may do, such as `read, change; clusters ci-*`. */
export function narrowingText({ clusters, actions }: AccountNarrowing): string {
  const what = actions.length === accountActions.length ? 'all that its role may' : actions.join(', ');
  return `${what}; ${clusters.includes(ALL) ? 'all clusters' : `clusters ${clusters.join(', ')}`}`;
}

type AccountToken = AccountTokenListBody['items'][number];

/** @param now Unix time in ms */
export const isActiveToken = ({ revokedAt, expiresAt }: AccountToken, now: number): boolean =>
  revokedAt === null && Date.parse(expiresAt) > now;

const actionWords: Readonly<Record<AccountAction, string>> = {
  read: 'Read, and see plans',
  change: 'Create and change',
  delete: 'Delete',
  kubeconfig: 'Get kubeconfigs',
};

export const actionsProblem = (actions: RobotDraft['actions']): string | null =>
  actions.length === 0 ? 'Choose at least one.' : null;

/** Role and narrowing of a robot. */
export function RobotFields({ fields }: { readonly fields: UseFormReturnType<RobotDraft> }) {
  const { values, setFieldValue } = fields;
  return (
    <>
      <NativeSelect label="Role" data={[...shownRoles]} w="20rem" maw="100%" {...fields.getInputProps('role')} />
      <TextInput
        label="Only these clusters"
        description="Names, with * at the start or the end, such as ci-*. Leave empty for all clusters."
        w="20rem"
        maw="100%"
        spellCheck={false}
        {...fields.getInputProps('clusters')}
      />
      <Checkbox.Group
        label="What it may do, as far as its role allows"
        {...fields.getInputProps('actions')}
        value={[...values.actions]}
        onChange={(actions) =>
          setFieldValue(
            'actions',
            accountActions.filter((each) => actions.includes(each)),
          )
        }
      >
        <Group mt="xs">
          {accountActions.map((action) => (
            <Checkbox key={action} value={action} label={actionWords[action]} />
          ))}
        </Group>
      </Checkbox.Group>
    </>
  );
}
