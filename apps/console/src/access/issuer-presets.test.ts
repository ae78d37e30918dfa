import { describe, expect, it } from '@jest/globals';
import { type IssuerDraft, issuerPresets, issuerSpecOf, presetOf, snippetOf } from './issuer-presets.js';

const draft: IssuerDraft = {
  preset: 'github',
  name: 'github',
  issuer: ' https://token.actions.githubusercontent.com ',
  audience: 'https://corral.example.org',
  subject: 'repo:acme/shop:ref:refs/heads/main',
  conditions: '',
  serviceAccount: 'ci',
};

describe('a trusted issuer', () => {
  it.each([
    ['', {}],
    ['ref = refs/heads/main\n\nrepository_owner_id=42', { ref: 'refs/heads/main', repository_owner_id: '42' }],
    ['query=a=b', { query: 'a=b' }],
  ])('has the conditions of the lines %j besides the one on its subject', (conditions, more) => {
    expect(issuerSpecOf({ ...draft, conditions })).toEqual({
      issuer: 'https://token.actions.githubusercontent.com',
      audience: draft.audience,
      claims: { sub: draft.subject, ...more },
      serviceAccount: 'ci',
    });
  });

  it('is not declared while a line of the conditions is no claim=value', () => {
    expect(issuerSpecOf({ ...draft, conditions: 'main' })).toBeNull();
  });

  it.each(issuerPresets.filter(({ id }) => id !== 'other'))('of the kind $label is recognised', (preset) => {
    const issuer = preset.issuer === '' ? 'https://k8s.example.org' : preset.issuer;
    expect(presetOf({ issuer, claims: { sub: preset.subject } })).toBe(preset.id);
  });

  it.each(issuerPresets)('of the kind $label has a snippet that names team, robot and audience', (preset) => {
    const issuer = preset.issuer === '' ? 'https://issuer.example.org' : preset.issuer;
    const spec = { issuer, audience: 'aud.example', claims: { sub: preset.subject || 'job:1' }, serviceAccount: 'ci' };
    const text = snippetOf(spec, { team: 'acme', url: 'https://corral.example.org' });

    expect(text).toContain('https://corral.example.org/auth/token/');
    expect(text).toContain('audience=acme/ci');
    expect(text.includes('aud.example')).toBe(preset.id !== 'other');
  });
});
