import type { DnsTokenBody } from '@corral/contracts';
import { Status } from '../ui/status.js';
import { useNow } from '../ui/time.js';
import { isEndingSoon } from './token-draft.js';

export function TokenStatus({
  token: { state, expiresAt },
}: {
  readonly token: Pick<DnsTokenBody, 'state' | 'expiresAt'>;
}) {
  const now = useNow();
  if (state !== 'active') return <Status tone="idle">{state}</Status>;
  return isEndingSoon(expiresAt, now) ? (
    <Status tone="warning">active, ends soon</Status>
  ) : (
    <Status tone="good">active</Status>
  );
}
