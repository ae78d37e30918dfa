import { describe, expect, it } from '@jest/globals';
import { type DigestItem, renderDigest } from './render-digest.js';

const item: DigestItem = {
  team: 'acme',
  kind: 'failed_operations',
  name: 'web',
  detail: 'No server left.',
  endsAt: null,
};
const foundAt = new Date('2026-11-21T12:00:00Z');
const rendered = (...items: readonly DigestItem[]) =>
  renderDigest(
    { email: 'ada@acme.test', userId: 'u1', foundAt, items },
    { kind: 'console', url: 'https://console.test' },
  );

describe('a mail about what needs attention', () => {
  it('has its one thing as its subject, and a number of several', () => {
    expect(rendered(item).subject).toBe('acme: An operation on web has failed: No server left.');
    expect(rendered(item, { ...item, team: 'globex' }).subject).toBe('2 things need attention in acme, globex');
  });

  it.each<[Partial<DigestItem>, string]>([
    [{ kind: 'rejected_connections' }, 'The provider rejects the token of the connection web. Enter a new one.'],
    [
      { kind: 'ending_tokens', detail: 'DNS token', endsAt: foundAt },
      'The DNS token web ends on 21 November 2026, 12:00 UTC.',
    ],
    [
      { kind: 'ending_record_sets', name: 'www.acme', detail: 'A' },
      'The record set www.acme A ends soon, because of its label corral/expires.',
    ],
    [
      { kind: 'ending_versions', detail: '1.31.4', endsAt: foundAt },
      'Kubernetes 1.31.4 of the cluster web is supported until 21 November 2026, 12:00 UTC.',
    ],
  ])('says of %j: %s', (part, sentence) => {
    expect(rendered({ ...item, ...part }).text).toContain(`- acme: ${sentence}\n`);
  });

  it('lets texts of others break neither lines nor HTML', () => {
    const { subject, text, html } = rendered({ ...item, detail: 'a\r\nBcc: all@acme.test\r\n<b>x</b>' });

    expect(subject).not.toMatch(/[\r\n]/);
    expect(text.split('\n')[0]).toContain('Bcc: all@acme.test <b>x</b>');
    expect(html).toContain('&lt;b&gt;x&lt;/b&gt;');
  });

  it('shows the first 50 things, and counts the rest', () => {
    const { text } = rendered(...Array.from({ length: 60 }, () => item));

    expect(text.match(/An operation/g)).toHaveLength(50);
    expect(text).toContain('- And 10 more.');
  });
});
