import { checkDnsAnswer, type DnsAnswer } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { OWN_ACTION_ID_BASE } from '../actions/action-store.js';
import { settledAnswer } from './copies.js';
import type { RrsetWriteKind } from './rrset-write.js';

const key = { zoneId: 7001, name: 'api.acme', type: 'A' };
const found = `{"id":"api.acme/A","name":"api.acme","type":"A","ttl":null,"labels":{},"protection":{"change":false},"records":[{"value":"192.0.2.1","comment":""}],"zone":7001}`;
const at = new Date('2026-01-02T03:04:05.678Z');

const cases: [RrsetWriteKind, string | null, number, DnsAnswer, string | null][] = [
  ['create', found, 201, 'created', 'create_rrset'],
  ['set_records', found, 201, 'action', 'set_rrset_records'],
  ['add_records', found, 201, 'action', 'add_rrset_records'],
  ['remove_records', null, 201, 'action', 'remove_rrset_records'],
  ['change_ttl', found, 201, 'action', 'change_rrset_ttl'],
  ['delete', null, 201, 'action', 'delete_rrset'],
  ['update', found, 200, 'rrset', null],
];

describe('settledAnswer', () => {
  it.each(cases)("has the upstream's shape for %s", (operation, body, status, shape, command) => {
    const answer = settledAnswer({ entryId: 12, key, operation, found: body }, at);

    const parsed = JSON.parse(answer.body);
    checkDnsAnswer[shape](parsed);
    expect(answer.status).toBe(status);
    expect(parsed.rrset).toEqual(shape === 'action' ? undefined : JSON.parse(found));
    if (command === null) expect(parsed.action).toBeUndefined();
    else expect(parsed.action).toMatchObject({ command, status: 'success', progress: 100, error: null });
  });

  it("has an action id outside the upstream's range and safe in every client", () => {
    const { body } = settledAnswer({ entryId: 12, key, operation: 'delete', found: null }, at);

    const { id } = JSON.parse(body).action;
    expect(id).toBe(OWN_ACTION_ID_BASE + 12);
    expect(Number.isSafeInteger(id)).toBe(true);
  });

  it('is identical each time', () => {
    const write = { entryId: 12, key, operation: 'create' as const, found };

    expect(settledAnswer(write, at)).toEqual(settledAnswer(write, at));
  });
});
