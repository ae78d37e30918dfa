import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { retryMs } from './deliver-due.js';
import { type InvitationMail, placeOf, renderInvitation } from './render-invitation.js';

const CONSOLE = 'https://console.example.org';
const API = 'https://clusters.example.org';
const invitation = (more: Partial<InvitationMail> = {}): InvitationMail => ({
  id: '0197b2f0-0000-7000-8000-000000000001',
  email: 'ada@acme.test',
  role: 'member',
  teamName: 'Rockets',
  inviterName: 'Bob',
  inviterEmail: 'bob@acme.test',
  expiresAt: new Date('2026-12-05T12:34:56Z'),
  ...more,
});
const render = (more: Partial<InvitationMail> = {}) =>
  renderInvitation(invitation(more), { kind: 'console', url: CONSOLE });
const renderForApi = (more: Partial<InvitationMail> = {}) =>
  renderInvitation(invitation(more), { kind: 'api', url: API });

const accept = 'invitations/0197b2f0-0000-7000-8000-000000000001';
const textWith = (...how: string[]) =>
  [
    'Bob (bob@acme.test) invites you to join as a member of the team “Rockets”.',
    ...how,
    'The invitation is valid until 5 December 2026, 12:34 UTC.',
    'You received this mail because someone entered the address ada@acme.test. If you did not expect it, ignore it.\n',
  ].join('\n\n');

describe('an invitation mail', () => {
  it('names the inviter, the team, the link and the expiry', () => {
    expect(render().text).toBe(
      textWith('To accept, sign in with the address ada@acme.test and open:', `${CONSOLE}/${accept}/`),
    );
    expect(render()).toMatchObject({ to: 'ada@acme.test', subject: 'Invitation to the team Rockets' });
  });

  it('explains how to accept over the API without a console', () => {
    const { text, html } = renderForApi();

    expect(text).toBe(
      textWith(
        'To accept, sign in to the API with the address ada@acme.test, then send this request with your session:',
        `POST ${API}/${accept}/accept/`,
        `How to sign in, and a page that sends requests: ${API}/docs/`,
      ),
    );
    expect(html).toContain(`<pre>POST ${API}/${accept}/accept/</pre>`);
  });

  it('links only to existing pages', () => {
    const linksIn = ({ html }: { html: string }) => [...html.matchAll(/href="([^"]*)"/g)].map(([, link]) => link);

    expect(linksIn(render())).toEqual([`${CONSOLE}/${accept}/`]);
    expect(linksIn(renderForApi())).toEqual([`${API}/docs/`]);
  });

  it('names the role, and an inviter without a name by the address only', () => {
    expect(render({ role: 'admin' }).text).toContain('to join as an administrator of the team');
    expect(render({ inviterName: 'bob@acme.test' }).text).toMatch(/^bob@acme\.test invites you/);
  });

  it('escapes names in HTML', () => {
    const { html } = render({ teamName: '<script>"&\'</script>', inviterName: '<b>Bob' });

    expect(html).toContain('&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;');
    expect(html).toContain('&lt;b&gt;Bob');
    expect(html).not.toMatch(/<script|<b>/);
    expect(renderForApi({ email: "<i>'@acme.test" }).html).not.toMatch(/<i>/);
  });

  it('has a one-line subject of bounded length for any team name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (teamName) => {
        const { subject } = render({ teamName });

        expect(subject).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u);
        expect([...subject].length).toBeLessThanOrEqual('Invitation to the team '.length + 60);
      }),
    );
    expect(render({ teamName: 'a\r\nBcc: all@acme.test' }).subject).toBe('Invitation to the team a Bcc: all@acme.test');
    expect(render({ teamName: '\u202exebolg' }).subject).toBe('Invitation to the team xebolg');
  });

  it('has the same Message-ID on each attempt, and another one for a renewal', () => {
    const keys = [render(), render(), render({ id: 'other' }), render({ expiresAt: new Date(0) })];

    expect(new Set(keys.map(({ messageKey }) => messageKey)).size).toBe(3);
  });
});

it.each([
  ['the console at its own URL', `${CONSOLE}//`, API, true, { kind: 'console', url: CONSOLE }],
  ['that console although the API serves none', `${CONSOLE}//`, API, false, { kind: 'console', url: CONSOLE }],
  ['the console that the API serves', undefined, `${API}/`, true, { kind: 'console', url: `${API}/console` }],
  ['the API when there is no console', undefined, `${API}/`, false, { kind: 'api', url: API }],
  ['unknown without either', undefined, undefined, true, null],
])('the place to accept an invitation is %s', (_where, consoleUrl, apiUrl, consoleEnabled, place) => {
  expect(placeOf({ consoleUrl, apiUrl, consoleEnabled })).toEqual(place);
});

describe('the delay after a failed delivery', () => {
  const failed = { kind: 'failed', code: 'ESOCKET', status: null } as const;

  it.each([
    [0, 10_000],
    [1, 20_000],
    [5, 320_000],
    [9, 3_600_000],
    [1_000, 3_600_000],
  ])('doubles up to an hour: %s failures, %s ms', (failures, ms) => {
    expect(retryMs(failed, failures, 0)).toBe(ms);
    expect(retryMs(failed, failures, 1)).toBe(ms * 1.2);
  });

  it('is six hours after a permanent rejection', () => {
    expect(retryMs({ kind: 'refused', code: 'EENVELOPE', status: 550 }, 0, 0)).toBe(21_600_000);
  });
});
