import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { StoreRecord } from './held.js';
import { ObjectStore } from './object-store.js';

type Write = { readonly key: readonly [namespace: string, name: string]; readonly value: number | null };

const anyWrites = fc.array(
  fc.record({
    key: fc.tuple(fc.constantFrom('a', 'a-b', 'b'), fc.constantFrom('x', 'y', 'z')),
    value: fc.option(fc.nat(9)),
  }),
  { maxLength: 30 },
);

function write(store: ObjectStore, { key: [namespace, name], value }: Write): void {
  if (value === null) store.remove('things', namespace, name);
  else
    store.put('things', { apiVersion: 'v1', kind: 'Thing', metadata: { namespace, name }, value }, { hidden: value });
}

const contents = (store: ObjectStore, at?: number) => store.list('things', at).map(({ text }) => text);
const newStore = (lines: string[] = []) =>
  new ObjectStore({ historyLength: 1000, now: () => 0, keep: (line) => void lines.push(line) });

describe('the store', () => {
  it('lists every past version as it was', () => {
    fc.assert(
      fc.property(anyWrites, (writes) => {
        const store = newStore();
        const moments = new Map([[store.version, contents(store)]]);
        for (const each of writes) {
          write(store, each);
          moments.set(store.version, contents(store));
        }

        for (const [version, shown] of moments) expect(contents(store, version)).toEqual(shown);
      }),
    );
  });

  it('reaches the present from any version by its events', () => {
    fc.assert(
      fc.property(anyWrites, fc.nat(30), (writes, after) => {
        const store = newStore();
        for (const each of writes.slice(0, after)) write(store, each);
        const version = store.version;
        const known = new Map(store.list('things').map((held) => [`${held.namespace}/${held.name}`, held.text]));
        for (const each of writes.slice(after)) write(store, each);

        for (const { type, held } of store.eventsSince('things', version)) {
          const key = `${held.namespace}/${held.name}`;
          expect(known.has(key)).toBe(type !== 'ADDED');
          if (type === 'DELETED') known.delete(key);
          else known.set(key, held.text);
        }

        expect([...known.values()].sort()).toEqual([...contents(store)].sort());
      }),
    );
  });

  it('is restored from its journal, complete or compacted', () => {
    fc.assert(
      fc.property(anyWrites, (writes) => {
        const lines: string[] = [];
        const store = newStore(lines);
        for (const each of writes) write(store, each);

        for (const journal of [lines, [...store.lines()]]) {
          const restored = newStore();
          for (const line of journal) restored.restore(JSON.parse(line) as StoreRecord);
          expect(restored.list('things')).toEqual(store.list('things'));
          if (restored.list('things').length > 0) expect(restored.version).toBe(store.version);
        }
      }),
    );
  });

  it('lists by namespace and name like etcd', () => {
    const store = newStore();
    for (const namespace of ['b', 'a-b', 'a']) {
      for (const name of ['z', 'x']) write(store, { key: [namespace, name], value: 1 });
    }

    expect(store.list('things').map((held) => `${held.namespace}/${held.name}`)).toEqual([
      'a-b/x',
      'a-b/z',
      'a/x',
      'a/z',
      'b/x',
      'b/z',
    ]);
  });
});
