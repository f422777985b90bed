import fc from 'fast-check';

/** A JSON value as somebody wrote it. */
export interface WrittenValue {
  readonly text: string;
}

/** An object as somebody wrote it: its members one by one, those that are repeated too. */
export interface WrittenObject extends WrittenValue {
  readonly members: readonly WrittenMember[];
}

/** One member of an object, with the white space around its parts. */
export interface WrittenMember {
  /** As a parser reads it. */
  readonly key: string;
  /** As it is written, quotes and escapes included. */
  readonly keyText: string;
  readonly value: WrittenValue | WrittenObject;
  readonly space: readonly [string, string, string, string];
}

const space = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
const pieces = ['a', 'b', 'é', '💡', '{', '}', '[', ']', ',', ':', ' ', "'", '\\"', '\\\\', '\\/', '\\n', '\\u0061', '\\u0022', '\\ud83d\\udca1', '\u2028'];
const string = fc.array(fc.constantFrom(...pieces), { maxLength: 6 }).map((parts) => `"${parts.join('')}"`);
const literals = fc.constantFrom('null', 'true', 'false', '0', '-0', '1.0', '-3.250', '1e5', '1E-7', '12345678901234567890', '9007199254740993');

/** Keys that repeat, look like indexes, are escaped, or mean something to JavaScript. */
const key = fc.oneof(fc.constantFrom('"a"', '"b"', '"1"', '"10"', '""', '"\\u0061"', '"_meta"', '"__proto__"', '"toString"'), string);

const { object } = fc.letrec<{ value: WrittenValue; array: WrittenValue; object: WrittenObject }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, literals.map((text) => ({ text })), string.map((text) => ({ text })), tie('array'), tie('object')),
  array: fc
    .tuple(space, fc.array(fc.tuple(space, tie('value'), space), { maxLength: 4 }))
    .map(([inner, items]) => ({ text: items.length === 0 ? `[${inner}]` : `[${items.map(([before, { text }, after]) => before + text + after).join(',')}]` })),
  object: fc
    .tuple(space, fc.array(fc.tuple(key, tie('value'), fc.tuple(space, space, space, space)), { maxLength: 5 }))
    .map(([inner, members]) => written(members.map(([keyText, value, around]) => ({ key: JSON.parse(keyText) as string, keyText, value, space: around })), inner)),
}));

/** Objects with all that JSON allows: white space, duplicates, escapes, numbers that JavaScript would change. */
export const writtenObjects: fc.Arbitrary<WrittenObject> = object;

/** Any JSON value, as somebody wrote it. */
export const writtenValues: fc.Arbitrary<string> = fc.oneof(literals, string, object.map(({ text }) => text));

/** Returns the object of these members. */
export function written(members: readonly WrittenMember[], inner = ''): WrittenObject {
  const texts = members.map(({ keyText, value: { text }, space: [a, b, c, d] }) => `${a}${keyText}${b}:${c}${text}${d}`);
  return { members, text: members.length === 0 ? `{${inner}}` : `{${texts.join(',')}}` };
}
