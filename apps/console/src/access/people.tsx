import type { DnsTokenHandling, Role, SentInvitationBody, TeamMemberBody } from '@corral/contracts';
import { Button, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { invitationsQuery, membersQuery, meQuery, teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { ApiFormFrame, useApiForm } from '../ui/api-form.js';
import { DangerAction } from '../ui/danger.js';
import { Section } from '../ui/page.js';
import { Failed, Loaded } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { LoadedTable, Table } from '../ui/table.js';
import { Expiry, Time, useNow } from '../ui/time.js';
import { KeepTokens } from './keep-tokens.js';
import { RoleDialog } from './role-dialog.js';
import { shownRoles } from './roles.js';

/** The list shows who belongs to the team, and who is invited. */
export function People() {
  const team = useTeam();
  const members = useQuery(membersQuery(team.slug));
  return (
    <>
      <Section title="People">
        <Loaded query={members} what="the members">
          {(all) => <Members members={all} />}
        </Loaded>
      </Section>
      {team.can('createInvitation') && (
        <>
          <Invitations />
          <InviteForm />
        </>
      )}
    </>
  );
}

function InviteForm() {
  const team = useTeam();
  const cache = useQueryClient();
  const form = useApiForm({
    initial: emptyInvitation,
    draft: `${team.slug}.invite`,
    send: async (body) => bodyOf(corral.createInvitation({ team_slug: team.slug }, { body })),
    onSaved: async ({ email }) => {
      announce(`Invited ${email}`);
      await cache.invalidateQueries({ queryKey: [...teamKey(team.slug), 'invitations'] });
    },
  });
  const { fields, saved } = form;
  return (
    <Section title="Invite">
      <ApiFormFrame form={form} action="Invite" isRow>
        <TextInput label="E-mail address" type="email" required data-shortcut="n" {...fields.getInputProps('email')} />
        <NativeSelect label="Role" data={[...shownRoles]} {...fields.getInputProps('role')} />
      </ApiFormFrame>
      {saved !== undefined && (
        <p role="status">Invited {saved.email}. The mail is on its way; the invitation is listed above.</p>
      )}
    </Section>
  );
}

const emptyInvitation: { readonly email: string; readonly role: Role } = { email: '', role: 'member' };

function Members({ members }: { readonly members: readonly TeamMemberBody[] }) {
  const team = useTeam();
  const isSelf = (member: TeamMemberBody) => member.user_id === team.me.id;
  return (
    <>
      <Table
        caption="Members"
        rows={members}
        rowKey={({ id }) => String(id)}
        columns={{
          Name: {
            isLong: true,
            sortBy: ({ display_name }) => display_name,
            cell: (member) => (isSelf(member) ? `${member.display_name} (you)` : member.display_name),
          },
          Role: { sortBy: ({ role }) => role, cell: (member) => <MemberRole member={member} /> },
          Since: { sortBy: (member) => member.joined_at, cell: (member) => <Time at={member.joined_at} /> },
          Actions: {
            alignEnd: true,
            cell: (member) =>
              (team.can('deleteMember') || isSelf(member)) && <RemoveMember member={member} isSelf={isSelf(member)} />,
          },
        }}
      />
      {members.length === 1 && <p className="muted">You are the only member.</p>}
    </>
  );
}

function MemberRole({ member }: { readonly member: TeamMemberBody }) {
  const team = useTeam();
  const [wanted, setWanted] = useState<Role | null>(null);
  if (!team.can('putMember')) return member.role;
  // A change that ends late must not close the dialog of the next one.
  const close = () => setWanted((now) => (now === wanted ? null : now));
  return (
    <>
      <NativeSelect
        aria-label={`Role of ${member.display_name}`}
        w="8rem"
        value={member.role}
        data={[...shownRoles]}
        onChange={(event) => setWanted(event.currentTarget.value as Role)}
      />
      {wanted !== null && wanted !== member.role && <RoleDialog member={member} role={wanted} onClose={close} />}
    </>
  );
}

function RemoveMember({ member, isSelf }: { readonly member: TeamMemberBody; readonly isSelf: boolean }) {
  const team = useTeam();
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [tokens, setTokens] = useState<DnsTokenHandling>('revoke');
  const { id, display_name: name } = member;
  const remove = async () => {
    await corral.deleteMember({ team_slug: team.slug, id }, { query: { dns_tokens: tokens } });
    announce(`Removed ${name}`);
    if (!isSelf) return cache.invalidateQueries({ queryKey: teamKey(team.slug) });
    await cache.refetchQueries({ queryKey: meQuery().queryKey });
    await navigate({ to: '/' });
    cache.removeQueries({ queryKey: teamKey(team.slug) });
  };
  return (
    <DangerAction
      label={isSelf ? 'Leave' : 'Remove'}
      target={name}
      title={isSelf ? `Leave the team ${team.slug}` : `Remove ${name}`}
      confirmation={isSelf ? team.slug : name}
      action={isSelf ? 'Leave team' : 'Remove member'}
      onConfirm={remove}
    >
      <Stack gap="sm">
        <p>
          {isSelf ? 'You lose' : `${name} loses`} access to everything of the team immediately. Clusters and record sets
          stay.
        </p>
        {team.can('deleteMember') && (
          <KeepTokens
            label={`DNS tokens that ${isSelf ? 'you' : 'they'} created`}
            value={tokens}
            onChange={setTokens}
          />
        )}
      </Stack>
    </DangerAction>
  );
}

function Invitations() {
  const team = useTeam();
  const invitations = useQuery(invitationsQuery(team.slug));
  const now = useNow();
  return (
    <Section title="Invitations">
      <LoadedTable
        query={invitations}
        what="the invitations"
        empty="No open invitations."
        caption="Open invitations"
        rowKey={({ id }) => id}
        columns={{
          Address: { isLong: true, sortBy: ({ email }) => email, cell: ({ email }) => email },
          Role: ({ role }) => role,
          'Invited by': { isLong: true, cell: ({ invited_by: by }) => by },
          Mail: ({ mail_sent_at: at }) => (at === null ? <Status tone="running">waiting</Status> : <Time at={at} />),
          'Valid until': ({ expires_at: at }) =>
            Date.parse(at) < now ? <Status tone="warning">expired</Status> : <Expiry at={at} />,
          Actions: { alignEnd: true, cell: (invitation) => <InvitationActions invitation={invitation} /> },
        }}
      />
    </Section>
  );
}

function InvitationActions({ invitation }: { readonly invitation: SentInvitationBody }) {
  const team = useTeam();
  const cache = useQueryClient();
  const params = { team_slug: team.slug, id: invitation.id };
  const reload = () => cache.invalidateQueries({ queryKey: [...teamKey(team.slug), 'invitations'] });
  const renew = useMutation({ mutationFn: () => corral.renewInvitation(params), onSuccess: reload });
  const revoke = useMutation({ mutationFn: () => corral.revokeInvitation(params), onSuccess: reload });
  const error = renew.error ?? revoke.error;
  return (
    <>
      <Button variant="subtle" loading={renew.isPending} onClick={() => renew.mutate()}>
        Send again<span className="visually-hidden"> to {invitation.email}</span>
      </Button>
      <Button variant="subtle" color="bad" loading={revoke.isPending} onClick={() => revoke.mutate()}>
        Revoke<span className="visually-hidden"> the invitation of {invitation.email}</span>
      </Button>
      {error !== null && <Failed error={error} />}
    </>
  );
}
