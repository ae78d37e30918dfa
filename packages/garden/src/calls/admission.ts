import { cutText } from '@corral/contracts';

/*
 * Operators of a garden install admission policies and webhooks that know nothing of Corral. Texts of kubernetes:
 * staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go, …/plugin/webhook/errors/statuserror.go and
 * staging/src/k8s.io/apiserver/pkg/util/webhook/error.go.
 */

/** A refusal by a policy or a webhook, in its own words for people. */
export interface Denial {
  /** its name */
  by: string;
  /** one line; empty when it does not explain itself */
  words: string;
}

const object = /^[\w.]+ (?:"[^"]*" )?is forbidden: /;
const byPolicy = /^ValidatingAdmissionPolicy '([^']*)'(?: with binding '[^']*')? denied request: (.*)$/s;
const byWebhook = /^admission webhook "([^"]*)" denied the request(?:: (.*)| without explanation)?$/s;
const unanswered = /^Internal error occurred: failed calling webhook "([^"]*)"/;

const wordsMax = 2_000;
const shownMax = 500;
const nameMax = 100;

/** Any status may come with it: a policy and a webhook choose it. */
export function denialOf(message: string): Denial | null {
  const said = message.replace(object, '');
  const [, by, words = ''] = byPolicy.exec(said) ?? byWebhook.exec(said) ?? [];
  return by === undefined ? null : { by: oneLine(by, nameMax), words: oneLine(words, wordsMax) };
}

/** The webhook that did not answer, or answered with nothing of use. Nothing was stored. */
export function unansweredWebhookOf(message: string): string | null {
  const [, name] = unanswered.exec(message) ?? [];
  return name === undefined ? null : oneLine(name, nameMax);
}

/** Gardener's own webhooks explain themselves in terms of Shoots, which teams do not know. */
export const isOfGardener = ({ by }: Denial): boolean => by.endsWith('.gardener.cloud');

/**
 * Tells people whose refusal it is, and its words.
 *
 * @param what is refused, e.g. `the kubeconfig`
 * @param place of the policy: a Shoot has its own
 */
export function denialSentence({ by, words }: Denial, what: string, place: 'garden' | 'cluster' = 'garden'): string {
  const shown = cutText(words, shownMax, '…');
  const end = /[.!?…]$/.test(shown) ? '' : '.';
  return `The policy ${by} of the ${place} refuses ${what}${shown === '' ? '' : `: ${shown}`}${end}`;
}

/** Bounded, without control characters. */
const oneLine = (text: string, max: number): string => cutText(text.replace(/[\s\p{C}]+/gu, ' ').trim(), max, '…');
