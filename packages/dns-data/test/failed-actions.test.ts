import type { WriteOutcome } from '@corral/hcloud';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { actionStore, effectOf, performWrite, type RrsetWrite, settlementStore, settleWrite } from '../src/index.js';
import { keyOf, mirrorFixture, neverDelivered, newWrite, observeLater, type TestTeam } from './mirror-database.js';

describe('failed actions', () => {
  const RECORDS_PER_TEAM = 4;
  const given = mirrorFixture({ quota: { recordsPerTeam: RECORDS_PER_TEAM, recordsPerDemo: 0, recordsPerRrset: 10 } });

  const oneIn = (times: number): fc.Arbitrary<boolean> =>
    fc.integer({ min: 1, max: times }).map((drawn) => drawn === 1);
  const host = fc.constantFrom('a', 'a', 'a', 'b');
  const recordsOf = (...values: number[]) => values.map((value) => ({ value: `192.0.2.${value}` }));
  /** Few values, so that many writes name those of earlier ones. */
  const records = fc
    .uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 2 })
    .map((values) => recordsOf(...values));
  const create = (of: ReturnType<typeof recordsOf>): RrsetWrite => {
    return { operation: 'create', ttl: null, labels: {}, records: of };
  };
  const write: fc.Arbitrary<RrsetWrite> = fc.oneof(
    records.map(create),
    { weight: 4, arbitrary: records.map((of): RrsetWrite => ({ operation: 'set_records', records: of })) },
    { weight: 4, arbitrary: records.map((of): RrsetWrite => ({ operation: 'add_records', ttl: null, records: of })) },
    records.map((of): RrsetWrite => ({ operation: 'remove_records', records: of })),
    fc.constant<RrsetWrite>({ operation: 'update', labels: { env: 'prod' } }),
    fc.constant<RrsetWrite>({ operation: 'delete' }),
  );

  interface Sent {
    readonly host: string;
    readonly write: RrsetWrite;
    /** If the upstream accepts it, its action fails and changes nothing. */
    readonly fails: boolean;
    /** The answer already tells how the action ended. */
    readonly endsAtOnce: boolean;
    readonly isAnswerLost: boolean;
  }
  type Step =
    | ({ readonly do: 'write' } & Sent)
    /** One of the running actions has ended, and this becomes known. */
    | { readonly do: 'report'; readonly pick: number }
    /** The set is read, as after a failed action. */
    | { readonly do: 'read'; readonly host: string };

  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('write' as const),
        host,
        write,
        fails: oneIn(2),
        endsAtOnce: oneIn(4),
        isAnswerLost: oneIn(6),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('report' as const), pick: fc.nat(7) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const), host }) },
  );

  it('a team never has more records upstream than its quota, whichever actions fail and whenever that becomes known', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
        const team = await given.database.createTeam();
        const upstream = anUpstream();
        const service = aService(team, upstream);
        const known = { fails: false, endsAtOnce: true, isAnswerLost: false };
        await service.send({ host: 'a', write: create(recordsOf(1, 2)), ...known });
        await service.send({ host: 'b', write: create(recordsOf(1, 2)), ...known });
        for (const each of steps) {
          if (each.do === 'write') await service.send(each);
          if (each.do === 'report') await service.report(each.pick);
          if (each.do === 'read') await service.read(each.host);
          expect(upstream.countRecords()).toBeLessThanOrEqual(RECORDS_PER_TEAM);
        }
      }),
      { numRuns: process.env.CORRAL_TEST_LONG === undefined ? 15 : 150, examples: [true, false].flatMap(rarelyDrawn) },
    );
  });

  /** A write whose action fails, and values that are added after it: the upstream has both, or what it should have lost. */
  function rarelyDrawn(isReported: boolean): [Step[]][] {
    const known = { do: 'write', host: 'a', endsAtOnce: false, isAnswerLost: false } as const;
    const add = (...values: number[]): RrsetWrite => ({
      operation: 'add_records',
      ttl: null,
      records: recordsOf(...values),
    });
    const cases: [RrsetWrite, RrsetWrite][] = [
      [{ operation: 'set_records', records: recordsOf(2, 3) }, add(3)],
      [{ operation: 'delete' }, add(3)],
      [{ operation: 'remove_records', records: recordsOf(1) }, add(3)],
    ];
    return cases.map(([failing, added]) => [
      [
        { ...known, write: failing, fails: true },
        ...(isReported ? [{ do: 'report' as const, pick: 0 }] : []),
        { ...known, write: added, fails: false },
      ],
    ]);
  }

  type Action = { readonly id: number; readonly status: 'success' | 'error' };
  let lastActionId = 0;

  /** The rules of the upstream about the number of records, and actions that fail. */
  function anUpstream() {
    const sets = new Map<string, string>();
    const running: Action[] = [];
    const valuesAt = (name: string): string[] => {
      const body = sets.get(name);
      return body === undefined ? [] : JSON.parse(body).records.map(({ value }: { value: string }) => value);
    };

    const refusalOf = (name: string, of: RrsetWrite): Extract<WriteOutcome, { kind: 'refused' }> | null => {
      const refused = (status: number, code: string, message = '') => {
        return { kind: 'refused', status, code, body: JSON.stringify({ error: { code, message } }) } as const;
      };
      if (of.operation === 'create') return sets.has(name) ? refused(409, 'uniqueness_error') : null;
      if (!sets.has(name)) return of.operation === 'add_records' ? null : refused(404, 'not_found');
      const isPresent = ({ value }: { value: string }): boolean => valuesAt(name).includes(value);
      if (of.operation === 'add_records' && of.records.some(isPresent)) {
        return refused(422, 'invalid_input', 'duplicate value');
      }
      return of.operation === 'remove_records' && !of.records.every(isPresent) ? refused(422, 'invalid_input') : null;
    };

    return {
      running,
      setAt: (name: string): string | null => sets.get(name) ?? null,
      countRecords: (): number => [...sets.keys()].reduce((sum, name) => sum + valuesAt(name).length, 0),
      write(name: string, { write: of, fails, endsAtOnce }: Sent): WriteOutcome {
        const refusal = refusalOf(name, of);
        if (refusal !== null) return refusal;
        const after = effectOf(keyOf(name), sets.get(name) ?? null, of, null);
        const hasAction = of.operation !== 'update';
        if (!hasAction || !fails) {
          if (after === null) sets.delete(name);
          else sets.set(name, after);
        }
        lastActionId += 1;
        const action: Action = { id: lastActionId, status: fails ? 'error' : 'success' };
        if (hasAction && !endsAtOnce) running.push(action);
        const stated =
          of.operation === 'create' || of.operation === 'update' ? { rrset: JSON.parse(after as string) } : {};
        const started = hasAction ? { action: endsAtOnce ? action : { ...action, status: 'running' } } : {};
        return { kind: 'accepted', status: 201, body: JSON.stringify({ ...stated, ...started }) };
      },
    };
  }

  /** The ledger and the mirror of a team, which learn of the upstream only what it answers. */
  function aService(team: TestTeam, upstream: ReturnType<typeof anUpstream>) {
    const { prisma } = given.database;
    const deps = { ledger: given.ledger, pause: async () => undefined, settleAfterMs: 0 };
    const nameOf = (of: string): string => `${of}.${team.slug}`;

    return {
      async send(sent: Sent): Promise<void> {
        const name = nameOf(sent.host);
        const key = keyOf(name);
        const request = newWrite(team, name, sent.write, `${lastActionId}`);
        const due = { key, operation: sent.write.operation, requestBody: request.requestBody };
        const settlement = {
          settlements: settlementStore(prisma),
          read: async () => upstream.setAt(name),
          graceMs: 1_000,
        };
        await performWrite(
          deps,
          { key, write: sent.write },
          {
            begin: () => given.ledger.begin(request, neverDelivered),
            send: async () => {
              const outcome = upstream.write(name, sent);
              return sent.isAnswerLost ? { kind: 'uncertain', reason: 'no answer' } : outcome;
            },
            settle: (lease) => settleWrite(settlement, { ...lease, ...due }),
          },
        );
      },

      async report(pick: number): Promise<void> {
        const [ended] = upstream.running.splice(pick % Math.max(1, upstream.running.length), 1);
        if (ended !== undefined) await actionStore(prisma).recordActions([{ ...ended, body: '{}' }]);
      },

      read: (of: string): Promise<void> => observeLater(given.database, nameOf(of), upstream.setAt(nameOf(of))),
    };
  }
});
