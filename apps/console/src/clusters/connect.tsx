import type { Cluster, KubeconfigScope } from '@corral/contracts';
import { Button, Menu, Modal, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ChevronDown } from 'lucide-react';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { useTeam } from '../shell/use-team.js';
import { Snippet } from '../ui/copy.js';
import { download } from '../ui/download.js';
import { Failed } from '../ui/states.js';
import { Expiry } from '../ui/time.js';
import { useReturnFocus } from '../ui/use-return-focus.js';
import { issuedQuery, RecentKubeconfigs } from './recent-kubeconfigs.js';

const HOUR = 3_600;

interface Access {
  readonly scope: KubeconfigScope;
  readonly label: string;
  readonly hours: number;
}

/** What reads only may last longer: a stolen one does less harm. */
const accesses: readonly Access[] = [
  { scope: 'admin', label: 'Full access', hours: 1 },
  { scope: 'viewer', label: 'Read only', hours: 8 },
];

interface ConnectProps {
  readonly cluster: Cluster;
}

/** The ways into a cluster. */
export function Connect({ cluster }: ConnectProps) {
  const [chosen, setChosen] = useState<Access | null>(null);
  const { can } = useTeam();
  const allowed = accesses.filter(({ scope }) => scope === 'viewer' || can('issueKubeconfig'));
  return (
    <>
      <Menu>
        <Menu.Target>
          <Button variant="filled" rightSection={<ChevronDown size={14} aria-hidden />}>
            Connect
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {allowed.map((access) => (
            <Menu.Item key={access.scope} onClick={() => setChosen(access)}>
              {access.label}, {access.hours} h
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {chosen !== null && <ConnectDialog cluster={cluster} access={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

interface ConnectDialogProps extends ConnectProps {
  readonly access: Access;
  readonly onClose: () => void;
}

/** The command first, as it writes no secret; a file on request. */
function ConnectDialog({ cluster, access, onClose }: ConnectDialogProps) {
  const { name } = cluster.metadata;
  const scope = access.scope === 'admin' ? '' : ` --scope ${access.scope}`;
  useReturnFocus();
  return (
    <Modal opened onClose={onClose} title={`Connect to ${name}: ${access.label.toLowerCase()}`} size="lg">
      <Stack>
        <p>With the command line: kubectl asks for access when it needs it, and no secret is written.</p>
        <Snippet label="command" text={`corral kubeconfig get ${name} --exec --merge${scope}`} />
        <KubeconfigFile cluster={cluster} access={access} />
        <RecentKubeconfigs cluster={cluster} />
      </Stack>
    </Modal>
  );
}

/** Issues a kubeconfig. It stays in memory only, and its key is not shown. */
function KubeconfigFile({ cluster, access }: Omit<ConnectDialogProps, 'onClose'>) {
  const { slug: team } = useTeam();
  const { name } = cluster.metadata;
  const cache = useQueryClient();
  const issue = useMutation({
    mutationFn: () =>
      corral.issueKubeconfig({ team, name }, { body: { ttlSeconds: access.hours * HOUR, scope: access.scope } }),
    onSettled: () => cache.invalidateQueries({ queryKey: issuedQuery(team, name).queryKey }),
    gcTime: 0,
    retry: false,
  });
  const file = `${team}-${name}.kubeconfig`;
  const issued = issue.data?.body;
  return (
    <>
      <p>
        Or as a file, which is a secret: it cannot be revoked before it ends after {access.hours} h.{' '}
        <Button loading={issue.isPending} onClick={() => issue.mutate()}>
          Issue kubeconfig
        </Button>
      </p>
      {issue.error !== null && <Failed error={issue.error} what="No kubeconfig was issued." />}
      {issued !== undefined && (
        <>
          <p role="status">
            Issued. Shown only now; it ends <Expiry at={issued.expiresAt} />.{' '}
            <Button onClick={() => download(file, 'application/yaml', issued.kubeconfig)}>Download {file}</Button>
          </p>
          <Snippet label="kubeconfig" text={masked(issued.kubeconfig)} copies={issued.kubeconfig} />
        </>
      )}
    </>
  );
}

/** Keys and certificates are copied, but a glance at the screen does not show them. */
const masked = (kubeconfig: string): string =>
  kubeconfig.replace(/^(\s*(?:client-key-data|client-certificate-data|token):).*$/gm, '$1 ••••••••');
