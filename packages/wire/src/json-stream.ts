const newline = 0x0a;

/** Cuts a stream of bytes into lines. */
export interface LineCutter {
  /**
   * @returns the lines that this chunk completed, without their ends and without empty ones
   * @throws RangeError when a line grows beyond the bound
   */
  cut(chunk: Buffer): Buffer[];
}

export function createLineCutter(lineBytesMax: number): LineCutter {
  let parts: Buffer[] = [];
  let bytes = 0;
  const keep = (part: Buffer) => {
    bytes += part.length;
    if (bytes > lineBytesMax) throw new RangeError(`A line has more than ${lineBytesMax} bytes.`);
    if (part.length > 0) parts.push(part);
  };
  return {
    cut(chunk) {
      const lines: Buffer[] = [];
      let start = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
        keep(chunk.subarray(start, end));
        if (bytes > 0) lines.push(Buffer.concat(parts));
        parts = [];
        bytes = 0;
        start = end + 1;
      }
      keep(chunk.subarray(start));
      return lines;
    },
  };
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** By byte: 1 for those that mean nothing outside of a string. */
const isPlain = new Uint8Array(256).fill(1);
for (const byte of [quote, comma, colon, openBrace, closeBrace, openBracket, closeBracket]) isPlain[byte] = 0;

/**
 * Takes the elements of one list out of a JSON object while the object arrives, so that neither its text nor its value
 * is ever there as a whole: a page of 500 Shoots as one would stop the process for half a second.
 *
 * It does not validate. Parse each result, which shows whether it is JSON.
 */
export interface ElementCutter {
  /** @returns the texts of the elements that this chunk completed */
  cut(chunk: Buffer): Buffer[];
  /** Gives the object as far as it came, with an empty list in place of the elements. */
  remainder(): Buffer;
}

/** @param listKey a member of the outermost object */
export function createElementCutter(listKey: string): ElementCutter {
  const remainder: Buffer[] = [];
  let element: Buffer[] = [];
  const reached = { depth: 0, inString: false, escaped: false };
  let inList = false;
  /** in the outermost object: the string that ended last, and the member that began last */
  let text = '';
  let key = '';

  return {
    cut(chunk) {
      const elements: Buffer[] = [];
      let from = 0;
      const take = (until: number) => {
        const part = chunk.subarray(from, until);
        if (part.length > 0) (inList ? element : remainder).push(part);
        from = until;
      };
      const finishElement = (at: number, isLast: boolean) => {
        take(at);
        const bytes = element.length === 1 ? (element[0] as Buffer) : Buffer.concat(element);
        element = [];
        if (!isLast || !isBlank(bytes)) elements.push(bytes);
      };

      // Variables of this function alone: V8 reads those of a closure from memory in each step.
      let { depth, inString, escaped } = reached;
      const { length } = chunk;
      for (let at = 0; at < length; at += 1) {
        const byte = chunk[at] as number;
        if (inString) {
          if (escaped) escaped = false;
          else if (byte === backslash) escaped = true;
          else if (byte === quote) inString = false;
          if (inString && depth === 1) text += String.fromCharCode(byte);
          continue;
        }
        if (isPlain[byte] === 1) continue;
        switch (byte) {
          case quote:
            inString = true;
            if (depth === 1) text = '';
            break;
          case colon:
            if (depth === 1) key = text;
            break;
          case openBrace:
          case openBracket:
            depth += 1;
            if (depth === 2 && byte === openBracket && key === listKey) {
              take(at + 1);
              inList = true;
            }
            break;
          case closeBrace:
          case closeBracket:
            depth -= 1;
            if (inList && depth === 1) {
              finishElement(at, true);
              inList = false;
            }
            break;
          case comma:
            if (inList && depth === 2) {
              finishElement(at, false);
              from = at + 1;
            }
            break;
        }
      }
      Object.assign(reached, { depth, inString, escaped });
      take(length);
      return elements;
    },
    remainder: () => Buffer.concat(remainder),
  };
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte <= 0x20);
}
