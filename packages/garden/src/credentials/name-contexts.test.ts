import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { nameContexts } from './name-contexts.js';

const certificate = 'LS0tLS1'.repeat(200);
const issued = `apiVersion: v1
kind: Config
current-context: garden-t1a2b3c4--c9f8e7d6-external
clusters:
  - name: garden-t1a2b3c4--c9f8e7d6-external
    cluster: { server: "https://api.example", certificate-authority-data: ${certificate} }
contexts:
  - name: garden-t1a2b3c4--c9f8e7d6-internal
    context: { cluster: garden-t1a2b3c4--c9f8e7d6-internal, user: admin }
  - name: garden-t1a2b3c4--c9f8e7d6-external
    context: { cluster: garden-t1a2b3c4--c9f8e7d6-external, user: admin }
users: []
`;

describe('renaming the contexts of a kubeconfig', () => {
  it('gives the requested names, the current context first, and changes nothing else', () => {
    const before = parse(issued);

    const named = parse(nameContexts(issued, 'acme/web'));

    expect(named).toEqual({
      ...before,
      'current-context': 'acme/web',
      contexts: [
        { ...before.contexts[0], name: 'acme/web:2' },
        { ...before.contexts[1], name: 'acme/web' },
      ],
    });
  });

  it('keeps every certificate on one line', () => {
    expect(nameContexts(issued, 'acme/web')).toContain(`certificate-authority-data: ${certificate}\n`);
  });

  it.each(['just words', 'a: [', '', 'contexts: none'])('leaves %j unchanged, which has no contexts', (text) => {
    expect(nameContexts(text, 'acme/web')).toBe(text);
  });
});
