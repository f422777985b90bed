/** What the command line of `fountain acp` says, unchecked. */
export interface AcpFlags {
  agent?: string | undefined;
  vault?: string | undefined;
  environment?: string | undefined;
  sandboxMode?: string | undefined;
  sandbox?: string | undefined;
  permission?: string | undefined;
  logLevel?: string | undefined;
  profile?: string | undefined;
  local?: boolean;
  drain?: boolean;
}

type Valued = { [K in keyof AcpFlags]-?: AcpFlags[K] extends string | undefined ? K : never }[keyof AcpFlags];

const valued: ReadonlyMap<string, Valued> = new Map([
  ['--agent', 'agent'],
  ['--vault', 'vault'],
  ['--environment', 'environment'],
  ['--sandbox-mode', 'sandboxMode'],
  ['--sandbox', 'sandbox'],
  ['--permission', 'permission'],
  ['--log-level', 'logLevel'],
  ['--profile', 'profile'],
]);

const switches: ReadonlyMap<string, Exclude<keyof AcpFlags, Valued>> = new Map([
  ['--local', 'local'],
  ['--drain', 'drain'],
]);

/**
 * Reads the flags of `fountain acp` where they are plain, as those of an editor's entry are: an editor waits, and the
 * command line's own library takes as long to start as all the rest.
 *
 * Equal to what clipanion reads, as a property test shows.
 *
 * @returns Undefined where anything is out of the ordinary, a mistake or a call for help among it: clipanion words it.
 */
export function readPlainFlags(args: readonly string[]): AcpFlags | undefined {
  const flags: AcpFlags = {};
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index] ?? '';
    const option = switches.get(argument);
    if (option !== undefined) {
      flags[option] = true;
      continue;
    }
    const equals = argument.indexOf('=');
    const name = valued.get(equals === -1 ? argument : argument.slice(0, equals));
    const value = equals === -1 ? args[(index += 1)] : argument.slice(equals + 1);
    if (name === undefined || !value || value.startsWith('-')) return undefined;
    flags[name] = value;
  }
  return flags;
}
