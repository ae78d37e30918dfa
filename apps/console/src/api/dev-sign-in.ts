import { type ClusterSchemas, CorralError } from '@corral/client';

/* Sign-in with an address alone. It exists in development only, so the document and the typed client leave it out. */

const DEV_SIGN_IN = '/auth/dev-login/';

export interface DevPerson {
  readonly email: string;
  readonly displayName: string;
  readonly teams: readonly { readonly slug: string; readonly role: string }[];
}

/** The first people by address. */
export async function listDevPeople(signal: AbortSignal): Promise<readonly DevPerson[]> {
  const { items } = (await send({ signal })) as { items: readonly DevPerson[] };
  return items;
}

/** Signs in. @returns who is signed in then @throws CorralError with the API's refusal */
export const devSignIn = async (email: string): Promise<ClusterSchemas['Me']> =>
  (await send({
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email }),
  })) as ClusterSchemas['Me'];

async function send(init: RequestInit): Promise<unknown> {
  const answer = await fetch(DEV_SIGN_IN, init);
  const body = await answer.json().catch(() => null);
  if (answer.ok) return body;
  const { status, headers } = answer;
  const { code, detail } = { code: 'unreadable', detail: `The service answered ${status}.`, ...body };
  throw new CorralError({ status, code, detail, requestId: headers.get('X-Correlation-Id') });
}
