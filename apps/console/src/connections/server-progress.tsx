import { type AdoptedServer, isOpenOperation, joinsByCommand } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { operationQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Meter } from '../ui/status.js';
import { storyOf } from './connection-rules.js';

/** Whether the operation on the server says more than its phase: the adoption of a machine lasts until it has joined. */
const hasOperation = ({ spec, status: { phase } }: AdoptedServer): boolean =>
  ['Adopting', 'Rebuilding', 'Deregistering', 'Failed'].includes(phase) ||
  (phase === 'Joining' && joinsByCommand(spec.serverKind));

/** How far the change of a server is, what it waits for, or why it failed and what to do. */
export function ServerProgress({ server }: { readonly server: AdoptedServer }) {
  const { slug: team } = useTeam();
  const { message, operationId } = server.status;
  const isTold = operationId !== null && hasOperation(server);
  const query = useQuery({ ...operationQuery(team, operationId ?? ''), enabled: isTold });
  const operation = isTold ? query.data : undefined;
  const story = (operation && storyOf(operation)) ?? message;
  return (
    <>
      {operation !== undefined && isOpenOperation(operation) && (
        <Meter percent={operation.progress} label={`Progress of ${server.metadata.name}`} />
      )}
      {story !== '' && <div className="muted">{story}</div>}
      {isTold && (
        <Link to="/teams/$team/operations/$id" params={{ team, id: operationId }}>
          Operation of {server.metadata.name}
        </Link>
      )}
    </>
  );
}
