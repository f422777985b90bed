/** Returns arguments with the flags of every command behind the command's name, where clipanion takes them. */
export function globalFlagsLast(args: readonly string[]): readonly string[] {
  const [first = '', second, ...rest] = args;
  if (first.startsWith('--profile=')) return [...globalFlagsLast(args.slice(1)), first];
  return first === '--profile' && second !== undefined ? [...globalFlagsLast(rest), first, second] : args;
}
