import { Writable } from 'node:stream';
import { createLog, type RootLog } from '@corral/service';
import { explainFailures } from '@corral/testing';

/** A log as in production whose lines the test can read. */
export function recordedLog(): { log: RootLog; lines(): Promise<Record<string, unknown>[]>; text(): Promise<string> } {
  let written = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      written += String(chunk);
      done();
    },
  });
  const log = createLog({ service: 'test', level: 'debug', destination });
  const text = async () => {
    await log.flush();
    return written;
  };
  explainFailures('last lines of the log', async () => (await text()).trimEnd().split('\n').slice(-15).join('\n'));
  return {
    log,
    text,
    lines: async () =>
      (await text())
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
  };
}
