import { isCorralError } from '@corral/client';
import { placeOf } from '@corral/contracts';

/** Whether a refusal is about fields alone, so that nothing needs to be said beside them. */
export interface FieldErrors {
  /** Sentences by field. */
  readonly byField: Readonly<Record<string, string | undefined>>;
  readonly isComplete: boolean;
}

/**
 * What the API says about the fields of a form. The field of a problem is the last part of its JSON pointer that is one:
 * `/spec/narrowing/clusters/0` is about `clusters`.
 *
 * @param aliases the fields of parts with other names
 */
export function fieldErrorsOf(
  error: unknown,
  fields: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): FieldErrors {
  const errors = isCorralError(error) ? error.errors : [];
  const found = errors.map(({ pointer, message, detail }) => {
    const parts = (pointer === '' ? [''] : pointer.slice(1).split('/')).map((part) =>
      Object.hasOwn(aliases, part) ? (aliases[part] as string) : part,
    );
    return {
      field: parts.findLast((part) => fields.includes(part)),
      text: textAt(pointer, detail) ?? `It ${message}.`,
    };
  });
  return {
    byField: Object.fromEntries(
      // The first problem of a field stays.
      found.toReversed().flatMap(({ field, text }) => (field === undefined ? [] : [[field, text]])),
    ),
    isComplete: found.length > 0 && found.every(({ field }) => field !== undefined),
  };
}

/** At its field, `spec.url is too long` is `It is too long`. */
function textAt(pointer: string, detail: string | undefined): string | undefined {
  const place = `${placeOf(pointer)} `;
  return detail?.startsWith(place) ? `It ${detail.slice(place.length)}` : detail;
}
