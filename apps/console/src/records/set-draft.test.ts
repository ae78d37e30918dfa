import type { Rrset } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { type DraftProblem, draftOf, emptyDraft, readDraft, type SetDraft, targetOf, typedName } from './set-draft.js';

const context = { zoneName: 'example.test', ownerLabel: 'acme', records: { used: 1, reserved: 0, limit: 3 } };
const existing: Rrset = {
  id: 'www.acme/A',
  name: 'www.acme',
  type: 'A',
  ttl: 300,
  labels: { env: 'prod' },
  protection: { change: false },
  records: [{ value: '192.0.2.7', comment: 'web' }],
  zone: 1,
};
const read = (draft: Partial<SetDraft>) =>
  readDraft({ ...emptyDraft, records: [{ value: '192.0.2.1', comment: '' }], ...draft }, [existing], context, null);

describe('a record set that is edited', () => {
  it('becomes the set that is wanted, without what surrounds its values', () => {
    const { wanted, problems } = read({
      name: ' WWW2.acme ',
      ttl: '60',
      labels: 'env=prod, team=web',
      records: [
        { value: ' 192.0.2.1 ', comment: ' one ' },
        { value: '', comment: '' },
        { value: '192.0.2.2', comment: '' },
      ],
    });

    expect(problems).toEqual([]);
    expect(wanted).toEqual({
      name: 'www2.acme',
      type: 'A',
      content: {
        ttl: 60,
        labels: { env: 'prod', team: 'web' },
        records: [
          { value: '192.0.2.1', comment: 'one' },
          { value: '192.0.2.2', comment: null },
        ],
      },
      seen: null,
    });
  });

  it('quotes and splits text, and leaves what is quoted as it is', () => {
    const valuesOf = (value: string) =>
      read({ name: 'key.acme', type: 'TXT', records: [{ value, comment: '' }] }).wanted.content?.records[0]?.value;

    expect(valuesOf('x'.repeat(300))).toBe(`"${'x'.repeat(255)}" "${'x'.repeat(45)}"`);
    expect(valuesOf('"v=spf1" "-all"')).toBe('"v=spf1" "-all"');
  });

  it('shows a set as it is', () => {
    const content = { ttl: 300, labels: { env: 'prod' }, records: [{ value: '192.0.2.7', comment: 'web' }] };

    expect(readDraft(draftOf('www.acme', 'A', content), [existing], context, content)).toMatchObject({
      wanted: { content },
      problems: [],
      warnings: [],
    });
  });

  it('keeps what somebody else changed since it was opened, and says what it would replace', () => {
    const seen = { ttl: 60, labels: {}, records: [{ value: '192.0.2.6', comment: null }] };
    const [{ records, ttl, labels }, draft] = [existing, draftOf('www.acme', 'A', seen)];
    const of = (typed: Partial<SetDraft>) => readDraft({ ...draft, ...typed }, [existing], context, seen);

    expect(of({})).toMatchObject({ to: { records, ttl, labels }, warnings: [] });
    expect(of({ ttl: '60', labels: 'env=test' })).toMatchObject({
      to: { records, ttl, labels: { env: 'test' } },
      warnings: ['www.acme A was changed after you began, and this replaces that change.'],
    });
  });

  it.each<[what: string, at: DraftProblem['at'], draft: Partial<SetDraft>, problem: RegExp]>([
    ['the name of another team', 'name', { name: 'www.globex.example.test' }, /does not belong to you/],
    ['a set that exists', 'name', { name: 'www.acme' }, /exists already/],
    ['a TTL that is no number', 'ttl', { ttl: '1h' }, /number of seconds/],
    ['labels without a value', 'labels', { labels: 'env' }, /key=value/],
    ['a target that is no name', 0, { type: 'CNAME', records: [{ value: 'müll.org.', comment: '' }] }, /xn-- form/],
    ['no value', 0, { records: [{ value: '', comment: '' }] }, /A value is empty/],
    [
      'more records than the quota has',
      'plan',
      { records: ['1', '2', '3'].map((n) => ({ value: `192.0.2.${n}`, comment: '' })) },
      /1 of 3 records are used, and this needs 3 more/,
    ],
  ])('is refused with %s, at its field', (_what, at, draft, problem) => {
    expect(read(draft).problems).toEqual([{ at, text: expect.stringMatching(problem) }]);
  });

  it('says all problems at once, each at the field that was typed', () => {
    const values = ['192.0.2.1', '', '192.0.2', '192.0.2.1'].map((value) => ({ value, comment: '' }));

    expect(read({ name: 'a..b', ttl: '5', labels: 'x', records: values }).problems.map(({ at }) => at)).toEqual([
      'name',
      'ttl',
      2,
      3,
      'labels',
    ]);
  });

  it.each([
    ['', 'acme'],
    ['@', 'acme'],
    ['www', 'www.acme'],
    [' WWW ', 'www.acme'],
    ['www.acme', 'www.acme'],
    ['acme', 'acme'],
    ['www.acme.example.test', 'www.acme'],
    ['www.acme.example.test.', 'www.acme'],
    ['www.globex', 'www.globex.acme'],
    ['www.globex.example.test', 'www.globex'],
    ['example.test', '@'],
  ])('takes the name %p for %s', (typed, name) => {
    expect(typedName(typed, context)).toBe(name);
  });

  it.each([
    ['web.acme', 'web.acme.example.test'],
    ['example.org.', 'example.org'],
    ['@', 'example.test'],
  ])('says where the CNAME %s leads', (value, target) => {
    expect(targetOf(value, 'example.test')).toBe(target);
  });
});
