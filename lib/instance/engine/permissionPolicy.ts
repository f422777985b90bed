import type { PermissionPolicy, Verdict } from '../../protocol/fountain.ts';
import { isJsonObject } from '../../protocol/jsonrpc.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';

/** Verdicts from the loosest to the strictest. */
export const verdicts: readonly Verdict[] = ['auto_allow', 'ask', 'auto_deny'];

/** The part of a tool call that a policy looks at. */
export interface PolicySubject {
  readonly title?: unknown;
  readonly kind?: unknown;
}

/** Whether a value is a policy: an object of verdicts. */
export function isPolicy(value: unknown): value is PermissionPolicy {
  return isJsonObject(value) && Object.values(value).every((verdict) => (verdicts as readonly unknown[]).includes(verdict));
}

/**
 * Returns the verdict of the agent's and the launch's policy together: each is asked for itself, and the stricter answer holds.
 *
 * Merging the two key by key first could loosen: a title of the launch would beat a kind of the agent.
 *
 * @see Fountain HTTP and SSE contract, section 7.1
 */
export function verdictFor(agent: PermissionPolicy, launch: PermissionPolicy, call: PolicySubject): Verdict {
  return stricter(verdictOf(agent, call), verdictOf(launch, call));
}

/**
 * Returns the first key under which a launch would be looser than its agent; null where it only narrows.
 *
 * @see Fountain HTTP and SSE contract, section 7.1
 */
export function widenedKey(agent: PermissionPolicy, launch: PermissionPolicy): string | null {
  if (Object.keys(launch).length === 0) return null;
  const keys = new Set([...Object.keys(agent), ...Object.keys(launch), 'default']);
  for (const key of keys) {
    if (strictness(ownOrDefault(launch, key)) < strictness(ownOrDefault(agent, key))) return key;
  }
  return null;
}

/** Whether a policy refuses or asks about anything at all. */
export function isStrict(policy: PermissionPolicy): boolean {
  return Object.values(policy).some((verdict) => strictness(verdict) > 0);
}

/**
 * Returns the option that answers without asking: what allows for longest, or what denies for longest; null where none fits.
 *
 * @see Fountain HTTP and SSE contract, section 7.2
 */
export function automaticOption(options: readonly JsonObject[], verdict: 'auto_allow' | 'auto_deny'): string | null {
  const kinds = verdict === 'auto_allow' ? ['allow_always', 'allow_once'] : ['reject_always', 'reject_once'];
  const found = kinds.map((kind) => options.find((option) => option['kind'] === kind)).find((option) => option !== undefined);
  const chosen = found ?? (verdict === 'auto_allow' ? options[0] : undefined);
  return typeof chosen?.['optionId'] === 'string' ? chosen['optionId'] : null;
}

function verdictOf(policy: PermissionPolicy, { title, kind }: PolicySubject): Verdict {
  const key = [title, kind].find((name): name is string => typeof name === 'string' && Object.hasOwn(policy, name));
  return ownOrDefault(policy, key ?? 'default');
}

function ownOrDefault(policy: PermissionPolicy, key: string): Verdict {
  const name = [key, 'default'].find((candidate) => Object.hasOwn(policy, candidate));
  return (name === undefined ? undefined : policy[name]) ?? 'auto_allow';
}

function stricter(a: Verdict, b: Verdict): Verdict {
  return strictness(a) >= strictness(b) ? known(a) : known(b);
}

/** A stored value that is no verdict denies. */
function known(verdict: Verdict): Verdict {
  return verdicts.includes(verdict) ? verdict : 'auto_deny';
}

function strictness(verdict: Verdict): number {
  return verdicts.indexOf(known(verdict));
}
