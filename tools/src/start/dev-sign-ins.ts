import type { DevPerson, DevTeam } from './dev-file.js';
import type { DevTeamRows } from './dev-teams.js';

const CONNECTION_REF = 'main';

export interface DevSignInOptions {
  readonly baseUrl: string;
  readonly teams: readonly DevTeamRows[];
  /** Sessions of the last run that are still valid stay. */
  readonly lastRun: readonly DevTeam[];
  /** Tokens by slug. A team without a token gets no connection. */
  readonly projectTokens: Readonly<Record<string, string>>;
}

export type SignedInTeam = Omit<DevTeam, 'servers'>;

/** Signs all users in and connects each team to its cloud project, through the API like any other client. */
export function devSignIns({ baseUrl, teams, lastRun, projectTokens }: DevSignInOptions): Promise<SignedInTeam[]> {
  return Promise.all(
    teams.map(async ({ slug, dnsToken, adminEmail, memberEmail }) => {
      const last = lastRun.find((team) => team.slug === slug);
      const admin = await signIn(baseUrl, adminEmail, last?.admin);
      const member = await signIn(baseUrl, memberEmail, last?.member);
      const token = projectTokens[slug];
      const connectionRef = token === undefined ? null : CONNECTION_REF;
      if (token !== undefined) await ensureConnection(`${baseUrl}/api/v1/teams/${slug}`, admin.sessionid, token);
      return { slug, dnsToken, connectionRef, admin, member };
    }),
  );
}

async function signIn(baseUrl: string, email: string, last: DevPerson | undefined): Promise<DevPerson> {
  if (last?.email === email && (await call(`${baseUrl}/api/v1/me/`, { cookie: last.sessionid })).status === 200) {
    return last;
  }
  const answer = await call(`${baseUrl}/auth/dev-login/`, { method: 'POST', body: { email } });
  const sessionid = /(?:^|, )sessionid=([^;]+)/.exec(answer.headers.get('set-cookie') ?? '')?.[1];
  if (sessionid === undefined) throw new Error(`${email} could not sign in: ${answer.status} ${await answer.text()}`);
  return { email, sessionid };
}

async function ensureConnection(teamUrl: string, cookie: string, token: string): Promise<void> {
  const url = `${teamUrl}/connections/${CONNECTION_REF}/`;
  const known = await call(url, { cookie });
  if (known.ok && ((await known.json()) as { status: { phase: string } }).status.phase === 'Ready') return;
  const spec = { name: 'Local project', provider: 'hcloud', token };
  const answer = await call(url, { method: 'PUT', cookie, body: { spec } });
  if (!answer.ok) throw new Error(`${url} could not be created: ${answer.status} ${await answer.text()}`);
}

function call(url: string, { method = 'GET', cookie, body }: { method?: string; cookie?: string; body?: object }) {
  return fetch(url, {
    method,
    headers: {
      ...(cookie === undefined ? {} : { Cookie: `sessionid=${cookie}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
