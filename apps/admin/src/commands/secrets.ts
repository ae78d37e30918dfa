import { secretKeys } from '@corral/secrets';
import { ConfigError, readConfig } from '@corral/service';
import { Command } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';
import { OperatorError } from '../operator-error.js';
import { wholeNumber } from '../option-parsers.js';
import { type KeyUse, type Rotated, rotateSecrets, usesOf } from '../rotate-secrets.js';
import { renderTable } from '../table.js';

const variables = {
  SECRET_KEYS: secretKeys({
    desc: 'Keys that encrypt the provider tokens of connections and the secrets of webhooks.',
  }),
};

const BATCH_DEFAULT = 100;
const BATCH_MAX = 10_000;

export function secretsCommand(withContext: WithContext): Command {
  const command = new Command('secrets').description('manage the encryption of stored secrets');
  command
    .command('rotate')
    .description('re-encrypt stored secrets with the first of SECRET_KEYS, so that older keys can be removed')
    .option('--check', 'change nothing; fail if any secret is encrypted with another key')
    .option('--batch-size <number>', 'number of secrets per batch', wholeNumber(BATCH_MAX), BATCH_DEFAULT)
    .action(
      withContext(async (context, { check, batchSize }: { check?: boolean; batchSize: number }) => {
        if (check) await checkKeys(context);
        else await rotate(context, batchSize);
      }),
    );
  return command;
}

async function rotate({ io, perform, print, progress }: AdminContext, batchSize: number): Promise<void> {
  const onBatch = (rotated: number) => progress(`${rotated} re-encrypted …\n`);
  const ring = ringOf(io.env);
  const target = { kind: 'Keys', name: ring.keyIds[0] as string };
  const outcome = await perform({ team: null, action: 'secrets.rotate', target }, (prisma) =>
    rotateSecrets(prisma, ring, { batchSize, onBatch }),
  );
  print(outcome, `${tableOf(outcome.keys)}\n${sentencesOf(outcome).join('\n')}\n`);
}

async function checkKeys({ io, prisma, print }: AdminContext): Promise<void> {
  const keys = await usesOf(prisma, ringOf(io.env));
  print({ keys }, tableOf(keys));
  const secretsOf = (wanted: KeyUse['state']) =>
    keys.filter(({ state }) => state === wanted).reduce((sum, { secrets }) => sum + secrets, 0);
  const [old, lost] = [secretsOf('in use'), secretsOf('missing')];
  const sentences = [
    ...(old > 0 ? [`Not encrypted with the newest key: ${old}. Run \`secrets rotate\` to re-encrypt them.`] : []),
    ...(lost > 0
      ? [
          `Encrypted with a missing key: ${lost}. Add it to SECRET_KEYS, or ask the teams to enter these tokens again, and to replace these secrets of webhooks.`,
        ]
      : []),
  ];
  if (sentences.length > 0) throw new OperatorError(sentences.join(' '));
}

function ringOf(env: NodeJS.ProcessEnv) {
  try {
    return readConfig(variables, env).SECRET_KEYS;
  } catch (error) {
    const [wrong] = error instanceof ConfigError ? error.problems : [];
    if (wrong === undefined) throw error;
    throw new OperatorError(`${wrong.variable} ${wrong.problem}. Expected ${wrong.expected}.`);
  }
}

const tableOf = (keys: readonly KeyUse[]): string =>
  renderTable(keys, { KEY: ({ id }) => id, SECRETS: ({ secrets }) => secrets, STATE: ({ state }) => state });

function sentencesOf({ rotated, unreadable, keys }: Rotated): string[] {
  const named = (state: KeyUse['state']) => keys.filter((key) => key.state === state).map(({ id }) => id);
  const [newest, unused, inUse] = [named('newest')[0], named('unused'), named('in use')];
  const lines = [`Re-encrypted: ${rotated}.`];
  if (unused.length > 0) {
    lines.push(
      `No secret is encrypted with ${unused.join(', ')} any more. Remove it from SECRET_KEYS once every service has been`,
      `restarted with ${newest} as the first key, and \`secrets rotate --check\` has passed after that.`,
    );
  }
  if (unreadable.length > 0) {
    lines.push(`These cannot be decrypted and need a new token or their old key: ${unreadable.join(', ')}.`);
  } else if (inUse.length > 0) {
    lines.push(
      `A service still encrypts with ${inUse.join(', ')}. Restart it with the new SECRET_KEYS, then run this command again.`,
    );
  }
  return lines;
}
