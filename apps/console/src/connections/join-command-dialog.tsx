import type { AdoptedServer } from '@corral/contracts';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { useTeam } from '../shell/use-team.js';
import { Snippet } from '../ui/copy.js';
import { Failed, Loading } from '../ui/states.js';
import { Time } from '../ui/time.js';

export interface JoinCommandDialogProps {
  readonly connectionRef: string;
  readonly server: AdoptedServer;
  readonly onClose: () => void;
}

/** Issues a command that makes a machine a node. It is a secret until it expires, and another one can be issued. */
export function JoinCommandDialog({ connectionRef, server, onClose }: JoinCommandDialogProps) {
  const { slug: team } = useTeam();
  const { serverID, name } = server.metadata;
  const { mutate, data, error, isPending } = useMutation({
    gcTime: 0,
    mutationFn: () => bodyOf(corral.issueJoinCommand({ team, ref: connectionRef, server_id: serverID })),
  });
  useEffect(() => mutate(), [mutate]);
  return (
    <Modal opened onClose={onClose} title={`Join command of ${name}`} size="xl">
      <Stack>
        {isPending && <Loading what="the command" />}
        {error !== null && <Failed error={error} onRetry={() => mutate()} />}
        {data !== undefined && (
          <>
            <p>
              Paste all of it into a root shell of the machine, a freshly installed Ubuntu 24.04. It becomes the node{' '}
              <code>{data.nodeName}</code> of {data.cluster}. Treat it as a secret: it expires{' '}
              <Time at={data.expiresAt} />.
            </p>
            <Snippet text={data.joinCommand} label="the join command" />
          </>
        )}
        <Group justify="flex-end">
          <Button onClick={onClose}>Close</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
