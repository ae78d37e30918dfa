import { userInfo } from 'node:os';
import { OperatorError } from '../operator-error.js';

const CHARACTERS_MAX = 100;

/**
 * Who acts, for the audit log: `--as`, else `CORRAL_OPERATOR`, else the user of the operating system. An image has no user
 * names, so there it is the number of the user.
 *
 * @throws OperatorError when a given name is empty, longer than 100 characters, or has control characters
 */
export function operatorName(given: string | undefined, env: NodeJS.ProcessEnv): string {
  const name = (given ?? (env.CORRAL_OPERATOR?.trim() || userOfSystem())).trim();
  if (name === '' || name.length > CHARACTERS_MAX || /\p{Cc}/u.test(name)) {
    throw new OperatorError(
      `The name of the operator (--as, CORRAL_OPERATOR) must have 1 to ${CHARACTERS_MAX} characters and no control characters.`,
    );
  }
  return name;
}

function userOfSystem(): string {
  try {
    return (
      userInfo()
        .username.replace(/\p{Cc}/gu, '')
        .slice(0, CHARACTERS_MAX) || 'unknown'
    );
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
