import { describe, expect, it } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import fc from 'fast-check';
import { applyLiveEvent, type LiveEvent } from './live-cache.js';

interface Server {
  readonly metadata: { readonly id: string };
  readonly revision: number;
}

const list = ['team', 'acme', 'servers', 'main'];
const eventOf = (id: string, resource: Server | null): LiveEvent => ({
  id: '1',
  kind: 'AdoptedServer',
  change: resource === null ? 'deleted' : 'changed',
  name: id,
  targetId: id,
  parent: 'main',
  resource,
});

/** A list that is shown, whose loads read `actual` when they begin and end when the test says so. */
function shown(actual: Map<string, Server>) {
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, gcTime: 0 } } });
  const loads = new Set<() => void>();
  const queryFn = () => {
    const read = [...actual.values()];
    return new Promise<Server[]>((resolve) => loads.add(() => resolve(read)));
  };
  const leave = new QueryObserver(cache, { queryKey: list, queryFn }).subscribe(() => undefined);
  return {
    reload: () => void cache.invalidateQueries({ queryKey: list }),
    apply: (event: LiveEvent) => applyLiveEvent(cache, 'acme', event),
    async endLoads() {
      for (const end of loads) end();
      loads.clear();
      await new Promise(setImmediate);
    },
    isLoading: () => cache.isFetching() > 0,
    rows: () => cache.getQueryData<Server[]>(list),
    leave,
  };
}

describe('a list that follows live changes', () => {
  it('does not show a resource again that was deleted while the list was loading', async () => {
    const actual = new Map([['a', { metadata: { id: 'a' }, revision: 1 }]]);
    const page = shown(actual);
    await page.endLoads();
    page.reload();

    actual.clear();
    page.apply(eventOf('a', null));
    await page.endLoads();
    await page.endLoads();

    expect(page.rows()).toEqual([]);
    page.leave();
  });

  it('shows what is there when all events have arrived and all loads have ended, in any order', async () => {
    const step = fc.record({
      what: fc.constantFrom('put', 'delete', 'reload', 'deliver', 'end'),
      id: fc.constantFrom('a', 'b', 'c'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const actual = new Map<string, Server>();
        const page = shown(actual);
        const onTheWay: LiveEvent[] = [];
        let revision = 0;
        for (const { what, id } of steps) {
          if (what === 'put') {
            revision += 1;
            actual.set(id, { metadata: { id }, revision });
            onTheWay.push(eventOf(id, actual.get(id) ?? null));
          } else if (what === 'delete') {
            if (actual.delete(id)) onTheWay.push(eventOf(id, null));
          } else if (what === 'reload') page.reload();
          else if (what === 'end') await page.endLoads();
          else for (const event of onTheWay.splice(0, 1)) page.apply(event);
        }
        for (const event of onTheWay) page.apply(event);
        while (page.isLoading()) await page.endLoads();

        const byId = (one: Server, other: Server) => (one.metadata.id < other.metadata.id ? -1 : 1);
        expect([...(page.rows() ?? [])].sort(byId)).toEqual([...actual.values()].sort(byId));
        page.leave();
      }),
    );
  });
});

it('the page of a resource stops showing it once it is deleted', async () => {
  const cache = new QueryClient();
  const detail = ['team', 'acme', 'cluster', 'web'];
  let isDeleted = false;
  const queryFn = () => (isDeleted ? Promise.reject(new Error('Not found')) : Promise.resolve('web'));
  const page = new QueryObserver(cache, { queryKey: detail, queryFn, retry: false });
  const leave = page.subscribe(() => undefined);
  await new Promise(setImmediate);
  expect(page.getCurrentResult().data).toBe('web');

  isDeleted = true;
  applyLiveEvent(cache, 'acme', { ...eventOf('1', null), kind: 'Cluster', name: 'web', parent: null });
  await new Promise(setImmediate);
  expect(page.getCurrentResult()).toMatchObject({ data: undefined, isError: true });
  leave();
  cache.clear();
});
