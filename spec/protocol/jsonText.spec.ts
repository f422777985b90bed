import { expect } from 'chai';
import fc from 'fast-check';
import { elements, member, memberAt, members, onOneLine, removeMember, replaceValue, setMember } from '../../lib/protocol/jsonText.ts';
import { written, writtenObjects, writtenValues, type WrittenObject } from '../support/jsonTexts.ts';
import { holds } from '../support/properties.ts';

/** An object and one of its keys, or one that it lacks. */
const objectAndKey = writtenObjects.chain((object) =>
  fc.tuple(fc.constant(object), fc.constantFrom('a', 'absent', ...object.members.map(({ key }) => key))),
);

type Parsed = Record<string, unknown>;

/** Returns a copy with a member set, `__proto__` as any other. */
function withOwn(object: Parsed, key: string, value: unknown): Parsed {
  const copy = { ...object };
  Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  return copy;
}

/** What a parser takes for the same value, keys sorted. */
function meaning(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown): unknown => {
    if (!isObject(inner)) return inner;
    return Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, item]) => [key, item]);
  });
}

function isObject(value: unknown): value is Parsed {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members as they are written, in order. */
function pairs(text: string, open: number): string[] {
  return members(text, open).map(({ keyStart, valueEnd }) => text.slice(keyStart, valueEnd));
}

/** Whether one text is the other with something put in at one place. */
function isInsertion(shorter: string, longer: string): boolean {
  let head = 0;
  while (head < shorter.length && shorter[head] === longer[head]) head += 1;
  return longer.endsWith(shorter.slice(head)) && longer.length >= shorter.length;
}

describe('members', () => {
  it('should return each member as it is written, duplicates included, when the object is any', () => {
    holds(
      fc.property(writtenObjects, ({ text, members: expected }) => {
        const found = members(text, 0);
        expect(found.map(({ key }) => key)).to.deep.equal(expected.map(({ key }) => key));
        expect(found.map(({ valueStart, valueEnd }) => text.slice(valueStart, valueEnd))).to.deep.equal(expected.map(({ value }) => value.text));
        expect(found.map(({ keyStart }, index) => text.slice(keyStart, keyStart + expected[index]!.keyText.length))).to.deep.equal(expected.map(({ keyText }) => keyText));
      }),
      500,
    );
  });
});

describe('member', () => {
  it('should return the one that a parser takes', () => {
    holds(
      fc.property(objectAndKey, ([{ text }, key]) => {
        const parsed = JSON.parse(text) as Parsed;
        const found = member(text, 0, key);
        expect(found !== undefined).to.equal(Object.hasOwn(parsed, key));
        if (found) expect(JSON.parse(text.slice(found.valueStart, found.valueEnd))).to.deep.equal(parsed[key]);
      }),
    );
  });
});

describe('memberAt', () => {
  it('should follow a path of keys', () => {
    const text = ' {"a":{"b":1,"c":{"d":[1, 2]}},"a":{"c":{"d" : [3]}}}';
    const { valueStart, valueEnd } = memberAt(text, ['a', 'c', 'd'])!;
    expect(text.slice(valueStart, valueEnd)).to.equal('[3]');
  });

  it('should return nothing when a key is absent, or names no object on the way', () => {
    const text = '{"a":[{"b":1}],"c":{"d":"{"}}';
    for (const path of [['x'], ['a', 'b'], ['c', 'd', 'e'], ['c', 'x']]) expect(memberAt(text, path)).to.equal(undefined);
  });
});

describe('replaceValue', () => {
  it('should put the value in wherever the key stands, and leave every other byte, when the object is any', () => {
    holds(
      fc.property(objectAndKey, writtenValues, ([object, key], value) => {
        const expected = written(object.members.map((one) => (one.key === key ? { ...one, value: { text: value } } : one)));
        const edited = replaceValue(object.text, [key], value);
        expect(edited).to.equal(object.members.length === 0 ? object.text : expected.text);
      }),
      500,
    );
  });

  it('should reach into an object', () => {
    expect(replaceValue('{"n":1.0,"p":{"s": "old" ,"s":"older"}}', ['p', 's'], '"new"')).to.equal('{"n":1.0,"p":{"s": "new" ,"s":"new"}}');
  });

  it('should change nothing when the path leads nowhere', () => {
    for (const path of [['x'], ['n', 's'], ['x', 'y']]) expect(replaceValue('{"n":1}', path, '2')).to.equal('{"n":1}');
  });
});

describe('removeMember', () => {
  it('should mean the object without the key, and leave the other members as they are written, when the object is any', () => {
    holds(
      fc.property(objectAndKey, ([{ text, members: before }, key]) => {
        const edited = removeMember(text, [key]);
        const rest = JSON.parse(text) as Parsed;
        Reflect.deleteProperty(rest, key);
        expect(meaning(JSON.parse(edited))).to.equal(meaning(rest));
        const kept = before.map((one, index) => ({ one, pair: pairs(text, 0)[index] })).filter(({ one }) => one.key !== key);
        expect(pairs(edited, 0)).to.deep.equal(kept.map(({ pair }) => pair));
      }),
      500,
    );
  });

  const cases: readonly [string, string][] = [
    ['{"a":1}', '{}'],
    ['{"a":1,"b":2}', '{"b":2}'],
    ['{"b":2,"a":1}', '{"b":2}'],
    ['{"b":2, "a":1, "c":3}', '{"b":2, "c":3}'],
    ['{"a":1,"a":2,"a":3}', '{}'],
  ];
  for (const [text, edited] of cases) it(`should make ${edited} of ${text}`, () => expect(removeMember(text, ['a'])).to.equal(edited));

  it('should change nothing when the path leads nowhere', () => {
    for (const path of [['x'], ['n', 's'], ['x', 'y']]) expect(removeMember('{"n":1}', path)).to.equal('{"n":1}');
  });
});

describe('setMember', () => {
  it('should mean the object with the member, and insert or replace only, when the object is any', () => {
    holds(
      fc.property(objectAndKey, writtenValues, ([{ text }, key], value) => {
        const edited = setMember(text, [], key, value);
        const before = JSON.parse(text) as Parsed;
        expect(meaning(JSON.parse(edited))).to.equal(meaning(withOwn(before, key, JSON.parse(value))));
        if (!Object.hasOwn(before, key)) expect(isInsertion(text, edited)).to.equal(true);
        else expect(edited).to.equal(replaceValue(text, [key], value));
      }),
      500,
    );
  });

  it('should make the object that the path wants, in place of whatever is no object there', () => {
    holds(
      fc.property(objectAndKey, writtenValues, ([{ text }, inner], value) => {
        const edited = setMember(text, [inner], 'key', value);
        const before = JSON.parse(text) as Parsed;
        const there = Object.hasOwn(before, inner) ? before[inner] : undefined;
        const expected = withOwn(before, inner, withOwn(isObject(there) ? there : {}, 'key', JSON.parse(value)));
        expect(meaning(JSON.parse(edited))).to.equal(meaning(expected));
      }),
      500,
    );
  });

  const cases: readonly [string, string][] = [
    ['{}', '{"_meta":{"k":1}}'],
    ['{ }', '{"_meta":{"k":1} }'],
    ['{"a": 1.0 }', '{"a": 1.0,"_meta":{"k":1} }'],
    ['{"_meta":null,"a":1}', '{"_meta":{"k":1},"a":1}'],
    ['{"_meta":{},"a":1}', '{"_meta":{"k":1},"a":1}'],
    ['{"_meta":{"x":1e2}}', '{"_meta":{"x":1e2,"k":1}}'],
    ['{"_meta":{"k":0,"x":1e2}}', '{"_meta":{"k":1,"x":1e2}}'],
  ];
  for (const [text, edited] of cases) it(`should make ${edited} of ${text}`, () => expect(setMember(text, ['_meta'], 'k', '1')).to.equal(edited));
});

describe('onOneLine', () => {
  it('should mean the same, hold no line end, and keep what has none as it is', () => {
    holds(
      fc.property(writtenObjects, ({ text }: WrittenObject) => {
        const line = onOneLine(`\r\n${text}\n`);
        expect(line).not.to.match(/[\r\n]/);
        expect(meaning(JSON.parse(line))).to.equal(meaning(JSON.parse(text)));
        if (!/[\r\n]/.test(text)) expect(line).to.equal(text);
      }),
    );
  });
});

describe('elements', () => {
  it('should return the elements as they are written, when the array is any', () => {
    holds(
      fc.property(fc.array(writtenValues), fc.stringMatching(/^[ \n]{0,2}$/), (texts, space) => {
        expect(elements(`[${texts.map((text) => space + text + space).join(',')}]`, 0)).to.deep.equal(texts);
      }),
    );
  });

  it('should return none when the array is empty', () => {
    expect(['[]', '[ \n]'].map((text) => elements(text, 0))).to.deep.equal([[], []]);
  });
});
