import { isClusterName, textRules } from '@corral/contracts';

/**
 * What is wrong with the name of a new thing: a declaration of an existing one would change it.
 *
 * @param remedy a sentence that says what to do about a name that is taken
 */
export function newNameProblem(
  name: string,
  existing: readonly { readonly metadata: { readonly name: string } }[],
  remedy: string,
): string | null {
  if (!isClusterName(name)) return `The name ${textRules.name.must}.`;
  return existing.some(({ metadata }) => metadata.name === name) ? `${name} exists. ${remedy}` : null;
}
