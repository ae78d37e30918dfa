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
