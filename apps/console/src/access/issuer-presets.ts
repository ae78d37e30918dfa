import type { TrustedIssuerSpec } from '@corral/contracts';

/** What the form begins with for a usual issuer. */
export interface IssuerPreset {
  readonly id: 'github' | 'gitlab' | 'kubernetes' | 'other';
  readonly label: string;
  readonly issuer: string;
  /** An example of the condition on `sub`. */
  readonly subject: string;
}

export const issuerPresets: readonly IssuerPreset[] = [
  {
    id: 'github',
    label: 'GitHub Actions',
    issuer: 'https://token.actions.githubusercontent.com',
    subject: 'repo:OWNER/REPOSITORY:ref:refs/heads/main',
  },
  {
    id: 'gitlab',
    label: 'GitLab',
    issuer: 'https://gitlab.com',
    subject: 'project_path:GROUP/PROJECT:ref_type:branch:ref:main',
  },
  { id: 'kubernetes', label: 'Kubernetes', issuer: '', subject: 'system:serviceaccount:NAMESPACE:NAME' },
  { id: 'other', label: 'Another issuer', issuer: '', subject: '' },
];

/** What the form about an issuer holds. */
export interface IssuerDraft {
  readonly preset: IssuerPreset['id'];
  readonly name: string;
  readonly issuer: string;
  readonly audience: string;
  readonly subject: string;
  /** Further conditions, one `claim=value` a line. */
  readonly conditions: string;
  readonly serviceAccount: string;
}

type IssuerSpec = Omit<TrustedIssuerSpec, 'claims'> & { readonly claims: { [claim: string]: string; sub: string } };

/** @returns null if a line of the conditions has no `=` */
export function issuerSpecOf(draft: IssuerDraft): IssuerSpec | null {
  const { issuer, audience, subject, conditions, serviceAccount } = draft;
  const lines = conditions.split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line) => /^\s*([^=]+?)\s*=\s*(.*?)\s*$/.exec(line));
  if (pairs.includes(null)) return null;
  const more = Object.fromEntries(pairs.map((pair) => [pair?.[1], pair?.[2]]));
  return {
    issuer: issuer.trim(),
    audience: audience.trim(),
    claims: { ...more, sub: subject.trim() },
    serviceAccount,
  };
}

/** Finds which of the usual issuers it is. */
export function presetOf({ issuer, claims }: Pick<TrustedIssuerSpec, 'issuer' | 'claims'>): IssuerPreset['id'] {
  const known = issuerPresets.find((preset) => preset.issuer === issuer);
  if (known !== undefined) return known.id;
  if (claims.sub?.startsWith('project_path:')) return 'gitlab';
  return claims.sub?.startsWith('system:serviceaccount:') ? 'kubernetes' : 'other';
}

interface Place {
  readonly team: string;
  /** URL of the cluster API. */
  readonly url: string;
}

/** How a pipeline gets a token of Corral with one of its issuer. Contains no secret. */
export function snippetOf(spec: TrustedIssuerSpec, { team, url }: Place): string {
  const exchange = (subjectToken: string, indent: string) =>
    [
      `CORRAL_TOKEN=$(curl -sS --fail-with-body ${url}/auth/token/ \\`,
      '  -d grant_type=urn:ietf:params:oauth:grant-type:token-exchange \\',
      `  -d audience=${team}/${spec.serviceAccount} \\`,
      '  -d subject_token_type=urn:ietf:params:oauth:token-type:jwt \\',
      `  --data-urlencode subject_token="${subjectToken}" | jq -r .access_token)`,
    ].map((line) => indent + line);
  switch (presetOf(spec)) {
    case 'github':
      return [
        'permissions:',
        '  id-token: write',
        'steps:',
        '  - run: |',
        '      ID_TOKEN=$(curl -sS -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\',
        `        "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${encodeURIComponent(spec.audience)}" | jq -r .value)`,
        ...exchange('$ID_TOKEN', '      '),
        '      echo "::add-mask::$CORRAL_TOKEN"',
        '      echo "CORRAL_TOKEN=$CORRAL_TOKEN" >> "$GITHUB_ENV"',
      ].join('\n');
    case 'gitlab':
      return [
        'deploy:',
        '  id_tokens:',
        '    CORRAL_ID_TOKEN:',
        `      aud: ${JSON.stringify(spec.audience)}`,
        '  script:',
        '    - |',
        ...exchange('$CORRAL_ID_TOKEN', '      '),
      ].join('\n');
    case 'kubernetes':
      return [
        '# In the pod: a token for Corral at /var/run/corral/token',
        'volumes:',
        '  - name: corral',
        '    projected:',
        '      sources:',
        '        - serviceAccountToken:',
        '            path: token',
        `            audience: ${JSON.stringify(spec.audience)}`,
        '            expirationSeconds: 3600',
        '',
        '# In the container',
        ...exchange('$(cat /var/run/corral/token)', ''),
      ].join('\n');
    case 'other':
      return ['# ID_TOKEN is the token of the issuer', ...exchange('$ID_TOKEN', '')].join('\n');
  }
}
