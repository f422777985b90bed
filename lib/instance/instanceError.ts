/** Why an instance does not start, with the exit code of the program. */
export const exitCodes = {
  /** The port is taken, or the address is not this machine's. */
  address: 3,
  /** The data folder cannot be written. */
  unwritable: 4,
  /** The data was written by a newer program. */
  newer: 5,
  /** The data is damaged. */
  damaged: 6,
  /** Another server has the data folder. */
  running: 7,
} as const;

/** An instance that cannot start; the message is one line for a person. */
export class InstanceError extends Error {
  override readonly name = 'InstanceError';
  readonly reason: keyof typeof exitCodes;

  constructor(reason: keyof typeof exitCodes, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}
