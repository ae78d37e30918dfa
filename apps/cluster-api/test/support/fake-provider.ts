import { connectProjects, type Projects } from '@corral/hcloud';
import nock from 'nock';

const PROVIDER = 'http://provider.test/v1';

interface FakeServer {
  readonly id: number;
  readonly name?: string;
  readonly serverType?: string;
  readonly location?: string;
  readonly architecture?: 'x86' | 'arm';
  readonly labels?: Readonly<Record<string, string>>;
}

/** The part of the provider's server API that this service calls. Each token has its own project. */
export interface FakeProvider {
  readonly projects: Projects;
  /** Reads of servers so far. */
  reads(): number;
  put(token: string, server: FakeServer): void;
  take(token: string, id: number): void;
  /** Forces every answer from now on. Null ends that. */
  answerAll(answer: readonly [status: number, body: unknown] | null): void;
  close(): void;
}

const tokenOf = ({ headers }: Request) => String(headers.get('authorization')).replace('Bearer ', '');

export function fakeProvider(): FakeProvider {
  const held = new Map<string, FakeServer>();
  let forced: readonly [status: number, body: unknown] | null = null;
  let reads = 0;
  if (!nock.isActive()) nock.activate();
  nock(PROVIDER)
    .persist()
    .get(/\/servers\/\d+$/)
    .reply((request: Request) => {
      reads += 1;
      const server = held.get(`${tokenOf(request)} ${request.url.split('/').at(-1)}`);
      const [status, body] = forced ?? (server === undefined ? notFound : [200, { server: bodyOf(server) }]);
      return [status, body as nock.Body, { date: new Date().toUTCString() }];
    })
    .get(/\/servers\?/)
    .reply((request: Request) => {
      const token = tokenOf(request);
      const selector = new URL(request.url).searchParams.get('label_selector') ?? '';
      const [, label = '', values = ''] = /^(\S+) in \((.*)\)$/.exec(selector) ?? [];
      const isSelected = (labels: Readonly<Record<string, string>>): boolean =>
        selector.startsWith('!')
          ? !Object.hasOwn(labels, selector.slice(1))
          : values.split(',').includes(labels[label] ?? '');
      const servers = [...held]
        .filter(([key, { labels = {} }]) => key.startsWith(`${token} `) && isSelected(labels))
        .map(([, server]) => bodyOf(server));
      const [status, body] = forced ?? [200, { servers }];
      return [status, body as nock.Body, { date: new Date().toUTCString() }];
    });
  return {
    projects: connectProjects({ baseUrl: PROVIDER, timeoutMs: 60_000 }),
    reads: () => reads,
    put: (token, server) => void held.set(`${token} ${server.id}`, server),
    take: (token, id) => void held.delete(`${token} ${id}`),
    answerAll: (answer) => {
      forced = answer;
    },
    // Left in place, it would intercept the connections of other tests.
    close() {
      nock.cleanAll();
      nock.restore();
    },
  };
}

export const refused = (code: string) => ({ error: { code, message: 'no', details: null } });
const notFound = [404, refused('not_found')] as const;

const bodyOf = ({
  id,
  name = 'web',
  serverType = 'cx22',
  location = 'hel1',
  architecture = 'x86',
  labels = {},
}: FakeServer) => ({
  id,
  name,
  labels,
  status: 'running',
  locked: false,
  image: null,
  iso: null,
  rescue_enabled: false,
  server_type: { name: serverType, architecture },
  location: { name: location },
  primary_disk_size: 40,
  protection: { delete: false, rebuild: false },
});
