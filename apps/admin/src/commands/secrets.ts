import { secretKeys } from '@corral/secrets';
import { ConfigError, readConfig } from '@corral/service';
import { Command } from 'commander';
import { OperatorError } from '../operator-error.js';
import type { WithContext } from '../run-admin.js';
import { type Resealed, resealTokens } from '../secrets/reseal-tokens.js';

const variables = { SECRET_KEYS: secretKeys({ desc: 'Keys that seal the provider tokens of connections.' }) };

export function secretsCommand(withContext: WithContext): Command {
  const command = new Command('secrets').description('look after what is stored sealed');
  command
    .command('reseal')
    .description('seal provider tokens anew with the first of SECRET_KEYS, so that older keys can be dropped')
    .action(
      withContext(async ({ io, prisma, print }) => {
        const outcome = await resealTokens(prisma, ringOf(io.env));
        print(outcome, sentencesOf(outcome));
      }),
    );
  return command;
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

function sentencesOf({ resealed, unreadable, keysInUse }: Resealed): string {
  const lines = [`Sealed anew: ${resealed}. Keys in use: ${keysInUse.join(', ') || 'none'}.`];
  if (unreadable.length > 0) {
    lines.push(`These do not open, and need a new token or their old key: ${unreadable.join(', ')}.`);
  }
  return `${lines.join('\n')}\n`;
}
