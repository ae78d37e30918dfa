import { afterEach, describe, expect, it } from '@jest/globals';
import { runToEnd, type Service, startService } from './service-process.js';

let service: Service | undefined;
afterEach(async () => {
  await service?.stop({ timeoutMs: 0 });
  service = undefined;
});

describe('a failing start', () => {
  it('lists every invalid variable once, without a stack or a secret, and exits 78', async () => {
    const { code, output } = await runToEnd({ PORT: '', API_SECRET: 'hunter2', GRACE: 'soon' });

    expect(code).toBe(78);
    expect(output).toBe(
      [
        'fixture cannot start. The configuration has 3 error(s):',
        '  PORT is missing. Expected a port from 1 to 65535, or 0 for any free port (Where it listens).',
        '  API_SECRET is shorter than 16 characters. Expected a secret of at least 16 characters (Only here to be wrong).',
        '  GRACE is not a duration (it is "soon"). Expected a duration of at least 0 ms, such as 250ms, 10s, 5m, 12h or 7d (How long requests in flight may take).',
        '',
      ].join('\n'),
    );
  });

  it('names the unavailable port in one line, and exits 1', async () => {
    service = await startService();

    const { code, output } = await runToEnd({ PORT: String(service.port), API_SECRET: 'long enough to be one' });

    expect(code).toBe(1);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(output).toContain(`Cannot listen on port ${service.port} of 127.0.0.1. Another process uses it`);
  });
});
