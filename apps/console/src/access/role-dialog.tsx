import { type DnsTokenHandling, type Role, roleNames, type TeamMemberBody } from '@corral/contracts';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { meQuery, teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { Failed, Loaded } from '../ui/states.js';
import { KeepTokens } from './keep-tokens.js';
import { roleMeanings } from './roles.js';

interface RoleDialogProps {
  readonly member: TeamMemberBody;
  readonly role: Role;
  readonly onClose: () => void;
}

/** The plan of a change of a role: what it means and ends. Nothing changes before it is confirmed. */
export function RoleDialog({ member, role, onClose }: RoleDialogProps) {
  const team = useTeam();
  const cache = useQueryClient();
  const [tokens, setTokens] = useState<DnsTokenHandling>('revoke');
  const { display_name: name } = member;
  const path = { team_slug: team.slug, id: member.id };
  const plan = useQuery({
    queryKey: [...teamKey(team.slug), 'role-plan', member.id, role],
    queryFn: ({ signal }) => bodyOf(corral.putMember(path, { body: { role }, query: { dryRun: true }, signal })),
    gcTime: 0,
    staleTime: 0,
  });
  const save = useMutation({
    mutationFn: () => corral.putMember(path, { body: { role }, query: { dns_tokens: tokens } }),
    onSuccess: async () => {
      announce(`Changed the role of ${name}`);
      await cache.invalidateQueries({ queryKey: teamKey(team.slug) });
      if (member.user_id === team.me.id) await cache.invalidateQueries({ queryKey: meQuery().queryKey });
      onClose();
    },
  });
  const ended = plan.data?.dns_tokens.revoked ?? [];
  return (
    <Modal opened onClose={onClose} title={`Make ${name} ${roleNames[role]}`}>
      <Stack gap="sm">
        <p>
          {name} {roleMeanings[role]}.
        </p>
        <Loaded query={plan} what="the plan">
          {() =>
            ended.length > 0 && (
              <>
                <p>
                  {ended.length === 1 ? 'This DNS token of theirs ends' : 'These DNS tokens of theirs end'}, unless you
                  keep {ended.length === 1 ? 'it' : 'them'}:
                </p>
                <ul>
                  {ended.map((token) => (
                    <li key={token.id} className="mono">
                      {token.name}
                    </li>
                  ))}
                </ul>
                <KeepTokens label="DNS tokens that they created" value={tokens} onChange={setTokens} />
              </>
            )
          }
        </Loaded>
        {save.error !== null && <Failed error={save.error} />}
        <Group justify="flex-end">
          <Button data-autofocus onClick={onClose}>
            Cancel
          </Button>
          <Button
            variant="filled"
            disabled={plan.data === undefined}
            loading={save.isPending}
            onClick={() => save.mutate()}
          >
            Change role
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
