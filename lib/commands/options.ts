import { Option } from 'clipanion';

/** The global flag for saved credentials. */
export function profileOption(): string | undefined {
  return Option.String('--profile', { description: 'Which saved credentials to use' });
}
