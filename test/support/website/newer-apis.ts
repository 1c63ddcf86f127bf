/** APIs that browsers have had only since Safari 16.4, Firefox 128 or Chrome 111, as far as a page might use them. */

/** Functions and classes by the global object that has them; `null` for a global of its own. */
const newerFunctions: Readonly<Record<string, readonly string[]>> = {
  URL: ['canParse', 'parse'],
  Promise: ['withResolvers', 'try'],
  Object: ['groupBy'],
  Map: ['groupBy'],
  Array: ['fromAsync'],
  AbortSignal: ['any'],
  ReadableStream: ['from'],
  RegExp: ['escape'],
  Math: ['sumPrecise'],
  Error: ['isError'],
  Iterator: ['from', 'concat', 'zip'],
  Uint8Array: ['fromBase64', 'fromHex'],
  Intl: ['DurationFormat'],
  CSS: ['highlights'],
  Symbol: ['dispose', 'asyncDispose'],
  document: ['startViewTransition', 'parseHTMLUnsafe', 'caretPositionFromPoint'],
  navigator: ['userAgentData', 'share', 'setAppBadge'],
  globalThis: ['scheduler', 'navigation', 'cookieStore', 'requestIdleCallback', 'showOpenFilePicker', 'showSaveFilePicker'],
}

/** Methods of any object, which no library of ours has under the same name. */
const newerMethods = [
  'isSubsetOf',
  'isSupersetOf',
  'isDisjointFrom',
  'symmetricDifference',
  'showPopover',
  'hidePopover',
  'togglePopover',
  'requestClose',
  'setHTMLUnsafe',
  'moveBefore',
  'checkVisibility',
  'scrollIntoViewIfNeeded',
  'toBase64',
  'toHex',
]

/** Names of globals that only newer browsers have. */
const newerGlobals = ['URLPattern', 'requestIdleCallback', 'cookieStore', 'DisposableStack', 'Temporal', 'FinalizationGroup']

/** Those used in a minified script, each once. */
export function findNewerApis(script: string): string[] {
  const found = new Set<string>()
  for (const [owner, names] of Object.entries(newerFunctions))
    for (const name of names)
      if (new RegExp(`(?<![\\w$.])${owner}\\??\\.${name}(?![\\w$])`).test(script)) found.add(`${owner}.${name}`)
  for (const name of newerMethods) if (script.includes(`.${name}(`)) found.add(`.${name}(`)
  for (const name of newerGlobals) if (new RegExp(`(?<![\\w$."'-])${name}(?![\\w$"'-])`).test(script)) found.add(name)
  if (/URLSearchParams\([^()]*\)\.size\b/.test(script)) found.add('URLSearchParams.size')
  if (/new RegExp\((?:"[^"]*"|`[^`]*`|'[^']*'),["'`]\w*v\w*["'`]\)/.test(script)) found.add('RegExp flag v')
  if (/[=(,:;&|?!]\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[dgimsuy]*v[dgimsuy]*(?![\w$])/.test(script))
    found.add('RegExp flag v')
  if (/for await\((?:let|const|var) \w+ of [\w$.]*\.body\b/.test(script)) found.add('for await over a stream')
  return [...found]
}
