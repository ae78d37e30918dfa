import { afterEach, describe, expect, it } from '@jest/globals';
import { runToEnd, type Service, startService } from './service-process.js';
import { makeTlsFolder } from './tls-files.js';

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

  it('reports in one line a key of another certificate, and exits 1', async () => {
    const files = await makeTlsFolder();
    await files.write({ key: (await files.issue()).key });

    const { code, output } = await runToEnd({
      PORT: '0',
      API_SECRET: 'long enough to be one',
      TLS_CERT_FILE: files.certFile,
      TLS_KEY_FILE: files.keyFile,
    });
    await files.remove();

    expect(code).toBe(1);
    expect(output).toBe(
      `fixture cannot start. The key in ${files.keyFile} does not belong to the certificate in ${files.certFile}\n`,
    );
  });
});
