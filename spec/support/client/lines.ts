const lineFeed = 0x0a;

/** Cuts a byte stream into lines, each kept until it is whole. */
export class Lines {
  #parts: Buffer[] = [];

  /** Bytes after the last line end. */
  get rest(): string {
    return Buffer.concat(this.#parts).toString('utf8');
  }

  /** Returns the lines that this chunk completes. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      this.#parts.push(chunk.subarray(start, end));
      lines.push(this.rest);
      this.#parts = [];
      start = end + 1;
    }
    if (start < chunk.length) this.#parts.push(Buffer.from(chunk.subarray(start)));
    return lines;
  }
}
