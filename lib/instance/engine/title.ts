import { collapse, normalizeTitle, titleFits } from '../../protocol/titles.ts';
import type { Redactor } from '../log/redactor.ts';
import { invalid } from '../refusal.ts';
import type { ConversationRow } from '../store/rows.ts';

/** The channel whose conversations are teammates: their titles are names. */
const teamChannel = 'fountain:team';

/** A title and who gave it. */
export type Titled = Pick<ConversationRow, 'title' | 'title_source'>;

/**
 * Returns what a harness's title makes of a conversation's; null where nothing changes.
 *
 * Secrets go before anything is shortened, and again once NULs and white space that split them are gone.
 *
 * @param title - The `title` of a `session_info_update`; undefined where the member is absent.
 * @see Specification, "Conversation titles from the harness"
 */
export function harnessTitle(row: Titled & Pick<ConversationRow, 'channel_id'>, title: unknown, redactor: Redactor): Titled | null {
  if (title !== null && typeof title !== 'string') return null;
  if (row.channel_id === teamChannel) return null;
  if (row.title !== null && row.title_source !== 'harness') return null;
  const next = title === null ? null : normalizeTitle(redactor.text(collapse(redactor.text(title))));
  if (next === row.title) return null;
  return { title: next, title_source: next === null ? null : 'harness' };
}

/**
 * Returns the title that a person gave, with the claim on it; clearing it releases the claim.
 *
 * @throws Refusal 422 where it is no title or too long: an explicit title is not cut.
 * @see Fountain HTTP and SSE contract, sections 4.8 and 8.2
 */
export function explicitTitle(title: unknown, redactor: Redactor): Titled {
  if (title === null) return { title: null, title_source: null };
  if (typeof title !== 'string') throw invalid({ title: ['is invalid'] });
  const next = redactor.text(collapse(redactor.text(title)));
  if (!titleFits(next)) throw invalid({ title: ['should be at most 120 character(s)'] });
  return next === '' ? { title: null, title_source: null } : { title: next, title_source: 'explicit' };
}
