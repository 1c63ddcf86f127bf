/** Makes text from outside safe for a terminal. */
import * as fc from 'fast-check'
import t from 'tap'
import { sanitizeLine, sanitizeText, TerminalTextFilter } from '../../../../src/cli/terminal/sanitize-text.ts'

const escape = '\u001b'

t.test('removes terminal control sequences and keeps readable text', async (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['plain text', 'héllo 你好 👍🏽\n\tindented', 'héllo 你好 👍🏽\n\tindented'],
    ['colours', `${escape}[31mred${escape}[0m`, 'red'],
    ['a cleared screen', `a${escape}[2J${escape}[Hb`, 'ab'],
    ['a window title, ended by BEL', `a${escape}]0;title\u0007b`, 'ab'],
    ['the clipboard (OSC 52), ended by ST', `a${escape}]52;c;aGk=${escape}\\b`, 'ab'],
    ['a link (OSC 8)', `${escape}]8;;http://evil${escape}\\text${escape}]8;;${escape}\\`, 'text'],
    ['DCS', `a${escape}P1$r0m${escape}\\b`, 'ab'],
    ['APC', `a${escape}_Gf=100;xxxx${escape}\\b`, 'ab'],
    ['PM and SOS', `a${escape}^x${escape}\\b${escape}Xy${escape}\\c`, 'abc'],
    ['a charset', `a${escape}(0b`, 'ab'],
    ['a reset', `a${escape}cb`, 'ab'],
    ['C1 CSI', 'a\u009b31mb', 'ab'],
    ['C1 OSC with C1 ST', 'a\u009d0;t\u009cb', 'ab'],
    ['C1 DCS', 'a\u0090x\u009cb', 'ab'],
    ['BEL, BS, VT, FF, DEL, NUL', 'a\u0007\u0008\u000b\u000c\u007f\u0000b', 'ab'],
    ['a carriage return that would overwrite', 'safe\rEVIL', 'safeEVIL'],
    ['Windows line ends', 'a\r\nb', 'a\nb'],
    ['direction overrides', 'a\u202egpj.exe\u202c \u2066x\u2069', 'agpj.exe x'],
    ['line separators', 'a\u2028b\u2029c', 'a\nb\nc'],
    ['a sequence that never ends loses only its line', `a${escape}]0;never\nnext`, 'a\nnext'],
    ['a sequence cut by another', `a${escape}[3${escape}[1mb`, 'ab'],
    ['lonely surrogates', 'a\ud83d b\ude00', 'a\ufffd b\ufffd'],
  ]
  for (const [name, text, clean] of cases) t.equal(sanitizeText(text), clean, name)
  t.equal(sanitizeLine(' a\nb\tc '), 'a b c', 'a line has no line feeds')
})

t.test('gives the same result wherever the text is split', async (t) => {
  const piece = fc.oneof(
    fc.constantFrom(
      escape,
      `${escape}[`,
      `${escape}]0;`,
      `${escape}\\`,
      '\u009b',
      '\u009c',
      '31m',
      '\u0007',
      '\n',
      '\r',
      '😀',
      '\ud83d',
      '\ude00',
      'é',
    ),
    fc.string({ unit: 'binary', maxLength: 4 }),
  )
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(40), { maxLength: 8 }), (pieces, cuts) => {
        const text = pieces.join('')
        const places = [...new Set([0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length])].sort((a, b) => a - b)
        const filter = new TerminalTextFilter()
        const clean =
          places.map((start, index) => filter.push(text.slice(start, places[index + 1] ?? start))).join('') + filter.end()
        return clean === sanitizeText(text)
      }),
      { numRuns: 2000 },
    ),
  )
})

t.test('never outputs a control character that a terminal interprets', async (t) => {
  const actsOnTerminals = (code: number) =>
    (code < 0x20 && code !== 0x09 && code !== 0x0a) ||
    (code >= 0x7f && code <= 0x9f) ||
    code === 0x2028 ||
    code === 0x2029 ||
    (code >= 0x202a && code <= 0x202e) ||
    (code >= 0x2066 && code <= 0x2069)
  const harmless = (text: string) =>
    text.isWellFormed() && ![...text].some((character) => actsOnTerminals(character.codePointAt(0) ?? 0))
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => harmless(sanitizeText(text))),
      { numRuns: 2000 },
    ),
  )
})
