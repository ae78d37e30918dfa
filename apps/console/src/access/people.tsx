import type { DnsTokenHandling, Role, SentInvitationBody, TeamMemberBody } from '@corral/contracts';
import { Button, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { invitationsQuery, membersQuery, meQuery, teamKey } from '../api/queries.js';
import { type TeamContext, useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { ApiFormFrame, useApiForm } from '../ui/api-form.js';
import { DangerDialog } from '../ui/danger-dialog.js';
import { Section } from '../ui/page.js';
import { Empty, Failed, Loaded } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { type Column, Table } from '../ui/table.js';
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
          {(all) => <Members team={team} members={all} />}
        </Loaded>
      </Section>
      {team.can('createInvitation') && (
        <>
          <Invitations team={team} />
          <InviteForm team={team} />
        </>
      )}
    </>
  );
}

function InviteForm({ team }: { readonly team: TeamContext }) {
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

function Members({ team, members }: { readonly team: TeamContext; readonly members: readonly TeamMemberBody[] }) {
  const [leaving, setLeaving] = useState<TeamMemberBody | null>(null);
  const columns = useMemo(
    (): Column<TeamMemberBody>[] => [
      {
        id: 'name',
        label: 'Name',
        isLong: true,
        sortBy: ({ display_name }) => display_name,
        cell: (member) => (member.user_id === team.me.id ? `${member.display_name} (you)` : member.display_name),
      },
      {
        id: 'role',
        label: 'Role',
        sortBy: ({ role }) => role,
        cell: (member) => <MemberRole team={team} member={member} />,
      },
      {
        id: 'since',
        label: 'Since',
        sortBy: (member) => member.joined_at,
        cell: (member) => <Time at={member.joined_at} />,
      },
      {
        id: 'actions',
        label: 'Actions',
        alignEnd: true,
        cell: (member) =>
          (team.can('deleteMember') || member.user_id === team.me.id) && (
            <Button variant="subtle" color="bad" onClick={() => setLeaving(member)}>
              {member.user_id === team.me.id ? 'Leave' : 'Remove'}
              <span className="visually-hidden"> {member.display_name}</span>
            </Button>
          ),
      },
    ],
    [team],
  );
  return (
    <>
      <Table caption="Members" columns={columns} rows={members} rowKey={({ id }) => String(id)} />
      {members.length === 1 && <p className="muted">You are the only member.</p>}
      {leaving !== null && <RemoveDialog team={team} member={leaving} onClose={() => setLeaving(null)} />}
    </>
  );
}

function MemberRole({ team, member }: { readonly team: TeamContext; readonly member: TeamMemberBody }) {
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
      {wanted !== null && wanted !== member.role && (
        <RoleDialog team={team} member={member} role={wanted} onClose={close} />
      )}
    </>
  );
}

interface RemoveDialogProps {
  readonly team: TeamContext;
  readonly member: TeamMemberBody;
  readonly onClose: () => void;
}

function RemoveDialog({ team, member, onClose }: RemoveDialogProps) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [tokens, setTokens] = useState<DnsTokenHandling>('revoke');
  const isSelf = member.user_id === team.me.id;
  const remove = useMutation({
    mutationFn: () => corral.deleteMember({ team_slug: team.slug, id: member.id }, { query: { dns_tokens: tokens } }),
    onSuccess: async () => {
      announce(`Removed ${member.display_name}`);
      onClose();
      if (!isSelf) return cache.invalidateQueries({ queryKey: teamKey(team.slug) });
      await cache.refetchQueries({ queryKey: meQuery().queryKey });
      await navigate({ to: '/' });
      cache.removeQueries({ queryKey: teamKey(team.slug) });
    },
  });
  return (
    <DangerDialog
      opened
      onClose={onClose}
      title={isSelf ? `Leave the team ${team.slug}` : `Remove ${member.display_name}`}
      confirmation={isSelf ? team.slug : member.display_name}
      action={isSelf ? 'Leave team' : 'Remove member'}
      onConfirm={() => remove.mutate()}
      isPending={remove.isPending}
      error={remove.error}
    >
      <Stack gap="sm">
        <p>
          {isSelf ? 'You lose' : `${member.display_name} loses`} access to everything of the team immediately. Clusters
          and record sets stay.
        </p>
        {team.can('deleteMember') && (
          <KeepTokens
            label={`DNS tokens that ${isSelf ? 'you' : 'they'} created`}
            value={tokens}
            onChange={setTokens}
          />
        )}
      </Stack>
    </DangerDialog>
  );
}

function Invitations({ team }: { readonly team: TeamContext }) {
  const invitations = useQuery(invitationsQuery(team.slug));
  const now = useNow();
  const columns = useMemo(
    (): Column<SentInvitationBody>[] => [
      { id: 'email', label: 'Address', isLong: true, sortBy: ({ email }) => email, cell: ({ email }) => email },
      { id: 'role', label: 'Role', cell: ({ role }) => role },
      { id: 'by', label: 'Invited by', isLong: true, cell: ({ invited_by: by }) => by },
      {
        id: 'mail',
        label: 'Mail',
        cell: ({ mail_sent_at: at }) => (at === null ? <Status tone="running">waiting</Status> : <Time at={at} />),
      },
      {
        id: 'until',
        label: 'Valid until',
        cell: ({ expires_at: at }) =>
          Date.parse(at) < now ? <Status tone="warning">expired</Status> : <Expiry at={at} />,
      },
      {
        id: 'actions',
        label: 'Actions',
        alignEnd: true,
        cell: (invitation) => <InvitationActions team={team} invitation={invitation} />,
      },
    ],
    [team, now],
  );
  return (
    <Section title="Invitations">
      <Loaded query={invitations} what="the invitations">
        {(all) =>
          all.length === 0 ? (
            <Empty>No open invitations.</Empty>
          ) : (
            <Table caption="Open invitations" columns={columns} rows={all} rowKey={({ id }) => id} />
          )
        }
      </Loaded>
    </Section>
  );
}

function InvitationActions({
  team,
  invitation,
}: {
  readonly team: TeamContext;
  readonly invitation: SentInvitationBody;
}) {
  const cache = useQueryClient();
  const params = { team_slug: team.slug, id: invitation.id };
  const reload = () => cache.invalidateQueries({ queryKey: [...teamKey(team.slug), 'invitations'] });
  const renew = useMutation({
    mutationFn: () => corral.renewInvitation(params),
    onSuccess: reload,
  });
  const revoke = useMutation({
    mutationFn: () => corral.revokeInvitation(params),
    onSuccess: reload,
  });
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
