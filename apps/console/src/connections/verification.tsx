import { newIdempotencyKey } from '@corral/client';
import { type Connection, isOpenOperation, type Operation } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { corral } from '../api/corral.js';
import { operationsQuery, teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Section } from '../ui/page.js';
import { Failed } from '../ui/states.js';
import { OperationStatus } from '../ui/status.js';
import { Time } from '../ui/time.js';
import { lastVerification, storyOf } from './connection-rules.js';

/** Asks the provider about the token now, and follows its answer. */
export function Verification({ connection: { metadata } }: { readonly connection: Connection }) {
  const cache = useQueryClient();
  const { slug: team, can } = useTeam();
  const { ref, id } = metadata;
  const operations = useQuery(operationsQuery(team, id));
  const last = operations.data && lastVerification(operations.data, metadata);
  const verify = useMutation({
    mutationFn: () => corral.verifyConnection({ team, ref }, { idempotencyKey: newIdempotencyKey() }),
    onSettled: () => cache.invalidateQueries({ queryKey: [...teamKey(team), 'operations', id] }),
  });
  const isRunning = verify.isPending || (last !== undefined && isOpenOperation(last));
  if (!can('verifyConnection') && last === undefined) return null;
  return (
    <Section
      title="Verification"
      actions={
        can('verifyConnection') && (
          <Button onClick={() => verify.mutate()} loading={isRunning}>
            Verify now
          </Button>
        )
      }
    >
      <p className="muted">Checked when it is set, once a day, and whenever the provider refuses it.</p>
      <div aria-live="polite">{last !== undefined && <VerificationLine operation={last} />}</div>
      {verify.error !== null && <Failed error={verify.error} what="The verification did not start." />}
    </Section>
  );
}

function VerificationLine({ operation }: { readonly operation: Operation }) {
  const { state, createdBy, updatedAt } = operation;
  return (
    <p>
      <OperationStatus state={state} /> <Time at={updatedAt} />
      {createdBy !== null && `, requested by ${createdBy.email}`}. {storyOf(operation)}
    </p>
  );
}
