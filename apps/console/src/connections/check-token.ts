import { type ClusterSchemas, CorralError } from '@corral/client';

type Answer = Promise<{ readonly body: ClusterSchemas['Connection'] | ClusterSchemas['ConnectionDryRun'] }>;

/**
 * Reads what the provider says about a token before it is stored. A provider that gives no answer refuses nothing: the token is verified
 * again later.
 *
 * @param dryRun of the change that would store it
 * @throws CorralError about the token, when nothing can be created with it
 */
export async function checkToken(dryRun: Answer): Promise<void> {
  const { body } = await dryRun;
  const { phase, message } = 'resource' in body ? body.resource.status : body.status;
  if (phase !== 'Rejected') return;
  const errors = [{ pointer: '/spec/token', message, detail: message }];
  throw new CorralError({ status: 422, code: 'connection_rejected', detail: message, errors });
}
