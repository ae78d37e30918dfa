import { type Cluster, clusterLimits } from '@corral/contracts';
import { Button, Group, NumberInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { Snippet } from '../ui/copy.js';
import { download } from '../ui/download.js';
import { Section } from '../ui/page.js';
import { Failed } from '../ui/states.js';
import { Expiry } from '../ui/time.js';
import { issuedQuery, RecentKubeconfigs } from './recent-kubeconfigs.js';

const MINUTE = 60;

/** Issues a kubeconfig. It stays in memory only. */
export function AccessTab({ team, cluster }: { readonly team: string; readonly cluster: Cluster }) {
  const { name } = cluster.metadata;
  const cache = useQueryClient();
  const [minutes, setMinutes] = useState(clusterLimits.kubeconfigSecondsDefault / MINUTE);
  const issue = useMutation({
    mutationFn: () => corral.issueKubeconfig({ team, name }, { body: { ttlSeconds: minutes * MINUTE } }),
    onSettled: () => cache.invalidateQueries({ queryKey: issuedQuery(team, name).queryKey }),
    gcTime: 0,
    retry: false,
  });
  const file = `${team}-${name}.kubeconfig`;
  const form = (
    <Section title="Kubeconfig">
      <p>
        It gives full access to this cluster. It cannot be revoked before it ends, so choose a short lifetime. At most{' '}
        {clusterLimits.kubeconfigsPerClusterPerHour} are issued to you within an hour.
      </p>
      <Group align="end">
        <NumberInput
          label="Lifetime (minutes)"
          min={clusterLimits.kubeconfigSecondsMin / MINUTE}
          max={clusterLimits.kubeconfigSecondsMax / MINUTE}
          allowDecimal={false}
          value={minutes}
          onChange={(value) => setMinutes(Number(value))}
        />
        <Button variant="filled" loading={issue.isPending} onClick={() => issue.mutate()}>
          Issue kubeconfig
        </Button>
      </Group>
      {issue.error !== null && <Failed error={issue.error} what="No kubeconfig was issued." />}
      {issue.data !== undefined && (
        <>
          <p role="status">
            Issued. Shown only now; it ends <Expiry at={issue.data.body.expiresAt} />.{' '}
            <Button onClick={() => download(file, 'application/yaml', issue.data.body.kubeconfig)}>
              Download {file}
            </Button>
          </p>
          <Snippet label="kubeconfig" text={issue.data.body.kubeconfig} />
          <p>Merge it into your own, then select it:</p>
          <Snippet
            label="commands to merge it"
            text={[
              `KUBECONFIG=~/.kube/config:./${file} kubectl config view --flatten > ~/.kube/merged`,
              'chmod 600 ~/.kube/merged && mv ~/.kube/merged ~/.kube/config',
              `kubectl config use-context ${team}/${name}`,
            ].join('\n')}
          />
        </>
      )}
    </Section>
  );
  return (
    <>
      {form}
      <RecentKubeconfigs team={team} cluster={cluster} />
    </>
  );
}
