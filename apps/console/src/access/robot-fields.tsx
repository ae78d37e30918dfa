import {
  type AccountAction,
  type AccountNarrowing,
  type AccountTokenListBody,
  accountActions,
  type Role,
  type ServiceAccountSpec,
} from '@corral/contracts';
import { Checkbox, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
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

/** Such as `read, change; clusters ci-*`. */
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

interface RobotFieldsProps {
  readonly draft: RobotDraft;
  readonly onDraft: (draft: RobotDraft) => void;
  /** Messages by JSON pointer. */
  readonly errors: Readonly<Record<string, string>>;
}

/** Role and narrowing of a robot. */
export function RobotFields({ draft, onDraft, errors }: RobotFieldsProps) {
  const refused = Object.entries(errors).find(([pointer]) => pointer.startsWith('/spec/narrowing/clusters'))?.[1];
  return (
    <Stack gap="sm" align="flex-start" my="sm">
      <NativeSelect
        label="Role"
        value={draft.role}
        data={[...shownRoles]}
        onChange={(event) => onDraft({ ...draft, role: event.currentTarget.value as Role })}
      />
      <TextInput
        label="Only these clusters"
        description="Names, with * at the start or the end, such as ci-*. Leave empty for all clusters."
        value={draft.clusters}
        onChange={(event) => onDraft({ ...draft, clusters: event.currentTarget.value })}
        error={refused}
        w="20rem"
        maw="100%"
        spellCheck={false}
      />
      <Checkbox.Group
        label="What it may do, as far as its role allows"
        value={[...draft.actions]}
        onChange={(actions) => onDraft({ ...draft, actions: accountActions.filter((each) => actions.includes(each)) })}
        error={draft.actions.length === 0 && 'Choose at least one.'}
      >
        <Group mt="xs">
          {accountActions.map((action) => (
            <Checkbox key={action} value={action} label={actionWords[action]} />
          ))}
        </Group>
      </Checkbox.Group>
    </Stack>
  );
}
