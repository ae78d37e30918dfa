import { userInfo } from 'node:os';
import { isShownName, shownNameOf, textRules } from '@corral/contracts';
import { OperatorError } from '../operator-error.js';

const CHARACTERS_MAX = 100;

/**
 * Names the person who acts, for the audit log: `--as`, else `CORRAL_OPERATOR`, else the user of the operating system. An
 * image has no user names, so there it is the number of the user.
 *
 * @throws OperatorError when a given name is empty, longer than 100 characters, or not one that people can read
 */
export function operatorName(given: string | undefined, env: NodeJS.ProcessEnv): string {
  const name = (given ?? (env.CORRAL_OPERATOR?.trim() || userOfSystem())).trim();
  if (name.length > CHARACTERS_MAX || !isShownName(name)) {
    throw new OperatorError(
      `The name of the operator (--as, CORRAL_OPERATOR) ${textRules.shownName.must}, and at most ${CHARACTERS_MAX} characters.`,
    );
  }
  return name;
}

function userOfSystem(): string {
  try {
    return shownNameOf(userInfo().username, CHARACTERS_MAX) || 'unknown';
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
