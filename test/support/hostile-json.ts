/** Texts that look like JSON and are made to break what parses them. The same ones in every run. */
import { array, constantFrom, sample } from 'fast-check'

export interface HostileText {
  readonly name: string
  readonly text: string
  /** Nested so deeply that no parser may receive it. */
  readonly isDeep: boolean
}

/** An object of which `String` makes no text. */
const textless = '{"toString":1,"valueOf":1}'

/** Nesting at which V8 14.6 corrupts its heap. */
const deepLevels = 12_000

const tokens = [
  '[',
  '[',
  '{',
  '{"a":',
  '1,',
  '"',
  ']',
  '}',
  ',',
  ':',
  '\\',
  '\\u',
  '\\ud83d',
  'null',
  '-',
  '1e999',
  '\u0000',
  '\uFEFF',
  ' ',
]

export function createHostileTexts(): readonly HostileText[] {
  const deep = [
    ['lists, wrong at the innermost place', `${'[1,'.repeat(deepLevels)}"`],
    ['lists, cut', '['.repeat(deepLevels)],
    ['lists that end', '['.repeat(deepLevels) + ']'.repeat(deepLevels)],
    ['objects, cut', '{"a":'.repeat(deepLevels)],
    ['objects that end', `${'{"a":'.repeat(deepLevels)}1${'}'.repeat(deepLevels)}`],
    ['both, wrong at the innermost place', `${'{"a":[1,'.repeat(deepLevels)}\\`],
    ['lists in a field', `{"a":1,"model":"svc","list":${'[1,'.repeat(deepLevels)}"`],
    ['lists that end beside an escape', `{"a":"\\ud83d\\ude00","b":${'['.repeat(deepLevels)}${']'.repeat(deepLevels)}}`],
    ['lists behind a string of brackets', `{"a":${JSON.stringify(']"}'.repeat(500))},"b":${'[{"c":'.repeat(deepLevels)}x`],
  ] as const
  const flat = [
    ['nothing', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['half an object', '{"a":'],
    ['just deep enough', `{"a":${'['.repeat(120)}${']'.repeat(120)}}`],
    [
      'names of every object',
      '{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}},"toString":1,"hasOwnProperty":1,"length":-1}',
    ],
    ['many fields', `{${Array.from({ length: 3_000 }, (_, i) => `"f${i}":${i}`).join(',')}}`],
    [
      'an error of which no text can be made',
      `{"error":{"message":${textless},"code":${textless},"type":${textless},"details":[{"violations":[{"quotaId":${textless}}],"metadata":{"quota_limit":${textless}}}]}}`,
    ],
    ['numbers beyond range', '{"a":1e999,"b":-1e999,"c":123456789012345678901234567890}'],
    ['half a character', '{"a":"\\ud83d","\\udc00":1}'],
    ...sample(array(constantFrom(...tokens), { minLength: 1, maxLength: 200 }), { seed: 36, numRuns: 12 }).map(
      (parts, i) => [`mixture ${i}`, parts.join('')] as const,
    ),
  ] as const
  return [
    ...deep.map(([name, text]) => ({ name, text, isDeep: true })),
    ...flat.map(([name, text]) => ({ name, text, isDeep: false })),
  ]
}
