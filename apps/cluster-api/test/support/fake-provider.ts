import { connectProjects } from '@corral/hcloud';
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

const tokenOf = ({ headers }: Request) => String(headers.get('authorization')).replace('Bearer ', '');

/** The part of the provider's server API that this service calls. Each token has its own project. */
export function fakeProvider() {
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
    /** Reads of servers so far. */
    reads: () => reads,
    put: (token: string, server: FakeServer) => void held.set(`${token} ${server.id}`, server),
    take: (token: string, id: number) => void held.delete(`${token} ${id}`),
    /** Forces every answer from now on. Null ends that. */
    answerAll(answer: typeof forced): void {
      forced = answer;
    },
    // Left in place, it would intercept the connections of other tests.
    close(): void {
      nock.cleanAll();
      nock.restore();
    },
  };
}

export type FakeProvider = ReturnType<typeof fakeProvider>;

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
