import { describe, expect, it } from '@jest/globals';
import { InvalidBody } from '../parser-for.js';
import { checkDnsAnswer } from './answers.js';

const pagination = { page: 1, per_page: 25, previous_page: null, next_page: null, last_page: 1, total_entries: 0 };
const rrset = {
  id: 'api.acme/A',
  name: 'api.acme',
  type: 'A',
  ttl: null,
  labels: {},
  protection: { change: false },
  records: [{ value: '192.0.2.1', comment: '' }],
  zone: 7001,
};
const action = {
  id: 1,
  command: 'create_rrset',
  status: 'running',
  progress: 0,
  started: '2026-01-02T03:04:05Z',
  finished: null,
  resources: [{ id: 7001, type: 'zone' }],
  error: null,
};
const time = '2026-01-02T03:04:05.000Z';
const demo = {
  label: 'shop',
  name: 'Shop',
  zone: 'demo.example.test',
  ttl: 14_400,
  records: 0,
  created_at: time,
  expires_at: time,
  max_expires_at: time,
};
const list = (change: object) => ({ rrsets: [], meta: { pagination: { ...pagination, ...change } } });

describe('checkDnsAnswer', () => {
  it('accepts the documented shapes, and new fields of the upstream in objects', () => {
    checkDnsAnswer.rrsetList(list({}));
    checkDnsAnswer.rrset({ rrset: { ...rrset, geo: 'eu' } });
    checkDnsAnswer.created({ rrset, action: { ...action, region: 'x' } });
    checkDnsAnswer.actionList({ actions: [] });
    checkDnsAnswer.createdDemo({ demo, token: 'a'.repeat(64) });
    checkDnsAnswer.demoList({ demos: [demo], meta: { pagination } });
    checkDnsAnswer.error({ error: { code: 'c', message: 'm', details: null } });
  });

  it.each([
    ['a seventh pagination key', 'rrsetList', list({ offset: 0 })],
    ['a null last_page', 'rrsetList', list({ last_page: null })],
    ['a last_page of 0', 'rrsetList', list({ last_page: 0 })],
    ['a list without meta', 'rrsetList', { rrsets: [] }],
    ['null labels', 'rrset', { rrset: { ...rrset, labels: null } }],
    ['a missing ttl', 'rrset', { rrset: { ...rrset, ttl: undefined } }],
    ['a zone by name', 'rrset', { rrset: { ...rrset, zone: 'example.test' } }],
    ['a zone of 0', 'rrset', { rrset: { ...rrset, zone: 0 } }],
    ['a record without comment', 'rrset', { rrset: { ...rrset, records: [{ value: 'x' }] } }],
    ['a set without records', 'rrset', { rrset: { ...rrset, records: [] } }],
    ['a creation without action', 'created', { rrset }],
    ['a creation without rrset', 'created', { action }],
    ['an action of id 0', 'action', { action: { ...action, id: 0 } }],
    ['an action beyond 2^53 - 1', 'action', { action: { ...action, id: 2 ** 53 } }],
    ['an action with a textual id', 'action', { action: { ...action, id: '1' } }],
    ['an empty finish time', 'action', { action: { ...action, finished: '' } }],
    ['meta beside actions', 'actionList', { actions: [], meta: { pagination } }],
    ['a token beside a demo that already existed', 'demo', { demo, token: 'a'.repeat(64) }],
    ['a demo whose records are listed', 'demo', { demo: { ...demo, records: [] } }],
    ['an error without details', 'error', { error: { code: 'c', message: 'm' } }],
    ['an error with an array for details', 'error', { error: { code: 'c', message: 'm', details: [] } }],
  ] as const)('rejects %s, which would break clients', (_what, shape, body) => {
    expect(() => checkDnsAnswer[shape](body)).toThrow(InvalidBody);
  });
});
