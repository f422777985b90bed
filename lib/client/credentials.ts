import { readFileSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe } from '../protocol/errors.ts';

/** Where an instance is and how to be let in, with what a reader needs to tell one setting from another. */
export interface Credentials {
  readonly baseUrl: string;
  readonly profile: string;
  /** Undefined where none is configured. */
  readonly key: string | undefined;
  /** `<base url> (profile <name>)`. */
  readonly where: string;
  /** What each value comes from, in words. */
  readonly sources: { readonly baseUrl: string; readonly key: string | undefined };
  /** Words about the credentials file that its owner should read: it can't be read, or others can read it. */
  readonly warning: string | undefined;
}

/** Where the CLI goes when nothing else is said. */
const defaultBaseUrl = 'https://fountain.inevitable.fyi';

type Profiles = ReadonlyMap<string, ReadonlyMap<string, string>>;

const noFile = { profiles: new Map() as Profiles, warning: undefined };

/**
 * Resolves the CLI's credentials: key and base URL each from the environment, else from the profile that
 * `fountain auth login` saved. Makes no request.
 *
 * @param profileFlag - Value of `--profile`.
 * @see Specification, "Invocation"; Fountain HTTP and SSE contract, "Credential resolution"
 */
export function resolveCredentials(env: NodeJS.ProcessEnv, profileFlag: string | undefined): Credentials {
  const profile = first(profileFlag, env['FOUNTAIN_PROFILE']) ?? 'default';
  const named = (...names: readonly string[]): Setting[] => names.map((name) => ({ value: first(env[name]), source: name }));
  const environmentKey = firstSetting(named('FOUNTAIN_API_KEY', 'FOUNTAIN_TOKEN'));
  const environmentUrl = firstSetting(named('FOUNTAIN_BASE_URL'));
  const { profiles, warning } = environmentKey && environmentUrl ? noFile : readFile();
  const saved = (name: string): Setting => ({ value: first(profiles.get(profile)?.get(name)), source: `profile "${profile}" in ${credentialsFile()}` });
  const key = environmentKey ?? firstSetting([saved('api_key')]);
  const url = environmentUrl ?? firstSetting([saved('base_url')]) ?? { value: defaultBaseUrl, source: 'the default' };
  // Slashes behind a host or path only: those of a scheme alone are part of what is wrong with it.
  const baseUrl = url.value.replace(/(?<=[^:/])\/+$/, '');
  return {
    baseUrl,
    profile,
    key: key?.value,
    where: `${shown(baseUrl)} (profile ${profile})`,
    sources: { baseUrl: url.source, key: key?.source },
    warning,
  };
}

/** A setting and where it comes from. */
interface Setting {
  readonly value: string | undefined;
  readonly source: string;
}

function firstSetting(settings: readonly Setting[]): { value: string; source: string } | undefined {
  return settings.flatMap(({ value, source }) => (value === undefined ? [] : [{ value, source }]))[0];
}

/** Says in words why resolved credentials can't be used, and which setting to correct; undefined where they can. */
export function faultOf({ baseUrl, key, sources }: Credentials): string | undefined {
  if (!URL.canParse(baseUrl) || !/^https?:\/\//i.test(baseUrl)) return `"${shown(baseUrl)}" is no http or https URL; correct the base URL in ${sources.baseUrl}`;
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) return `the API key holds characters that no key has; correct it in ${sources.key ?? ''}`;
  return undefined;
}

/** A URL may carry a password, which is nobody's to read. */
function shown(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//***@');
}

/** Path of the credentials file. */
export function credentialsFile(): string {
  return path.join(homeDirectory(), '.fountain', 'credentials');
}

/** `HOME` may be unset, and the account unknown; the path is then relative. */
function homeDirectory(): string {
  try {
    return os.homedir();
  } catch {
    return '';
  }
}

function readFile(): { profiles: Profiles; warning: string | undefined } {
  const file = credentialsFile();
  try {
    const profiles = parseCredentials(readFileSync(file, 'utf8'));
    const open = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0;
    return { profiles, warning: open ? `${file} can be read by others; run "chmod 600 ${file}"` : undefined };
  } catch (error) {
    const missing = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    return { profiles: new Map(), warning: missing ? undefined : `could not read ${file}: ${describe(error)}` };
  }
}

/**
 * Reads a credentials file: `[profile]` sections with `key = value` lines. It is lenient: byte order mark, CR LF,
 * comments with `#` or `;`, values with or without quotes, and lines that are nothing.
 *
 * @see Fountain HTTP and SSE contract, "Credentials file"
 */
export function parseCredentials(text: string): Profiles {
  const profiles = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/).map((raw) => raw.trim())) {
    const name = /^\[([^\]]+)\]$/.exec(line)?.[1]?.trim();
    const equals = line.indexOf('=');
    if (/^[#;]/.test(line)) continue;
    if (name !== undefined) {
      section = profiles.get(name) ?? new Map<string, string>();
      profiles.set(name, section);
    } else if (equals !== -1) section?.set(line.slice(0, equals).trim(), unquoted(line.slice(equals + 1).trim()));
  }
  return profiles;
}

function unquoted(value: string): string {
  const single = /^'(.*)'$/.exec(value)?.[1];
  if (single !== undefined) return single;
  return value.startsWith('"') ? value.slice(1).replace(/"$/, '') : value;
}

/** Returns the first value that says something, trimmed. */
function first(...values: readonly (string | undefined)[]): string | undefined {
  return values.map((value) => value?.trim()).find(Boolean);
}
