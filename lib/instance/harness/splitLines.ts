/** Takes a harness's output apart into lines. */
export interface LineSplitter {
  /** Takes the next bytes; every line that they complete is handed on, in order. Throws on a line above the limit. */
  push(chunk: Buffer): void;
  /** Hands on what is left: a last line without a line end. */
  end(): void;
}

/**
 * Returns a splitter of bytes into lines, in time linear in the bytes however long a line is.
 *
 * Lines end with LF or CRLF; bytes that are no UTF-8 become U+FFFD.
 *
 * @param onLine - Called once for each line, without its line end.
 * @param maxBytes - Longest line in bytes; a longer one is an error in words.
 */
export function splitLines(onLine: (line: string) => void, maxBytes: number): LineSplitter {
  let parts: Buffer[] = [];
  let length = 0;

  function keep(part: Buffer): void {
    length += part.length;
    if (length > maxBytes) throw new Error(`a line of its output is longer than ${maxBytes} bytes`);
    if (part.length > 0) parts.push(part);
  }

  function complete(): void {
    const line = (parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts, length)).toString('utf8');
    parts = [];
    length = 0;
    onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
  }

  return {
    push: (chunk) => {
      let from = 0;
      for (let to = chunk.indexOf(0x0a); to !== -1; to = chunk.indexOf(0x0a, from)) {
        keep(chunk.subarray(from, to));
        complete();
        from = to + 1;
      }
      keep(chunk.subarray(from));
    },
    end: () => {
      if (length > 0) complete();
    },
  };
}
