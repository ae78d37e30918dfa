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

describe('the contexts of a kubeconfig', () => {
  it('get the requested names, the current one first, and nothing else changes', () => {
    const before = parse(issued);

    const named = parse(nameContexts(issued, 'acme/web'));

    expect(named).toEqual({
      ...before,
      'current-context': 'acme/web',
      contexts: [
        { ...before.contexts[0], name: 'acme/web-2' },
        { ...before.contexts[1], name: 'acme/web' },
      ],
    });
  });

  it('leave every certificate on one line', () => {
    expect(nameContexts(issued, 'acme/web')).toContain(`certificate-authority-data: ${certificate}\n`);
  });

  it.each(['just words', 'a: [', '', 'contexts: none'])('are none in %j, which stays as it is', (text) => {
    expect(nameContexts(text, 'acme/web')).toBe(text);
  });
});
